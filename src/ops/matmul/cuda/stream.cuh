// What the stream kernels share: loads, and sums across warps and the blocks of a cluster.
//
// Specialised by
//   W_TYPE, X_TYPE  element types (types.cuh)
//   VECTORS         vectors that a tile has room for
//   COLUMNS         0: w is contiguous along k; 1: along its rows
//   W_VECTOR        1: w may be loaded 16 bytes at a time
//   X_VECTOR        1: x is contiguous along k and may be loaded 16 bytes at a time
//   ROW_GROUPS      tiles of 16 rows that a warp has where COLUMNS is 0
//   UNROLL          chunks of k that a warp loads at once; it has twice as many under way
//   SPLIT           blocks of a cluster that divide k; 1: no cluster
//   THREADS, BLOCKS of a block at most, and blocks that a multiprocessor must have room for
#ifndef ROOFTUNE_STREAM_CUH_
#define ROOFTUNE_STREAM_CUH_

#include "device/cuda/types.cuh"
#include "ops/matmul/cuda/output.cuh"
#include "ops/matmul/cuda/stream_args.h"

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

// `kCount` elements, `step` apart, as words; from element `limit` on they are 0 and not read.
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
constexpr int kTileRows = COLUMNS ? 8 * kElements : 16 * ROW_GROUPS;

struct Place {
  int lane_r, lane_k;  // 0..7, 0..3
  int row_warp;        // which of the block's tiles of rows
  int turn, turns;     // of the warp among all that divide k
};

__device__ __forceinline__ uint32 cluster_rank() {
#if SPLIT > 1
  uint32 rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
#else
  return 0;
#endif
}

__device__ __forceinline__ int row_warps(const rooftune::StreamArgs& args) {
  return blockDim.x / 32 / args.k_warps;
}

__device__ __forceinline__ Place place_of_warp(const rooftune::StreamArgs& args) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  return {lane / 4, lane % 4, warp / args.k_warps,
          int(cluster_rank()) * args.k_warps + warp % args.k_warps, SPLIT * args.k_warps};
}

// Rows and vectors beyond the last are taken to be the last: loads need no guard, and nobody
// stores what comes of them.
__device__ __forceinline__ int64 at_most(int64 i, int64 last) { return i < last ? i : last; }

// What a lane reads of w in a unit: where its rows begin.
constexpr int kPointers = COLUMNS ? 1 : 2 * ROW_GROUPS;
struct Rows {
  const WElement* at[kPointers];
  int64 row;  // COLUMNS: the first of the lane
};

// The tiles of all batches are numbered through; a unit is one for each of the block's row warps.
// Those of the last unit that do not exist are taken to be the last that does.
__device__ __forceinline__ uint32 tile_of(const rooftune::StreamArgs& args, uint32 unit,
                                          int row_warp) {
  const uint32 tile = unit * row_warps(args) + row_warp;
  return tile < args.all_tiles ? tile : args.all_tiles - 1;
}

__device__ __forceinline__ Rows rows_of(const rooftune::StreamArgs& args, const Place& place,
                                        uint32 unit) {
  const uint32 all = tile_of(args, unit, place.row_warp);
  const uint32 batch = all / args.tiles, tile = all - batch * args.tiles;
  const WElement* w = static_cast<const WElement*>(args.w) + batch * args.w_batch;
  Rows rows;
  rows.row = int64(tile) * kTileRows;
#if COLUMNS
  rows.row += place.lane_r * kElements;
  if (W_VECTOR) rows.row = at_most(rows.row, args.rows - kElements);
  rows.at[0] = w;
#else
#pragma unroll
  for (int g = 0; g < kPointers; ++g)
    rows.at[g] = w + at_most(rows.row + g * 8 + place.lane_r, args.rows - 1) * args.w_pitch;
#endif
  return rows;
}

// A lane's loads of a chunk: its terms from k on, for each of its rows where COLUMNS is 0.
template <bool kGuard, int kTerms, int kLoads>
__device__ __forceinline__ void load_w(Words (&w)[kLoads], const rooftune::StreamArgs& args,
                                       const Rows& rows, int64 k) {
#pragma unroll
  for (int i = 0; i < kLoads; ++i) {
#if COLUMNS
    const WElement* from = rows.at[0] + (k + i) * args.w_pitch;
    if (kGuard && k + i >= args.k) {
      w[i] = Words{};
    } else if (W_VECTOR) {
      w[i] = load_once(from + rows.row);
    } else {
      gather_row(w[i].word, from, rows.row, args.rows - 1);
    }
#else
    const WElement* from = rows.at[i] + k;
    if (W_VECTOR && (!kGuard || k + kTerms <= args.k)) {
      w[i] = load_once(from);
    } else {
      gather<kGuard, kTerms>(w[i].word, from, 1, args.k - k);
    }
#endif
  }
}

// A lane's terms of one vector, from k on.
template <bool kGuard, int kTerms>
__device__ __forceinline__ void load_x(uint32* x, const rooftune::StreamArgs& args,
                                       const XElement* from, int64 k) {
  constexpr int kWords = kTerms * int(sizeof(XElement)) / 4;
  if (!X_VECTOR || (kGuard && k + kTerms > args.k)) {
    gather<kGuard, kTerms>(x, from + k * args.x_k, args.x_k, args.k - k);
  } else {
#pragma unroll
    for (int i = 0; i < kWords; i += 4)
      load_often < kWords<4 ? kWords : 4>(x + i, from + k + i * 4 / int(sizeof(XElement)));
  }
}

// --- Sums. A warp's are at sums(warp, v, r), twice: one round is written while the last is read.
extern __shared__ __align__(16) unsigned char shared_bytes[];

__device__ __forceinline__ Sum& sum_at(int round, int warp, int v, int r) {
  const int at = ((round & 1) * int(blockDim.x / 32) + warp) * VECTORS + v;
  return reinterpret_cast<Sum*>(shared_bytes)[at * kTileRows + r];
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

// Stores one of a tile's elements, unless it lies beyond the rows.
__device__ __forceinline__ void store_cell(const rooftune::StreamArgs& args, uint32 batch,
                                           uint32 tile, int v, int r, Sum sum) {
  const int64 row = int64(tile) * kTileRows + r;
  if (row < args.rows)
    store(args.out, args.c, batch * args.c_batch + v * args.c_v + row * args.c_r, sum);
}

// Every warp has written its sums. Always in the same order, so that results repeat.
__device__ __forceinline__ void finish(const rooftune::StreamArgs& args, const Place& place,
                                       uint32 unit, int round) {
  if (SPLIT == 1 && args.k_warps == 1) {  // warps with rows of their own wait for nobody
    const uint32 all = unit * row_warps(args) + place.row_warp;
    const uint32 batch = all / args.tiles, tile = all - batch * args.tiles;
    __syncwarp();
    if (all >= args.all_tiles) return;
    for (int cell = threadIdx.x % 32; cell < kTileRows * args.vectors; cell += 32) {
      const int r = cell % kTileRows, v = cell / kTileRows;
      store_cell(args, batch, tile, v, r, sum_at(round, place.row_warp, v, r));
    }
    return;
  }
  const int rows = row_warps(args) * kTileRows, cells = rows * args.vectors;
  __syncthreads();
  if (SPLIT > 1) {
    for (int cell = threadIdx.x; cell < cells; cell += blockDim.x) {
      const int r = cell % rows, v = cell / rows, warp = r / kTileRows * args.k_warps;
      Sum& sum = sum_at(round, warp, v, r % kTileRows);
      for (int i = 1; i < args.k_warps; ++i) sum += sum_at(round, warp + i, v, r % kTileRows);
    }
    cluster_sync();
  }
  for (int cell = threadIdx.x + cluster_rank() * blockDim.x; cell < cells;
       cell += SPLIT * blockDim.x) {
    const int r = cell % rows, v = cell / rows, row_warp = r / kTileRows;
    const int warp = row_warp * args.k_warps;
    Sum sum = 0;
    if (SPLIT > 1) {
      for (uint32 rank = 0; rank < SPLIT; ++rank)
        sum += sum_of_rank(sum_at(round, warp, v, r % kTileRows), rank);
    } else {
      for (int i = 0; i < args.k_warps; ++i) sum += sum_at(round, warp + i, v, r % kTileRows);
    }
    const uint32 all = unit * row_warps(args) + row_warp;
    const uint32 batch = all / args.tiles;
    if (all < args.all_tiles)
      store_cell(args, batch, all - batch * args.tiles, v, r % kTileRows, sum);
  }
}

// --- The kernel around the arithmetic. Product has
//   kTerms, kLoads                                 of a lane in a chunk
//   multiply<kGuard>(w, args, place, x, k)         adds a chunk
//   write(place, round)                            its sums to shared memory
// While a warp multiplies, its next loads are under way, also those of the next unit.
template <class Product>
__device__ __forceinline__ void stream(const rooftune::StreamArgs& args) {
  constexpr int kTerms = Product::kTerms, kLoads = Product::kLoads;
  constexpr int kChunk = 4 * kTerms, kStep = kChunk * UNROLL;
  const Place place = place_of_warp(args);
  const int steps = int(args.k / kStep);
  const int64 lane_k = place.lane_k * kTerms;
  uint32 unit_ahead = blockIdx.x;
  int ahead = place.turn;
  Rows rows = rows_of(args, place, unit_ahead);
  Words now[UNROLL][kLoads], next[UNROLL][kLoads];
  if (ahead < steps) {
#pragma unroll
    for (int u = 0; u < UNROLL; ++u)
      load_w<false, kTerms>(now[u], args, rows, int64(ahead) * kStep + u * kChunk + lane_k);
  }
  int round = 0;
  for (uint32 unit = blockIdx.x; unit < args.units; unit += gridDim.x, ++round) {
    const XElement* x = static_cast<const XElement*>(args.x) +
                        int64(tile_of(args, unit, place.row_warp) / args.tiles) * args.x_batch;
    Product product;
#pragma unroll 1
    for (int step = place.turn; step < steps; step += place.turns) {
      ahead += place.turns;
      if (ahead >= steps) {
        ahead = place.turn;
        unit_ahead += gridDim.x;
        if (unit_ahead < args.units) rows = rows_of(args, place, unit_ahead);
      }
      if (unit_ahead < args.units) {
#pragma unroll
        for (int u = 0; u < UNROLL; ++u)
          load_w<false, kTerms>(next[u], args, rows, int64(ahead) * kStep + u * kChunk + lane_k);
      }
#pragma unroll
      for (int u = 0; u < UNROLL; ++u)
        product.template multiply<false>(now[u], args, place, x,
                                         int64(step) * kStep + u * kChunk + lane_k);
#pragma unroll
      for (int u = 0; u < UNROLL; ++u) {
#pragma unroll
        for (int i = 0; i < kLoads; ++i) now[u][i] = next[u][i];
      }
    }
    // The rest of k, chunk by chunk, from the warp on that has had the fewest.
    const int first = (place.turn - steps % place.turns + place.turns) % place.turns;
    const int64 rest = int64(steps) * kStep + first * kChunk;
    if (rest < args.k) {
      const Rows here = rows_of(args, place, unit);
#pragma unroll 1
      for (int64 k = rest; k < args.k; k += place.turns * kChunk) {
        Words w[kLoads];
        load_w<true, kTerms>(w, args, here, k + lane_k);
        product.template multiply<true>(w, args, place, x, k + lane_k);
      }
    }
    product.write(place, round);
    finish(args, place, unit, round);
  }
  cluster_sync();  // nobody leaves while others read its memory
}

#if SPLIT > 1
#define ROOFTUNE_CLUSTER __cluster_dims__(1, SPLIT, 1)
#else
#define ROOFTUNE_CLUSTER
#endif

#endif  // ROOFTUNE_STREAM_CUH_
