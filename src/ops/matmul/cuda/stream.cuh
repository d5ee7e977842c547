// What the stream kernels share: loads, and sums across warps and the blocks of a cluster.
//
// Specialised by
//   W_TYPE, X_TYPE  element types (types.cuh)
//   VECTORS         vectors that a tile has room for
//   COLUMNS         0: w is contiguous along k; 1: along its rows
//   W_VECTOR        1: w may be loaded 16 bytes at a time
//   X_MODE          0: x by elements; 1: contiguous along k, 16-byte loads; 2: along the vectors
//   ROW_GROUPS      tiles of 16 rows that a warp has where COLUMNS is 0
//   SPLIT           blocks of a cluster that divide k; 1: no cluster
#ifndef ROOFTUNE_STREAM_CUH_
#define ROOFTUNE_STREAM_CUH_

#include "ops/matmul/cuda/stream_args.h"
#include "device/cuda/types.cuh"

using WElement = W_TYPE;
using XElement = X_TYPE;
using Sum = sum_of<WElement>::type;

constexpr int kElements = 16 / int(sizeof(WElement));  // of a load

struct alignas(16) Words {
  uint32 word[4];
};

// The matrix passes once: it takes no room in the first cache, where x stays.
__device__ __forceinline__ Words load_once(const void* from) {
  Words to;
  asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(to.word[0]), "=r"(to.word[1]), "=r"(to.word[2]), "=r"(to.word[3])
               : "l"(from));
  return to;
}
template <int kWords>
__device__ __forceinline__ void load_often(uint32* to, const void* from) {
  if (kWords == 4) {
    asm("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
        : "l"(from));
  } else if (kWords == 2) {
    asm("ld.global.nc.v2.u32 {%0, %1}, [%2];" : "=r"(to[0]), "=r"(to[1]) : "l"(from));
  } else {
    asm("ld.global.nc.u32 %0, [%1];" : "=r"(to[0]) : "l"(from));
  }
}

template <int kBytes>
struct bits_of;
template <>
struct bits_of<1> {
  using type = uint8;
};
template <>
struct bits_of<2> {
  using type = uint16;
};
template <>
struct bits_of<4> {
  using type = uint32;
};
template <>
struct bits_of<8> {
  using type = uint64;
};

// `kCount` elements, `step` apart, side by side in words; from element `limit` on they are 0 and
// not read.
template <bool kGuard, int kCount, class T>
__device__ __forceinline__ void gather(uint32* to, const T* from, int64 step, int64 limit) {
  using Bits = typename bits_of<int(sizeof(T))>::type;
  const Bits* bits = reinterpret_cast<const Bits*>(from);
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    const Bits one = !kGuard || i < limit ? bits[i * step] : Bits(0);
    if (sizeof(T) == 8) {
      to[2 * i] = uint32(one);
      to[2 * i + 1] = uint32(uint64(one) >> 32);
    } else {
      const int at = i * int(sizeof(T)) / 4, shift = 8 * (i * int(sizeof(T)) % 4);
      to[at] = shift == 0 ? uint32(one) : to[at] | uint32(one) << shift;
    }
  }
}
// As many as a load has, from element `first` on; beyond `last` it is `last` again.
template <class T>
__device__ __forceinline__ void gather_row(uint32* to, const T* from, int64 first, int64 last) {
#pragma unroll
  for (int i = 0; i < kElements; ++i) {
    uint32 one[2] = {0, 0};
    gather<false, 1>(one, from + (first + i < last ? first + i : last), 1, 1);
    if (sizeof(T) == 8) {
      to[2 * i % 4] = one[0];
      to[(2 * i + 1) % 4] = one[1];
    } else {
      const int at = i * int(sizeof(T)) / 4, shift = 8 * (i * int(sizeof(T)) % 4);
      to[at] = shift == 0 ? one[0] : to[at] | one[0] << shift;
    }
  }
}

// --- Where a warp works. Four lanes lie along k, eight along the rows.
struct Place {
  int lane_r, lane_k;  // 0..7, 0..3
  int64 row;           // first of the warp's tile
  int64 turn, turns;   // of the warp among all that divide k
  const WElement* w;   // of the batch
  const XElement* x;
};

constexpr int kTileRows = COLUMNS ? 8 * kElements : 16 * ROW_GROUPS;

__device__ __forceinline__ uint32 cluster_rank() {
#if SPLIT > 1
  uint32 rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
#else
  return 0;
#endif
}

__device__ __forceinline__ Place place_of_warp(const rooftune::StreamArgs& args) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const uint32 batch = blockIdx.x / args.tiles, tile = blockIdx.x % args.tiles;
  const int row_warps = blockDim.x / 32 / args.k_warps;
  Place at;
  at.lane_r = lane / 4;
  at.lane_k = lane % 4;
  at.row = (int64(tile) * row_warps + warp / args.k_warps) * kTileRows;
  at.turn = cluster_rank() * args.k_warps + warp % args.k_warps;
  at.turns = SPLIT * args.k_warps;
  at.w = static_cast<const WElement*>(args.w) + batch * args.w_batch;
  at.x = static_cast<const XElement*>(args.x) + batch * args.x_batch;
  return at;
}

// Rows and vectors beyond the last are taken to be the last: loads need no guard, and nobody
// stores what comes of them.
__device__ __forceinline__ int64 at_most(int64 i, int64 last) { return i < last ? i : last; }

// --- Sums. A warp's are at sums(warp, v, r).
extern __shared__ __align__(16) unsigned char shared_bytes[];

__device__ __forceinline__ Sum& sum_at(int warp, int v, int r) {
  return reinterpret_cast<Sum*>(shared_bytes)[(warp * VECTORS + v) * kTileRows + r];
}

__device__ __forceinline__ void cluster_sync() {
#if SPLIT > 1
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
#endif
}

__device__ __forceinline__ float from_bits(uint32 bits, float) { return __uint_as_float(bits); }
__device__ __forceinline__ int from_bits(uint32 bits, int) { return int(bits); }
__device__ __forceinline__ double from_bits(uint32, double) { return 0; }  // never asked

// What another block of the cluster has where this one has `mine`.
__device__ __forceinline__ Sum sum_of_rank(const Sum& mine, uint32 rank) {
#if SPLIT > 1
  uint32 address = uint32(__cvta_generic_to_shared(&mine)), there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
  if (sizeof(Sum) == 8) {
    uint64 bits;
    asm volatile("ld.shared::cluster.u64 %0, [%1];" : "=l"(bits) : "r"(there));
    return Sum(__longlong_as_double(int64(bits)));
  }
  uint32 bits;
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(bits) : "r"(there));
  return from_bits(bits, Sum());
#else
  return mine;
#endif
}

__device__ __forceinline__ void store(const rooftune::StreamArgs& args, void* to, double sum) {
  double* c = static_cast<double*>(to);
  *c = args.beta == 0 ? args.alpha * sum : args.alpha * sum + args.beta * *c;
}
__device__ __forceinline__ void store(const rooftune::StreamArgs& args, void* to, int sum) {
  int* c = static_cast<int*>(to);  // wraps around
  const uint32 scaled = uint32(int(args.alpha)) * uint32(sum);
  *c = int(args.beta == 0 ? scaled : scaled + uint32(int(args.beta)) * uint32(*c));
}
__device__ __forceinline__ void store(const rooftune::StreamArgs& args, void* to, float sum) {
  float value = float(args.alpha) * sum;
  if (args.c_bytes == 4) {
    float* c = static_cast<float*>(to);
    *c = args.beta == 0 ? value : value + float(args.beta) * *c;
  } else if (args.c_half) {
    f16* c = static_cast<f16*>(to);
    if (args.beta != 0) value += float(args.beta) * widen<float>(*c);
    *c = rounded<f16>::from(value);
  } else {
    bf16* c = static_cast<bf16*>(to);
    if (args.beta != 0) value += float(args.beta) * widen<float>(*c);
    *c = rounded<bf16>::from(value);
  }
}

// Every warp has written its sums. Always in the same order, so that results repeat.
__device__ __forceinline__ void finish(const rooftune::StreamArgs& args) {
  const uint32 batch = blockIdx.x / args.tiles, tile = blockIdx.x % args.tiles;
  const int row_warps = blockDim.x / 32 / args.k_warps;
  const int rows = row_warps * kTileRows, cells = rows * args.vectors;
  unsigned char* c = static_cast<unsigned char*>(args.c);
  __syncthreads();
  if (SPLIT > 1) {
    for (int cell = threadIdx.x; cell < cells; cell += blockDim.x) {
      const int r = cell % rows, v = cell / rows, warp = r / kTileRows * args.k_warps;
      Sum& sum = sum_at(warp, v, r % kTileRows);
      for (int i = 1; i < args.k_warps; ++i) sum += sum_at(warp + i, v, r % kTileRows);
    }
    cluster_sync();
  }
  for (int cell = threadIdx.x + cluster_rank() * blockDim.x; cell < cells;
       cell += SPLIT * blockDim.x) {
    const int r = cell % rows, v = cell / rows, warp = r / kTileRows * args.k_warps;
    Sum sum = 0;
    if (SPLIT > 1) {
      for (uint32 rank = 0; rank < SPLIT; ++rank)
        sum += sum_of_rank(sum_at(warp, v, r % kTileRows), rank);
    } else {
      for (int i = 0; i < args.k_warps; ++i) sum += sum_at(warp + i, v, r % kTileRows);
    }
    const int64 row = int64(tile) * rows + r;
    if (row < args.rows) {
      const int64 at = batch * args.c_batch + v * args.c_v + row * args.c_r;
      store(args, c + at * args.c_bytes, sum);
    }
  }
  cluster_sync();  // nobody leaves while others read its memory
}

#if SPLIT > 1
#define ROOFTUNE_CLUSTER __cluster_dims__(1, SPLIT, 1)
#else
#define ROOFTUNE_CLUSTER
#endif

#endif  // ROOFTUNE_STREAM_CUH_
