// The reference system's kernels for a vector times a matrix, without its limits on sizes.
// Specialised by
//   A_TYPE, B_TYPE
//   FORM   0 gemm: a warp makes an element of C, its lanes divide k
//          1 perpendicular: a thread owns neighbouring columns over all of k
//          2 simple_vecmat, 3 double_vecmat: a warp makes some columns from shared memory, which it
//            fills a step of k at a time, in one buffer or in two
//   LOAD   elements that a lane loads at once
//   B_K    FORM 2 and 3: 1: b is contiguous along k
#include "device/cuda/types.cuh"
#include "ops/matmul/cuda/gemv_args.h"
#include "ops/matmul/cuda/output.cuh"

using Sum = sum_of<A_TYPE>::type;

template <class T>
struct alignas(sizeof(T) * LOAD) Vector {
  T of[LOAD];
};
template <class T>
__device__ __forceinline__ Vector<T> load(const T* from) {
  return *reinterpret_cast<const Vector<T>*>(from);
}

__device__ __forceinline__ Sum sum_of_warp(Sum sum) {
#pragma unroll
  for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(0xffffffff, sum, lanes);
  return sum;
}

struct Task {
  const A_TYPE* a;
  const B_TYPE* b;
  int64 c;  // offset of the batch
};
__device__ __forceinline__ Task task_of(const rooftune::GemvArgs& args, int64 batch) {
  return {static_cast<const A_TYPE*>(args.a) + batch * args.a_batch,
          static_cast<const B_TYPE*>(args.b) + batch * args.b_batch, batch * args.c_batch};
}

#if FORM == 0
__device__ __forceinline__ void run(const rooftune::GemvArgs& args) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int64 cell = int64(blockIdx.x) * (blockDim.x / 32) + warp, cells = args.m * args.n;
  if (cell >= cells * args.batch) return;
  const int64 batch = cell / cells, i = (cell - batch * cells) / args.n;
  const int64 j = cell - batch * cells - i * args.n;
  const Task task = task_of(args, batch);
  const A_TYPE* a = task.a + i * args.a_row;
  const B_TYPE* b = task.b + j * args.b_col;
  const int64 steps = (args.k + 32 * LOAD - 1) / (32 * LOAD);
  // Each warp starts elsewhere, so that not all want the same part of memory at once.
  int64 step = cell % steps;
  Sum sum = 0;
#pragma unroll 4
  for (int64 s = 0; s < steps; ++s) {
    const int64 k = step * (32 * LOAD) + lane * LOAD;
    if (k < args.k) {
      const Vector<A_TYPE> x = load(a + k);
      const Vector<B_TYPE> w = load(b + k);
#pragma unroll
      for (int p = 0; p < LOAD; ++p) sum += widen<Sum>(x.of[p]) * widen<Sum>(w.of[p]);
    }
    step = step + 1 == steps ? 0 : step + 1;
  }
  sum = sum_of_warp(sum);
  if (lane == 0) store(args.out, args.c, task.c + i * args.c_row + j * args.c_col, sum);
}
#elif FORM == 1
__device__ __forceinline__ void run(const rooftune::GemvArgs& args) {
  const int lane = threadIdx.x % 32;
  const int64 blocks = (args.n + blockDim.x * LOAD - 1) / (blockDim.x * LOAD);
  const int64 batch = blockIdx.x / blocks;
  const int64 owned = ((blockIdx.x - batch * blocks) * blockDim.x + threadIdx.x) * LOAD;
  // Threads without columns help with x, and load the last ones.
  const int64 column = owned < args.n ? owned : args.n - LOAD;
  const Task task = task_of(args, batch);
  Sum sums[LOAD] = {};
  const int64 steps = (args.k + 31) / 32;
  int64 step = (blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32) % steps;
  for (int64 s = 0; s < steps; ++s) {
    const int64 k0 = step * 32;
    const Sum mine = k0 + lane < args.k ? widen<Sum>(task.a[(k0 + lane) * args.a_col]) : Sum(0);
    const int terms = args.k - k0 < 32 ? int(args.k - k0) : 32;
#pragma unroll 4
    for (int p = 0; p < terms; ++p) {
      const Sum x = __shfl_sync(0xffffffff, mine, p);
      const Vector<B_TYPE> w = load(task.b + (k0 + p) * args.b_row + column);
#pragma unroll
      for (int j = 0; j < LOAD; ++j) sums[j] += x * widen<Sum>(w.of[j]);
    }
    step = step + 1 == steps ? 0 : step + 1;
  }
#pragma unroll
  for (int j = 0; j < LOAD; ++j) {
    if (owned + j < args.n) store(args.out, args.c, task.c + (owned + j) * args.c_col, sums[j]);
  }
}
#else
constexpr int kColumns = 4, kStep = 128, kBuffers = FORM - 1;

__device__ __forceinline__ void run(const rooftune::GemvArgs& args) {
  __shared__ A_TYPE x[kBuffers][kStep];
  __shared__ B_TYPE w[kBuffers][kColumns][kStep];
  const int lane = threadIdx.x;
  const int64 blocks = (args.n + kColumns - 1) / kColumns, batch = blockIdx.x / blocks;
  const int64 j0 = (blockIdx.x - batch * blocks) * kColumns;
  const Task task = task_of(args, batch);
  const auto fill = [&](int buffer, int64 k0) {
#pragma unroll
    for (int e = lane; e < kStep; e += 32)
      x[buffer][e] = k0 + e < args.k ? task.a[(k0 + e) * args.a_col] : A_TYPE{};
#pragma unroll
    for (int e = lane; e < kStep * kColumns; e += 32) {
      const int j = B_K ? e / kStep : e % kColumns, p = B_K ? e % kStep : e / kColumns;
      const int64 column = j0 + j < args.n ? j0 + j : args.n - 1;
      w[buffer][j][p] =
          k0 + p < args.k ? task.b[(k0 + p) * args.b_row + column * args.b_col] : B_TYPE{};
    }
  };
  Sum sums[kColumns] = {};
  const auto multiply = [&](int buffer) {
#pragma unroll
    for (int j = 0; j < kColumns; ++j) {
      Sum sum = 0;
#pragma unroll
      for (int p = lane; p < kStep; p += 32)
        sum += widen<Sum>(x[buffer][p]) * widen<Sum>(w[buffer][j][p]);
      sums[j] += sum_of_warp(sum);
    }
  };
  if (kBuffers == 2) fill(0, 0);
  int buffer = 0;
#pragma unroll 1
  for (int64 k0 = 0; k0 < args.k; k0 += kStep) {
    if (kBuffers == 2) {
      __syncwarp();
      if (k0 + kStep < args.k) fill((buffer + 1) % kBuffers, k0 + kStep);
      multiply(buffer);
      buffer = (buffer + 1) % kBuffers;
    } else {
      __syncwarp();
      fill(0, k0);
      __syncwarp();
      multiply(0);
    }
  }
#pragma unroll
  for (int j = 0; j < kColumns; ++j) {
    if (lane == j && j0 + j < args.n)
      store(args.out, args.c, task.c + (j0 + j) * args.c_col, sums[j]);
  }
}
#endif

extern "C" __global__ void __launch_bounds__(256)
    rooftune_kernel(const __grid_constant__ rooftune::GemvArgs args) {
  run(args);
}
