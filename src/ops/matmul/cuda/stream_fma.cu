// A few vectors of f32 or f64 against a matrix at the memory's rate. Four lanes of a warp lie along
// k and eight along the rows, so that all eight read the same 16 bytes of x at once.
#include "ops/matmul/cuda/stream.cuh"

__device__ __forceinline__ float value(const uint32* words, int i, float) {
  return __uint_as_float(words[i]);
}
__device__ __forceinline__ double value(const uint32* words, int i, double) {
  return __hiloint2double(int(words[2 * i + 1]), int(words[2 * i]));
}

#if COLUMNS
// A lane has kElements neighbouring rows and four neighbouring terms.
constexpr int kTerms = 4;
constexpr int kUnroll = UNROLL;
constexpr int kRows = kElements;
constexpr int kLoads = kTerms;
#else
// A lane has some rows, eight apart, and kElements neighbouring terms.
constexpr int kTerms = kElements;
constexpr int kUnroll = UNROLL;
constexpr int kRows = 2 * ROW_GROUPS;
constexpr int kLoads = kRows;
#endif
constexpr int kChunk = 4 * kTerms;  // terms of the four lanes along k

template <bool kGuard>
__device__ __forceinline__ void load_w(Words (&w)[kLoads], const Place& at,
                                       const rooftune::StreamArgs& args, int64 k) {
#pragma unroll
  for (int i = 0; i < kLoads; ++i) {
#if COLUMNS
    const int64 row = at.row + at.lane_r * kElements;
    const WElement* from = at.w + (k + i) * args.w_pitch;
    if (kGuard && k + i >= args.k) {
      w[i] = Words{};
    } else if (W_VECTOR) {
      w[i] = load_once(from + at_most(row, args.rows - kElements));
    } else {
      gather_row(w[i].word, from, row, args.rows - 1);
    }
#else
    const int64 row = at_most(at.row + i * 8 + at.lane_r, args.rows - 1);
    const WElement* from = at.w + row * args.w_pitch + k;
    if (W_VECTOR && (!kGuard || k + kTerms <= args.k)) {
      w[i] = load_once(from);
    } else {
      gather<kGuard, kTerms>(w[i].word, from, 1, args.k - k);
    }
#endif
  }
}

// Row r of the lane, term p.
__device__ __forceinline__ Sum element(const Words (&w)[kLoads], int r, int p) {
  return COLUMNS ? value(w[p % kLoads].word, r, Sum()) : value(w[r % kLoads].word, p, Sum());
}

template <bool kGuard>
__device__ __forceinline__ void multiply_chunk(Sum (&sums)[kRows][VECTORS],
                                               const Words (&w)[kLoads], const Place& at,
                                               const rooftune::StreamArgs& args, int64 k) {
  constexpr int kWords = kTerms * int(sizeof(XElement)) / 4;
  const XElement* from = at.x;  // of the vector; one after the other, to spare registers
  if (X_MODE == 2) {
#pragma unroll
    for (int p = 0; p < kTerms; ++p) {
      if (kGuard && k + p >= args.k) break;
#pragma unroll
      for (int v0 = 0; v0 < VECTORS; v0 += kElements) {
        uint32 x[4];
        load_often<4>(x, at.x + (k + p) * args.x_k + v0);
#pragma unroll
        for (int i = 0; i < kElements; ++i) {
#pragma unroll
          for (int r = 0; r < kRows; ++r)
            sums[r][(v0 + i) % VECTORS] += element(w, r, p) * value(x, i, Sum());
        }
      }
    }
    return;
  }
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    uint32 x[kWords];
    if (X_MODE == 1 && (!kGuard || k + kTerms <= args.k)) {
#pragma unroll
      for (int i = 0; i < kWords; i += 4) load_often<4>(x + i, from + k + i / 4 * kElements);
    } else {
      gather<kGuard, kTerms>(x, from + k * args.x_k, args.x_k, args.k - k);
    }
#pragma unroll
    for (int p = 0; p < kTerms; ++p) {
#pragma unroll
      for (int r = 0; r < kRows; ++r) sums[r][v] += element(w, r, p) * value(x, p, Sum());
    }
    if (v + 1 < args.vectors) from += args.x_v;
  }
}

extern "C" __global__ void __launch_bounds__(MAX_THREADS) ROOFTUNE_CLUSTER
    rooftune_kernel(const __grid_constant__ rooftune::StreamArgs args) {
  const Place at = place_of_warp(args);
  Sum sums[kRows][VECTORS] = {};
  const int64 steps = args.k / (kChunk * kUnroll);
  for (int64 step = at.turn; step < steps; step += at.turns) {
    const int64 k = step * (kChunk * kUnroll) + at.lane_k * kTerms;
    Words w[kUnroll][kLoads];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) load_w<false>(w[u], at, args, k + u * kChunk);
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) multiply_chunk<false>(sums, w[u], at, args, k + u * kChunk);
  }
  // The rest of k, chunk by chunk, from the warp on that has had the fewest.
  const int64 rest = steps * (kChunk * kUnroll);
  const int64 first = (at.turn - steps % at.turns + at.turns) % at.turns;
  for (int64 k = rest + first * kChunk; k < args.k; k += at.turns * kChunk) {
    Words w[kLoads];
    load_w<true>(w, at, args, k + at.lane_k * kTerms);
    multiply_chunk<true>(sums, w, at, args, k + at.lane_k * kTerms);
  }

  const int warp = threadIdx.x / 32;
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
      Sum sum = sums[r][v];
      sum += __shfl_xor_sync(0xffffffff, sum, 1);
      sum += __shfl_xor_sync(0xffffffff, sum, 2);
      // Each of the four lanes has it; they take turns to write.
      if (at.lane_k == (r * VECTORS + v) % 4)
        sum_at(warp, v, COLUMNS ? at.lane_r * kElements + r : r * 8 + at.lane_r) = sum;
    }
  }
  finish(args);
}
