// Products on matrix units by one block a tile of C: the kinds of tile product, of loading and of
// schedule that the reference system combines.
//
// Specialised by
//   MMA_KIND     1: mma.sync, 0: wmma
//   INPUT, A_TYPE, B_TYPE, C_TYPE, A_PTX, B_PTX   types, see tile_product.cuh
//   BLOCK_M, BLOCK_N, BLOCK_K_BYTES, WARPS_M, WARPS_N   the tile, and the grid of warps on it
//   A_K_MAJOR, B_K_MAJOR   1: lines of k in shared memory
//   A_LOAD, B_LOAD         LOAD_... of tile_loader.cuh, in numbers
//   SCHEDULE     below
//   LOAD_WARPS   warps that load and do nothing else
//   STAGES       buffers
//   MATH_REGISTERS, LOAD_REGISTERS   of a thread; 0: as many for all. Needs four loading warps
//   MIN_BLOCKS   blocks that should fit a multiprocessor
#include "device/cuda/types.cuh"
#include "ops/matmul/cuda/accelerated_args.h"

#define SCHEDULE_SIMPLE 0    // load, multiply, one buffer
#define SCHEDULE_DOUBLE 1    // the next tile is on its way while this one is multiplied
#define SCHEDULE_ORDERED 2   // likewise; a warp loads its own rows of A, into one buffer
#define SCHEDULE_LOADERS 3   // as double, loads by warps of their own
#define SCHEDULE_PIPELINE 5  // as double, by copies that need no registers; STAGES of them
#define SCHEDULE_RING 4      // producers and consumers, with barriers for each buffer

#define A_BULK (A_LOAD == 3)
// Asynchronous copies do not round; everyone else does on the way.
#define COPIES(load) \
  (SCHEDULE == SCHEDULE_PIPELINE || (SCHEDULE == SCHEDULE_RING && (load == 0 || load == 4)))
#define A_COPIED COPIES(A_LOAD)
#define B_COPIED COPIES(B_LOAD)
#define RAW (A_LOAD == 4)  // then B's too
#define ROUND_FRAGMENTS (INPUT == 2 && (A_COPIED || B_COPIED))

#include "ops/matmul/cuda/tile_loader.cuh"
#include "ops/matmul/cuda/tile_product.cuh"

using rooftune::AcceleratedArgs;
#if A_BULK
using Args = rooftune::AcceleratedTmaArgs;
#else
using Args = AcceleratedArgs;
#endif

constexpr int kMathWarps = WARPS_M * WARPS_N;
constexpr int kMathThreads = kMathWarps * 32;
constexpr int kThreads = kMathThreads + LOAD_WARPS * 32;
[[maybe_unused]] constexpr int kLoadThreads = LOAD_WARPS ? LOAD_WARPS * 32 : kThreads;
constexpr int kSize = sizeof(A_TYPE);
constexpr int kBlockK = BLOCK_K_BYTES / kSize;
constexpr int kSteps = BLOCK_K_BYTES / kStepBytes;
constexpr int kWarpM = BLOCK_M / WARPS_M, kWarpN = BLOCK_N / WARPS_N;
constexpr int kTilesM = kWarpM / 16, kTilesN = kWarpN / 16;
constexpr bool kAKMajor = A_K_MAJOR, kBKMajor = B_K_MAJOR;
constexpr bool kOrdered = SCHEDULE == SCHEDULE_ORDERED;
static_assert(!kOrdered || WARPS_N == 1);

// Swizzled for mma, padded by 16 bytes for wmma, whose loads know no swizzle; bulk copies cannot
// pad, so that wmma reads pieces of 32 bytes there. Raw lines have 16 bytes more than they need;
// with that the threads of a warp meet different banks, but for lines of f32 along m or n, which
// take 32.
template <bool kKMajor, int kMn>
struct StageOf {
  static constexpr int kLines = kKMajor ? kMn : kBlockK;
  static constexpr int kLineBytes = kKMajor ? BLOCK_K_BYTES : kMn * kSize;
#if RAW
  static constexpr int kPitch = kLineBytes + (kSize == 4 && !kKMajor ? 32 : 16);
  using type = Stage<kLines, kLineBytes, kLineBytes, kPitch, 0, kKMajor ? 8 : 1>;
#elif MMA_KIND
  static constexpr int kPiece = kLineBytes < 128 ? kLineBytes : 128;
  using type = Stage<kLines, kLineBytes, kPiece, kPiece, kPiece - 16>;
#elif A_BULK
  using type = Stage<kLines, kLineBytes, 32, 32, 0>;
#else
  using type = Stage<kLines, kLineBytes, kLineBytes, kLineBytes + 16, 0>;
#endif
};
// An ordered left operand has a stage for each warp.
constexpr int kPartsA = kOrdered ? WARPS_M : 1;
using StageA = typename StageOf<kAKMajor, BLOCK_M / kPartsA>::type;
using StageB = typename StageOf<kBKMajor, BLOCK_N>::type;
constexpr int kAlign = 1024;  // a swizzle repeats after so many bytes
constexpr int kBytesA = (StageA::kBytes * kPartsA + kAlign - 1) / kAlign * kAlign;
constexpr int kBytesB = (StageB::kBytes + kAlign - 1) / kAlign * kAlign;
[[maybe_unused]] constexpr int kStageBytes = kBytesA + kBytesB;

// --- The block's tile.

struct Place {
  int64 m, n;
  uint32 batch;
};

// Strips of four tile columns, up one and down the next, so that blocks that run together share
// operands in the second-level cache.
__device__ __forceinline__ Place place_of(const AcceleratedArgs& args) {
  const uint32 tiles = args.tiles_m * args.tiles_n;
  const uint32 batch = blockIdx.x / tiles, tile = blockIdx.x % tiles;
  const uint32 strip = tile / (4 * args.tiles_m), within = tile % (4 * args.tiles_m);
  const uint32 left = args.tiles_n - 4 * strip, width = left < 4 ? left : 4;
  uint32 row = within / width;
  if (strip & 1) row = args.tiles_m - 1 - row;
  return {int64(row) * BLOCK_M, int64(4 * strip + within % width) * BLOCK_N, batch};
}

__device__ __forceinline__ int64 batch_offset(const AcceleratedArgs& args, uint32 batch,
                                              const long long (&strides)[6]) {
  int64 offset = 0;
  for (int axis = args.batch_rank - 1; axis >= 0; --axis) {
    const uint32 extent = uint32(args.batch_extent[axis]);
    offset += strides[axis] * int64(batch % extent);
    batch /= extent;
  }
  return offset;
}

// --- Multiplying a stage.

struct Warp {
  int m, n, lane;  // where the warp's share begins in the block's tile
};

#if RAW
struct Readers {
  RawReader<StageA, kAKMajor, true, kSize, kTilesM> a;
  RawReader<StageB, kBKMajor, false, kSize, kTilesN> b;
};
#else
struct Readers {};
#endif

__device__ __forceinline__ Fragment read_a(const Readers& readers, uint32 stage, const Warp& warp,
                                           int step, int tile) {
#if RAW
  return readers.a.read(stage, step, tile);
#else
  const uint32 part = kOrdered ? warp.m / kWarpM * StageA::kBytes : 0;
  const int first = kOrdered ? 0 : warp.m;
#if MMA_KIND
  return FragmentReader<StageA, kAKMajor, true>(stage + part, first, step, warp.lane).read(tile);
#else
  return WmmaReader<StageA, kAKMajor, true>{stage + part, first, step}.read(tile);
#endif
#endif
}

__device__ __forceinline__ Fragment read_b(const Readers& readers, uint32 stage, const Warp& warp,
                                           int step, int tile) {
#if RAW
  return readers.b.read(stage, step, tile);
#elif MMA_KIND
  return FragmentReader<StageB, kBKMajor, false>(stage, warp.n, step, warp.lane).read(tile);
#else
  return WmmaReader<StageB, kBKMajor, false>{stage, warp.n, step}.read(tile);
#endif
}

using AllSums = Sums[kTilesM][kTilesN];

__device__ __forceinline__ void multiply_step(AllSums& sums, const Fragment (&a)[kTilesM],
                                              const Readers& readers, uint32 stage_b,
                                              const Warp& warp, int step) {
#pragma unroll
  for (int j = 0; j < kTilesN; ++j) {
    const Fragment b = read_b(readers, stage_b, warp, step, j);
#pragma unroll
    for (int i = 0; i < kTilesM; ++i) multiply(sums[i][j], a[i], b);
  }
}

__device__ __forceinline__ void multiply_stage(AllSums& sums, const Readers& readers, uint32 stage,
                                               const Warp& warp) {
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    Fragment a[kTilesM];
#pragma unroll
    for (int i = 0; i < kTilesM; ++i) a[i] = read_a(readers, stage, warp, step, i);
    multiply_step(sums, a, readers, stage + kBytesA, warp, step);
  }
}

// Of the warps that multiply.
__device__ __forceinline__ void math_barrier() {
  asm volatile("bar.sync 1, %0;" ::"n"(kMathThreads) : "memory");
}

// --- Writing C. Sums go through shared memory, a row of 16 x 16 tiles of each warp at a time, so
// that rows of C are written in full, and raw lines find their places again.

constexpr int kWantedColumns = 64 / WARPS_M * 8;  // about 32 KB of f32
constexpr bool kMixedColumns = kBKMajor && RAW;
constexpr int kPassTiles = kMixedColumns || kTilesN * 16 * WARPS_N <= kWantedColumns ? kTilesN
                           : kWantedColumns / (16 * WARPS_N) > 0 ? kWantedColumns / (16 * WARPS_N)
                                                                 : 1;
constexpr int kPassColumns = kPassTiles * 16 * WARPS_N;
constexpr int kSumsPitch = kPassColumns + 8;
static_assert(kTilesN % kPassTiles == 0);

__device__ __forceinline__ C_TYPE finished(const AcceleratedArgs& args, Sum sum, const C_TYPE* c) {
#if INPUT == INPUT_INT8
  uint32 value = args.whole_alpha * uint32(sum);
  if (args.whole_beta != 0) value += args.whole_beta * uint32(*c);
  return int(value);
#else
  float value = args.alpha * sum;
  if (args.beta != 0) value += args.beta * widen<float>(*c);
  return rounded<C_TYPE>::from(value);
#endif
}

struct alignas(4 * sizeof(C_TYPE)) FourOfC {
  C_TYPE value[4];
};

__device__ __forceinline__ void write_tile(const AcceleratedArgs& args, const Place& place,
                                           AllSums& sums, const Warp& warp, Sum* staged) {
  C_TYPE* c = static_cast<C_TYPE*>(args.c) + batch_offset(args, place.batch, args.c_batch);
  const int64 rows = args.m - place.m, columns = args.n - place.n;
  const int thread = threadIdx.x;
#pragma unroll
  for (int i = 0; i < kTilesM; ++i) {
#pragma unroll
    for (int j0 = 0; j0 < kTilesN; j0 += kPassTiles) {
      math_barrier();
      const int row0 = warp.m / kWarpM * 16, column0 = warp.n / kWarpN * (kPassTiles * 16);
#pragma unroll
      for (int j = 0; j < kPassTiles; ++j) {
#if MMA_KIND
        write_sums(sums[i][j0 + j], staged + row0 * kSumsPitch, kSumsPitch, warp.lane, [&](int x) {
          const int column = column0 + j * 16 + x;
          return kMixedColumns ? StageB::number_of(column) : column;
        });
#else
        write_sums(sums[i][j0 + j],
                   uint32(__cvta_generic_to_shared(staged + row0 * kSumsPitch + column0 + j * 16)),
                   kSumsPitch);
#endif
      }
      math_barrier();
#pragma unroll 1
      for (int at = thread * 4; at < WARPS_M * 16 * kPassColumns; at += kMathThreads * 4) {
        const int staged_row = at / kPassColumns, staged_column = at % kPassColumns;
        const int line = staged_row / 16 * kWarpM + i * 16 + staged_row % 16;
        const int row = kAKMajor && RAW ? StageA::number_of(line) : line;
        const int column = staged_column / (kPassTiles * 16) * kWarpN + j0 * 16 +
                           staged_column % (kPassTiles * 16);
        if (row >= rows || !args.c_vector || column + 4 > columns) continue;
        const Sum* sum = staged + staged_row * kSumsPitch + staged_column;
        FourOfC* to =
            reinterpret_cast<FourOfC*>(c + (place.m + row) * args.c_row + place.n + column);
        FourOfC four;
#if INPUT == INPUT_INT8
        if (args.whole_beta != 0) four = *to;
#else
        if (args.beta != 0) four = *to;
#endif
#pragma unroll
        for (int e = 0; e < 4; ++e) four.value[e] = finished(args, sum[e], four.value + e);
        *to = four;
      }
      // What vectors do not reach: everything, or the last columns of C.
      if (args.c_vector && (columns >= BLOCK_N || columns % 4 == 0)) continue;
#pragma unroll 1
      for (int at = thread; at < WARPS_M * 16 * kPassColumns; at += kMathThreads) {
        const int staged_row = at / kPassColumns, staged_column = at % kPassColumns;
        const int line = staged_row / 16 * kWarpM + i * 16 + staged_row % 16;
        const int row = kAKMajor && RAW ? StageA::number_of(line) : line;
        const int column = staged_column / (kPassTiles * 16) * kWarpN + j0 * 16 +
                           staged_column % (kPassTiles * 16);
        if (row >= rows || column >= columns) continue;
        if (args.c_vector && column / 4 * 4 + 4 <= columns) continue;
        C_TYPE* to = c + (place.m + row) * args.c_row + (place.n + column) * args.c_col;
        *to = finished(args, staged[staged_row * kSumsPitch + staged_column], to);
      }
    }
  }
}

// --- Schedules.

// Warps that only load need few registers; those that multiply take what they leave. Where the
// architecture has no such instruction, everyone has the same.
#if MATH_REGISTERS && __CUDA_ARCH__ >= 900
#define REGISTERS_TO(what, count) \
  asm volatile("setmaxnreg." what ".sync.aligned.u32 %0;" ::"n"(count))
#else
#define REGISTERS_TO(what, count)
#endif
__device__ __forceinline__ void take_registers() { REGISTERS_TO("inc", MATH_REGISTERS); }
__device__ __forceinline__ void give_registers() { REGISTERS_TO("dec", LOAD_REGISTERS); }

#if A_BULK
__device__ __forceinline__ void copy_stage(const Args& args, const Place& place, int tile,
                                           uint32 stage, uint32 barrier) {
  barrier_expect(barrier, (BLOCK_M + BLOCK_N) * BLOCK_K_BYTES);
  const int batch = int(place.batch);
  copy_bulk<StageA, kAKMajor, kSize>(args.a_map, int(place.m), tile * kBlockK,
                                     args.a_batched ? batch : 0, stage, barrier);
  copy_bulk<StageB, kBKMajor, kSize>(args.b_map, int(place.n), tile * kBlockK,
                                     args.b_batched ? batch : 0, stage + kBytesA, barrier);
}
#endif

extern __shared__ __align__(1024) char shared_memory[];

extern "C" __global__ void __launch_bounds__(kThreads, MIN_BLOCKS)
    rooftune_kernel(const __grid_constant__ Args all) {
#if A_BULK
  const AcceleratedArgs& args = all.product;
#else
  const AcceleratedArgs& args = all;
#endif
  const uint32 shared = uint32(__cvta_generic_to_shared(shared_memory));
  const Place place = place_of(args);
  const int thread = threadIdx.x, warp_number = thread / 32;
  const Warp warp{warp_number / WARPS_N * kWarpM, warp_number % WARPS_N * kWarpN, thread % 32};
  const int tiles = int((args.k + kBlockK - 1) / kBlockK);

  AllSums sums;
#pragma unroll
  for (int i = 0; i < kTilesM; ++i) {
#pragma unroll
    for (int j = 0; j < kTilesN; ++j) {
#pragma unroll
      for (int e = 0; e < 8; ++e) sums[i][j].value[e] = 0;
    }
  }

#if !A_BULK
  // Shared memory holds lines of k or of m (n); global memory holds the same unless it is gathered.
  const Lines lines_a{
      static_cast<const char*>(args.a) + batch_offset(args, place.batch, args.a_batch) * kSize,
      (kAKMajor ? args.a_row : args.a_col) * kSize,
      (kAKMajor ? args.a_col : args.a_row) * kSize,
      kAKMajor ? args.m : args.k,
      kAKMajor ? args.k : args.m,
      kAKMajor ? args.a_row == args.k : args.a_col == args.m};
  const Lines lines_b{
      static_cast<const char*>(args.b) + batch_offset(args, place.batch, args.b_batch) * kSize,
      (kBKMajor ? args.b_col : args.b_row) * kSize,
      (kBKMajor ? args.b_row : args.b_col) * kSize,
      kBKMajor ? args.n : args.k,
      kBKMajor ? args.k : args.n,
      kBKMajor ? args.b_col == args.k : args.b_row == args.n};
  constexpr bool kTf32 = INPUT == INPUT_TF32;
  // Of the ordered left operand: this warp's lines, to this warp's stage.
  constexpr int kThreadsA = kOrdered ? 32 : kLoadThreads;
  const int load_thread = LOAD_WARPS ? thread - kMathThreads : thread;
  Loader<StageA, A_LOAD, kAKMajor, kSize, kThreadsA, kTf32> load_a(
      lines_a, place.m + (kOrdered ? warp.m : 0), kOrdered ? warp.lane : load_thread);
  Loader<StageB, B_LOAD, kBKMajor, kSize, kLoadThreads, kTf32> load_b(lines_b, place.n,
                                                                      load_thread);
#endif

#if RAW
  const Readers readers{{load_a, warp.m, warp.lane}, {load_b, warp.n, warp.lane}};
#else
  const Readers readers;
#endif

#if SCHEDULE == SCHEDULE_SIMPLE && A_BULK
  const uint32 barrier = shared + kStageBytes;
  if (thread == 0) {
    barrier_init(barrier, 1);
    fence_barriers();
  }
  for (int tile = 0; tile < tiles; ++tile) {
    __syncthreads();  // the buffer is free
    if (warp_number == 0 && elected()) copy_stage(all, place, tile, shared, barrier);
    barrier_wait(barrier, tile & 1);
    multiply_stage(sums, readers, shared, warp);
    fence_before_copies();
  }
#elif SCHEDULE == SCHEDULE_SIMPLE
  for (int tile = 0; tile < tiles; ++tile) {
    load_a.fetch(tile);
    load_b.fetch(tile);
    if (tile > 0) __syncthreads();
    load_a.put(shared);
    load_b.put(shared + kBytesA);
    __syncthreads();
    multiply_stage(sums, readers, shared, warp);
  }
#elif SCHEDULE == SCHEDULE_DOUBLE
  load_a.fetch(0);
  load_b.fetch(0);
  load_a.put(shared);
  load_b.put(shared + kBytesA);
  for (int tile = 0; tile < tiles; ++tile) {
    __syncthreads();
    const uint32 stage = shared + (tile & 1) * kStageBytes;
    const uint32 other = shared + (~tile & 1) * kStageBytes;
    const bool more = tile + 1 < tiles;
    if (more) {
      load_a.fetch(tile + 1);
      load_b.fetch(tile + 1);
    }
    multiply_stage(sums, readers, stage, warp);
    if (more) {
      load_a.put(other);
      load_b.put(other + kBytesA);
    }
  }
#elif SCHEDULE == SCHEDULE_PIPELINE
  // The first STAGES - 1 turns only load.
  uint32 stage = shared, refilled = shared;
#pragma unroll 1
  for (int tile = 1 - STAGES; tile < tiles; ++tile) {
    wait_groups<STAGES - 2>();
    __syncthreads();  // everyone's copies are there, and the buffer before this one is free
    if (tile + STAGES - 1 < tiles) {
      load_a.copy(tile + STAGES - 1, refilled);
      load_b.copy(tile + STAGES - 1, refilled + kBytesA);
    }
    end_group();
    refilled = refilled == shared + (STAGES - 1) * kStageBytes ? shared : refilled + kStageBytes;
    if (tile < 0) continue;
    multiply_stage(sums, readers, stage, warp);
    stage = stage == shared + (STAGES - 1) * kStageBytes ? shared : stage + kStageBytes;
  }
#elif SCHEDULE == SCHEDULE_ORDERED
  // Fragments of A are all read before its one buffer is written again; the barrier is for B alone.
  const uint32 stage_a = shared + 2 * kBytesB;
  const uint32 my_stage_a = stage_a + warp_number * StageA::kBytes;
  load_a.fetch(0);
  load_b.fetch(0);
  load_a.put(my_stage_a);
  load_b.put(shared);
  for (int tile = 0; tile < tiles; ++tile) {
    __syncthreads();
    const bool more = tile + 1 < tiles;
    if (more) {
      load_a.fetch(tile + 1);
      load_b.fetch(tile + 1);
    }
    Fragment a[kSteps][kTilesM];
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (int i = 0; i < kTilesM; ++i) a[step][i] = read_a(readers, stage_a, warp, step, i);
    }
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      multiply_step(sums, a[step], readers, shared + (tile & 1) * kBytesB, warp, step);
    }
    if (more) {
      __syncwarp();
      load_a.put(my_stage_a);
      load_b.put(shared + (~tile & 1) * kBytesB);
    }
  }
#elif SCHEDULE == SCHEDULE_LOADERS
  if (LOAD_WARPS && warp_number >= kMathWarps) {
    give_registers();
    load_a.fetch(0);
    load_b.fetch(0);
    for (int tile = 0; tile < tiles; ++tile) {
      load_a.put(shared + (tile & 1) * kStageBytes);
      load_b.put(shared + (tile & 1) * kStageBytes + kBytesA);
      if (tile + 1 < tiles) {
        load_a.fetch(tile + 1);
        load_b.fetch(tile + 1);
      }
      __syncthreads();
    }
    return;
  }
  take_registers();
  for (int tile = 0; tile < tiles; ++tile) {
    __syncthreads();
    multiply_stage(sums, readers, shared + (tile & 1) * kStageBytes, warp);
  }
#else  // SCHEDULE_RING
  const uint32 full = shared + STAGES * kStageBytes, empty = full + STAGES * 8;
  if (thread == 0) {
    for (int s = 0; s < STAGES; ++s) {
      barrier_init(full + s * 8, A_BULK ? 1 : kLoadThreads);
      barrier_init(empty + s * 8, kMathThreads);
    }
    fence_barriers();
  }
  __syncthreads();
  int s = 0;
  uint32 parity = 0;
  if (LOAD_WARPS && warp_number >= kMathWarps) {
    give_registers();
#if A_BULK
    if (warp_number > kMathWarps) return;
#else
    if (!A_COPIED) load_a.fetch(0);
    if (!B_COPIED) load_b.fetch(0);
#endif
    for (int tile = 0; tile < tiles; ++tile) {
      const uint32 stage = shared + s * kStageBytes, barrier = full + s * 8;
      if (tile >= STAGES) barrier_wait(empty + s * 8, parity ^ 1);
#if A_BULK
      if (elected()) copy_stage(all, place, tile, stage, barrier);
#else
      if constexpr (A_COPIED) {
        load_a.copy(tile, stage);
      } else {
        load_a.put(stage);
      }
      if constexpr (B_COPIED) {
        load_b.copy(tile, stage + kBytesA);
      } else {
        load_b.put(stage + kBytesA);
      }
      if constexpr (A_COPIED || B_COPIED) {
        barrier_arrive_after_copies(barrier);
      } else {
        barrier_arrive(barrier);
      }
      if (tile + 1 < tiles) {
        if (!A_COPIED) load_a.fetch(tile + 1);
        if (!B_COPIED) load_b.fetch(tile + 1);
      }
#endif
      if (++s == STAGES) s = 0, parity ^= 1;
    }
    return;
  }
  take_registers();
  for (int tile = 0; tile < tiles; ++tile) {
    barrier_wait(full + s * 8, parity);
    multiply_stage(sums, readers, shared + s * kStageBytes, warp);
#if A_BULK
    fence_before_copies();
#endif
    // Every thread for itself: one for its warp would do, but compute-sanitizer's racecheck may not
    // see then that the others' reads come before it.
    barrier_arrive(empty + s * 8);
    if (++s == STAGES) s = 0, parity ^= 1;
  }
#endif

  write_tile(args, place, sums, warp, reinterpret_cast<Sum*>(shared_memory));
}
