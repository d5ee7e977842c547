// Small products, several in a block. A group of threads has a tile of C: it brings what the tile
// needs of A and B to shared memory, KC terms at a time, widened, and every thread multiplies a
// small tile from there. Specialised by
//   A_TYPE, B_TYPE
//   A_K, B_K      1: the operand is contiguous along k, and so it lies in shared memory
//   TM, TN        tile of a thread; TY, TX: threads of a tile; GROUPS: tiles of a block
//   KC            terms at a time
//   LOAD          elements that are loaded at once along the contiguous axis
#include "device/cuda/types.cuh"
#include "ops/matmul/cuda/output.cuh"
#include "ops/matmul/cuda/tiny_args.h"

using Sum = sum_of<A_TYPE>::type;
constexpr int kTileM = TM * TY, kTileN = TN * TX, kThreads = TY * TX;
constexpr int kLane = 16 / int(sizeof(Sum));  // sums that shared memory gives at once

// A panel of R rows (of A, or columns of B) and KC terms; 16 bytes of padding keep a step from
// row to row off the same banks.
template <bool kAlongK, int kRows>
struct Panel {
  static constexpr int kPitch = (kAlongK ? KC : kRows) + kLane;
  static constexpr int kSize = (kAlongK ? kRows : KC) * kPitch;
};
using PanelA = Panel<A_K, kTileM>;
using PanelB = Panel<B_K, kTileN>;

struct alignas(16) Lane {
  Sum of[kLane];
};

template <int kBytes>
struct words_of;
template <>
struct words_of<1> {
  using type = uint8;
};
template <>
struct words_of<2> {
  using type = uint16;
};
template <>
struct words_of<4> {
  using type = uint32;
};
template <>
struct words_of<8> {
  using type = uint64;
};
template <>
struct words_of<16> {
  struct alignas(16) type {
    uint32 word[4];
  };
};

// `fast` elements a line, `slow` lines, `pitch` apart in memory. Up to `to_fast` and `to_slow`
// there are zeros: sums run over terms that do not exist, and other rows go nowhere.
template <int kLoad, class T>
__device__ __forceinline__ void stage(Sum* to, int to_pitch, int to_fast, int to_slow,
                                      const T* from, int64 pitch, int fast, int slow, uint32 lanes,
                                      int thread) {
  using Words = typename words_of<int(sizeof(T)) * kLoad>::type;
  union Loaded {
    Words words;
    T element[kLoad];
    __device__ Loaded() {}
  };
  const int shift = 31 - __clz(int(lanes)), step = kThreads >> shift > 0 ? kThreads >> shift : 1;
  const int f0 = (thread & (lanes - 1)) * kLoad,
            wide = kThreads < int(lanes) ? kThreads : int(lanes);
  for (int f = f0; f < to_fast; f += wide * kLoad) {
#pragma unroll 4
    for (int s = thread >> shift; s < to_slow; s += step) {
      Loaded loaded;
      const bool there = f < fast && s < slow;
      if (there) loaded.words = *reinterpret_cast<const Words*>(from + s * pitch + f);
      Sum* place = to + s * to_pitch + f;
      if (kLoad % kLane == 0) {  // stores as wide as they can be keep off each other's banks
#pragma unroll
        for (int i = 0; i < kLoad; i += kLane) {
          Lane lane;
#pragma unroll
          for (int q = 0; q < kLane; ++q)
            lane.of[q] = there ? widen<Sum>(loaded.element[(i + q) % kLoad]) : Sum(0);
          *reinterpret_cast<Lane*>(place + i) = lane;
        }
      } else {
#pragma unroll
        for (int i = 0; i < kLoad; ++i) place[i] = there ? widen<Sum>(loaded.element[i]) : Sum(0);
      }
    }
  }
}

// kLane terms of the thread's rows of a panel.
template <bool kAlongK, int kCount, int kStride, int kPitch>
__device__ __forceinline__ void fetch(Sum (&to)[kLane][kCount], const Sum* panel, int at, int k) {
  if (kAlongK) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const Lane lane = *reinterpret_cast<const Lane*>(panel + (at + i * kStride) * kPitch + k);
#pragma unroll
      for (int p = 0; p < kLane; ++p) to[p][i] = lane.of[p];
    }
  } else {
#pragma unroll
    for (int p = 0; p < kLane; ++p) {
      if (kCount % kLane == 0) {
#pragma unroll
        for (int i = 0; i < kCount; i += kLane) {
          const Lane lane =
              *reinterpret_cast<const Lane*>(panel + (k + p) * kPitch + at * kCount + i);
#pragma unroll
          for (int q = 0; q < kLane; ++q) to[p][(i + q) % kCount] = lane.of[q];
        }
      } else {
#pragma unroll
        for (int i = 0; i < kCount; ++i) to[p][i] = panel[(k + p) * kPitch + at * kCount + i];
      }
    }
  }
}

extern __shared__ __align__(16) unsigned char shared_bytes[];

extern "C" __global__ void __launch_bounds__(TY* TX* GROUPS)
    rooftune_kernel(const __grid_constant__ rooftune::TinyArgs args) {
  const int group = threadIdx.x / kThreads, thread = threadIdx.x % kThreads;
  const int ty = thread / TX, tx = thread % TX;
  Sum* panel_a = reinterpret_cast<Sum*>(shared_bytes) + group * (PanelA::kSize + PanelB::kSize);
  Sum* panel_b = panel_a + PanelA::kSize;

  const int64 unit = int64(blockIdx.x) * GROUPS + group;
  const bool busy = unit < args.units;
  const uint32 tiles = args.tiles_m * args.tiles_n;
  const int64 batch = busy ? unit / tiles : 0;
  const uint32 tile = busy ? uint32(unit % tiles) : 0;
  const int i0 = int(tile / args.tiles_n) * kTileM, j0 = int(tile % args.tiles_n) * kTileN;
  const int rows = min(int(args.m) - i0, kTileM), columns = min(int(args.n) - j0, kTileN);
  const A_TYPE* a = static_cast<const A_TYPE*>(args.a) + batch * args.a_batch + i0 * args.a_row;
  const B_TYPE* b = static_cast<const B_TYPE*>(args.b) + batch * args.b_batch + j0 * args.b_col;

  Sum sums[TM][TN] = {};
  for (int k0 = 0; k0 < int(args.k); k0 += KC) {
    const int terms = min(int(args.k) - k0, KC);
    // Terms are multiplied kLane at a time.
    const int padded = (terms + kLane - 1) / kLane * kLane;
    if (k0 > 0) __syncthreads();
    if (busy) {
      if (A_K) {
        stage<LOAD>(panel_a, PanelA::kPitch, padded, rows, a + k0, args.a_row, terms, rows,
                    args.a_lanes, thread);
      } else {
        stage<LOAD>(panel_a, PanelA::kPitch, rows, padded, a + k0 * args.a_col, args.a_col, rows,
                    terms, args.a_lanes, thread);
      }
      if (B_K) {
        stage<LOAD>(panel_b, PanelB::kPitch, padded, columns, b + k0, args.b_col, terms, columns,
                    args.b_lanes, thread);
      } else {
        stage<LOAD>(panel_b, PanelB::kPitch, columns, padded, b + k0 * args.b_row, args.b_row,
                    columns, terms, args.b_lanes, thread);
      }
    }
    __syncthreads();
#pragma unroll 1
    for (int k = 0; k < padded; k += kLane) {
      Sum of_a[kLane][TM], of_b[kLane][TN];
      fetch<A_K, TM, TY, PanelA::kPitch>(of_a, panel_a, ty, k);
      fetch<B_K, TN, TX, PanelB::kPitch>(of_b, panel_b, tx, k);
#pragma unroll
      for (int p = 0; p < kLane; ++p) {
#pragma unroll
        for (int i = 0; i < TM; ++i) {
#pragma unroll
          for (int j = 0; j < TN; ++j) sums[i][j] += of_a[p][i] * of_b[p][j];
        }
      }
    }
  }

  // Through shared memory, so that neighbouring threads store neighbouring elements.
  constexpr int kPitch = kTileN + kLane;
  static_assert(kTileM * kPitch <= PanelA::kSize + PanelB::kSize);
  __syncthreads();
#pragma unroll
  for (int i = 0; i < TM; ++i) {
    const int row = A_K ? ty + i * TY : ty * TM + i;
#pragma unroll
    for (int j = 0; j < TN; ++j)
      panel_a[row * kPitch + (B_K ? tx + j * TX : tx * TN + j)] = sums[i][j];
  }
  __syncthreads();
  if (!busy) return;
  const int64 c = batch * args.c_batch + i0 * args.c_row + j0 * args.c_col;
#pragma unroll 4
  for (int cell = thread; cell < kTileM * kTileN; cell += kThreads) {
    const int row = cell / kTileN, column = cell % kTileN;
    if (row < rows && column < columns)
      store(args.out, args.c, c + row * args.c_row + column * args.c_col,
            panel_a[row * kPitch + column]);
  }
}
