// Matrix products by Hopper's warpgroup instructions. A producer keeps a ring of stages of shared
// memory filled by bulk tensor copies; one to three warpgroups multiply. Defines:
//   ELEMENT_C          the type of C as in types.cuh
//   WGMMA_*, A_MN, B_MN  see hopper.cuh; WGMMA_N is the columns of a tile
//   WARPGROUPS         that multiply
//   ROW_BLOCKS         of 64 rows, of each warpgroup
//   PING_PONG          1: each warpgroup (of two) has tiles of its own, and writes one while the
//                      other multiplies; 0: they share a tile, stacked along m
//   STAGES             of the ring
//   CLUSTER_M, _N      blocks of a cluster along m share B, along n share A
//   CLUSTER_K          blocks of a cluster that share the k of one tile; 1 for none
//   SPLIT              1: the sums of several blocks make a tile (CLUSTER_K, args.k_groups); a
//                      block has one tile. 0: blocks walk over tiles
//   PROMOTE            1: sums of the tensor cores, which have 14 bits for f8, are added up in
//                      registers every 128 bytes of k
//   up
//                      in registers: theirs have 14 bits for f8; 0: never
//   BULK_C             1: C is written by bulk copies, and not read; 0: by elements, any strides
//   C_TURNED           1: C's m axis is the contiguous one
//   BLOCKS             of a multiprocessor at the same time
//   MOVE_REGISTERS     1: the producer is a warpgroup that gives its registers away; 0: a warp
#include "device/cuda/hopper.cuh"
#include "device/cuda/types.cuh"
#include "ops/matmul/cuda/wgmma_args.h"

using rooftune::WgmmaArgs;
using Element = ELEMENT_C;
using Sum = WgmmaSum;

enum : int {
  kTileM = 64 * ROW_BLOCKS * (PING_PONG ? 1 : WARPGROUPS),
  kTileN = WGMMA_N,
  kBlockK = 128 / WGMMA_BYTES,
  kCluster = CLUSTER_M * CLUSTER_N * CLUSTER_K,
  kConsumers = 128 * WARPGROUPS,
  kThreads = kConsumers + (MOVE_REGISTERS ? 128 : 32),
  kBytesA = kTileM * 128,
  // Groups of 64 columns when n is contiguous.
  kGroupsB = (kTileN + 63) / 64,
  kBytesB = (B_MN ? 64 * kGroupsB : kTileN) * 128,
  kStage = kBytesA + kBytesB,
  // A warpgroup's part of C goes through two buffers; without bulk copies, through one of sums.
  kBuffer = 64 * WGMMA_N * int(sizeof(Element)) < 8192 ? 64 * WGMMA_N * int(sizeof(Element)) : 8192,
  kSumsCols = 32,
  // 64 rows of 32 sums; the padding keeps a warp's writes in different banks.
  kSumsPitch = C_TURNED ? 64 + 4 : kSumsCols + 8,
  kSumsBytes = (C_TURNED ? kSumsCols : 64) * kSumsPitch * 4,
  kStaging = SPLIT ? 0 : WARPGROUPS * (BULK_C ? 2 * kBuffer : kSumsBytes),
  // Between a group of 64 of m (n) and the next, when that axis is contiguous.
  kGroupBytes = kBlockK * 128,
};
#ifndef STREAM
#define STREAM 0
#endif
enum : uint64 { kPolicy = STREAM ? uint64(kEvictFirst) : uint64(kEvictNormal) };
// Named barriers; 0 is that of the whole block.
enum : uint32 { kTurn = 1, kStagingBarrier = 3, kAllConsumers = 6, kReady = 7 };

extern __shared__ __align__(1024) uint8 memory[];

struct Ring {
  int stage = 0;
  uint32 parity = 0;
  ROOFTUNE_DEVICE void next() {
    if (++stage == STAGES) {
      stage = 0;
      parity ^= 1;
    }
  }
  ROOFTUNE_DEVICE void skip(int count) {
    stage += count;
    parity ^= (stage / STAGES) & 1;
    stage %= STAGES;
  }
};

ROOFTUNE_DEVICE uint32 full_barrier(uint32 base, int stage) {
  return base + STAGES * kStage + kStaging + 16 * stage;
}
ROOFTUNE_DEVICE uint32 empty_barrier(uint32 base, int stage) {
  return full_barrier(base, stage) + 8;
}

struct Tile {
  int m, n, batch;  // its first row and column
  int blocks;       // of k
#if SPLIT
  int part, parts;  // of k
#endif
};

ROOFTUNE_DEVICE Tile tile_at(const WgmmaArgs& args, uint32 number, uint32 rank) {
  Tile tile;
  tile.blocks = args.k_blocks;
#if SPLIT
  // Runs of k_run blocks go to the parts in turn, so that all of them read the same pages of memory
  // at the same time.
  tile.parts = args.k_groups * CLUSTER_K;
  tile.part = number % args.k_groups * CLUSTER_K + rank;
  number /= args.k_groups;
  const int round = args.k_run * tile.parts;
  tile.blocks = args.k_blocks / round * args.k_run +
                max(0, min(args.k_run, args.k_blocks % round - tile.part * args.k_run));
#endif
  const uint32 matrix = uint32(args.tiles_m) * args.tiles_n;
  tile.batch = number / matrix;
  number %= matrix;
  const uint32 strip = uint32(args.raster_rows) * args.tiles_n;
  const uint32 first = number / strip * args.raster_rows;
  const uint32 rows = min(uint32(args.raster_rows), args.tiles_m - first);
  number %= strip;
  tile.m = (first + number % rows) * CLUSTER_M;
  tile.n = number / rows * CLUSTER_N;
  if (CLUSTER_M > 1) tile.m += rank;
  if (CLUSTER_N > 1) tile.n += rank;
  tile.m *= kTileM;
  tile.n *= kTileN;
  return tile;
}

// One operand's part of a stage. `sharers` blocks of the cluster need the same part: each loads its
// share for all of them.
template <bool mn, int rows, int sharers>
ROOFTUNE_DEVICE void load_operand(uint32 to, const TensorMap* map, uint32 barrier, int first, int k,
                                  int batch, uint32 rank) {
  if (!mn) {
    constexpr int share = rows / sharers;
    if (sharers > 1) {
      tma_load_multicast(to + rank * share * 128, map, barrier, kPolicy, (1 << sharers) - 1, k,
                         first + rank * share, batch);
    } else {
      tma_load(to, map, barrier, kPolicy, k, first, batch);
    }
  } else {
    constexpr int share = kBlockK / sharers;
    for (int group = 0; group < (rows + 63) / 64; ++group) {
      const uint32 place = to + group * kGroupBytes;
      if (sharers > 1) {
        tma_load_multicast(place + rank * share * 128, map, barrier, kPolicy, (1 << sharers) - 1,
                           first + 64 * group, k + rank * share, batch);
      } else {
        tma_load(place, map, barrier, kPolicy, first + 64 * group, k, batch);
      }
    }
  }
}

ROOFTUNE_DEVICE void produce(const WgmmaArgs& args, uint32 base, uint32 rank) {
  Ring ring;
  for (uint32 t = blockIdx.x / kCluster; t < args.tiles; t += gridDim.x / kCluster) {
    const Tile tile = tile_at(args, t, rank);
    const int a_batch = args.a_batched ? tile.batch : 0;
    const int b_batch = args.b_batched ? tile.batch : 0;
    for (int i = 0; i < tile.blocks; ++i) {
#if SPLIT
      const int block = (i / args.k_run * tile.parts + tile.part) * args.k_run + i % args.k_run;
#else
      const int block = i;
#endif
      const uint32 full = full_barrier(base, ring.stage);
      barrier_wait(empty_barrier(base, ring.stage), ring.parity ^ 1);
      barrier_arrive_expect(full, kStage);
      const uint32 to = base + ring.stage * kStage;
      const int k = block * kBlockK;
      load_operand<A_MN, kTileM, CLUSTER_N>(to, &args.a, full, tile.m, k, a_batch, rank);
      load_operand<B_MN, kTileN, CLUSTER_M>(to + kBytesA, &args.b, full, tile.n, k, b_batch, rank);
      ring.next();
    }
  }
}

// This warp is done with a stage, which the producers of all blocks that share it may fill.
ROOFTUNE_DEVICE void release(uint32 base, int stage) {
  const uint32 lane = threadIdx.x % 32;
  if (CLUSTER_M * CLUSTER_N > 1) {
    if (lane < kCluster) barrier_arrive_remote(empty_barrier(base, stage), lane);
  } else {
    if (lane == 0) barrier_arrive(empty_barrier(base, stage));
  }
}

// Keeps the compiler from moving uses of sums before the wait for them.
ROOFTUNE_DEVICE void pin(Sum (&sums)[ROW_BLOCKS][kTileN / 2]) {
#pragma unroll
  for (int i = 0; i < ROW_BLOCKS; ++i) {
#pragma unroll
    for (int j = 0; j < kTileN / 2; ++j) asm volatile("" : WGMMA_SUM(sums[i][j])::"memory");
  }
}

// Issues the products of a stage, of which each warpgroup has ROW_BLOCKS * 64 rows.
ROOFTUNE_DEVICE void multiply_stage(Sum (&sums)[ROW_BLOCKS][kTileN / 2], uint32 a, uint32 b,
                                    bool add) {
  // 32 bytes of k: along a row of 128, or 32 / WGMMA_BYTES rows.
  constexpr int step_a = (A_MN ? 128 * (32 / WGMMA_BYTES) : 32) / 16;
  constexpr int step_b = (B_MN ? 128 * (32 / WGMMA_BYTES) : 32) / 16;
  const uint64 operand_a = wgmma_operand(a, kGroupBytes);
  const uint64 operand_b = wgmma_operand(b, kGroupBytes);
  wgmma_fence();
#pragma unroll
  for (int step = 0; step < 4; ++step) {
#pragma unroll
    for (int i = 0; i < ROW_BLOCKS; ++i) {
      wgmma(sums[i], operand_a + i * (64 * 128 / 16) + step * step_a, operand_b + step * step_b,
            add || step > 0);
    }
  }
  wgmma_commit();
}

#if !PROMOTE
ROOFTUNE_DEVICE void multiply(const Tile& tile, uint32 base, uint32 a_offset, Ring& ring,
                              Sum (&sums)[ROW_BLOCKS][kTileN / 2]) {
  int previous = 0;
  for (int block = 0; block < tile.blocks; ++block) {
    barrier_wait(full_barrier(base, ring.stage), ring.parity);
    const uint32 stage = base + ring.stage * kStage;
    multiply_stage(sums, stage + a_offset, stage + kBytesA, block > 0);
    // The products before these are done, and their stage with them.
    wgmma_wait<1>();
    if (block > 0) release(base, previous);
    previous = ring.stage;
    ring.next();
  }
}

// Waits for the last products of multiply().
ROOFTUNE_DEVICE void finish(uint32 base, const Ring& ring, Sum (&sums)[ROW_BLOCKS][kTileN / 2]) {
  wgmma_wait<0>();
  pin(sums);
  release(base, (ring.stage ? ring.stage : STAGES) - 1);
}
#else
ROOFTUNE_DEVICE void add_part(Sum (&sums)[ROW_BLOCKS][kTileN / 2],
                              Sum (&part)[ROW_BLOCKS][kTileN / 2]) {
  pin(part);
#pragma unroll
  for (int i = 0; i < ROW_BLOCKS; ++i) {
#pragma unroll
    for (int j = 0; j < kTileN / 2; ++j) sums[i][j] += part[i][j];
  }
}

// One part is added up while the tensor cores make the next.
ROOFTUNE_DEVICE void multiply(const Tile& tile, uint32 base, uint32 a_offset, Ring& ring,
                              Sum (&sums)[ROW_BLOCKS][kTileN / 2]) {
  Sum even[ROW_BLOCKS][kTileN / 2], odd[ROW_BLOCKS][kTileN / 2];
#pragma unroll
  for (int i = 0; i < ROW_BLOCKS; ++i) {
#pragma unroll
    for (int j = 0; j < kTileN / 2; ++j) sums[i][j] = 0;
  }
  const auto issue = [&](Sum(&part)[ROW_BLOCKS][kTileN / 2]) {
    barrier_wait(full_barrier(base, ring.stage), ring.parity);
    const uint32 stage = base + ring.stage * kStage;
    multiply_stage(part, stage + a_offset, stage + kBytesA, false);
    const int used = ring.stage;
    ring.next();
    return used;
  };
  int block = 0;
  int before = issue(even);
  for (; block + 2 < tile.blocks; block += 2) {
    const int between = issue(odd);
    wgmma_wait<1>();
    release(base, before);
    add_part(sums, even);
    before = issue(even);
    wgmma_wait<1>();
    release(base, between);
    add_part(sums, odd);
  }
  if (block + 1 < tile.blocks) {
    const int last = issue(odd);
    wgmma_wait<1>();
    release(base, before);
    add_part(sums, even);
    wgmma_wait<0>();
    release(base, last);
    add_part(sums, odd);
  } else {
    wgmma_wait<0>();
    release(base, before);
    add_part(sums, even);
  }
}

ROOFTUNE_DEVICE void finish(uint32, const Ring&, Sum (&)[ROW_BLOCKS][kTileN / 2]) {}
#endif

// --- The epilogue.
ROOFTUNE_DEVICE Element* c_at(const WgmmaArgs& args, const Tile& tile, int row, int col) {
  return static_cast<Element*>(args.c_memory) + tile.batch * args.c_batch + row * args.c_row +
         col * args.c_col;
}

ROOFTUNE_DEVICE Sum scaled(const WgmmaArgs& args, Sum sum) {
#if WGMMA_INT
  return Sum(uint32(args.int_alpha) * uint32(sum));
#else
  return args.alpha * sum;
#endif
}

// C = alpha * sum + beta * C at an element, which need not be inside.
ROOFTUNE_DEVICE void write_element(const WgmmaArgs& args, const Tile& tile, int row, int col,
                                   Sum sum) {
  if (row >= args.m || col >= args.n) return;
  Element* const c = c_at(args, tile, row, col);
  sum = scaled(args, sum);
#if WGMMA_INT
  if (args.int_beta != 0) sum = Sum(uint32(args.int_beta) * uint32(*c) + uint32(sum));
#else
  if (args.beta != 0) sum += args.beta * widen<Sum>(*c);
#endif
  *c = rounded<Element>::from(sum);
}

#if BULK_C && !SPLIT
enum : int {
  kSize = sizeof(Element),
  // A box of a bulk copy: kBoxRows rows of kBoxBytes in C's contiguous axis. Not turned, rows are
  // 64 of m, and the widest box that divides the tile; turned, 128 bytes of m, and rows of n.
  kBoxBytes = C_TURNED                    ? 128
              : kTileN * kSize % 128 == 0 ? 128
              : kTileN * kSize % 64 == 0  ? 64
                                          : 32,
  kBoxRows = !C_TURNED || kTileN % 64 == 0 ? 64
             : kTileN % 32 == 0            ? 32
             : kTileN % 16 == 0            ? 16
                                           : 8,
  kBoxM = C_TURNED ? kBoxBytes / kSize : 64,
  kBoxN = C_TURNED ? kBoxRows : kBoxBytes / kSize,
  kBox = kBoxBytes * kBoxRows,
  kBoxesN = kTileN / kBoxN,
  kBoxes = 64 / kBoxM * kBoxesN,  // of 64 rows of the tile
  kBoxesOfBuffer = kBuffer / kBox,
};

// Where a byte of a box lies: 16-byte chunks are swizzled with the row, as the copy expects.
ROOFTUNE_DEVICE uint32 swizzled(uint32 row, uint32 byte) {
  const uint32 offset = row * kBoxBytes + byte;
  return offset ^ ((offset >> 7 & (kBoxBytes / 16 - 1)) << 4);
}

// The 8 columns (16 with `wide`) from column `col` of a box, by a warp: sums 4 to a thread each.
template <bool wide>
ROOFTUNE_DEVICE void stage_columns(const Sum (&v)[wide ? 8 : 4], uint32 box, int col, int m_first) {
  const uint32 lane = threadIdx.x % 32;
  const int warp_row = threadIdx.x / 32 % 4 * 16;
  if constexpr (kSize == 2) {
    const int matrix_row = warp_row + lane / 8 % 2 * 8, matrix_col = col + lane / 16 * 8;
    const uint32 place =
        box + (C_TURNED ? swizzled(matrix_col + lane % 8, (matrix_row - m_first) * 2)
                        : swizzled(matrix_row + lane % 8, matrix_col * 2));
    if constexpr (wide) {
      store_matrices<C_TURNED>(
          place, rounded_pair(v[0], v[1], Element{}), rounded_pair(v[2], v[3], Element{}),
          rounded_pair(v[4], v[5], Element{}), rounded_pair(v[6], v[7], Element{}));
    } else {
      store_matrices<C_TURNED>(place, rounded_pair(v[0], v[1], Element{}),
                               rounded_pair(v[2], v[3], Element{}));
    }
  } else {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = warp_row + lane / 4 + 8 * half;
#pragma unroll
      for (int i = 0; i < (wide ? 2 : 1); ++i) {
        const int to = col + 8 * i + lane % 4 * 2;
        const Sum low = v[4 * i + 2 * half], high = v[4 * i + 2 * half + 1];
        if (C_TURNED) {
          asm volatile("st.shared.b32 [%0], %1;" ::"r"(box + swizzled(to, (row - m_first) * 4)),
                       "r"(*reinterpret_cast<const uint32*>(&low))
                       : "memory");
          asm volatile("st.shared.b32 [%0], %1;" ::"r"(box + swizzled(to + 1, (row - m_first) * 4)),
                       "r"(*reinterpret_cast<const uint32*>(&high))
                       : "memory");
        } else {
          asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(box + swizzled(row, to * 4)),
                       "r"(*reinterpret_cast<const uint32*>(&low)),
                       "r"(*reinterpret_cast<const uint32*>(&high))
                       : "memory");
        }
      }
    }
  }
}

// A box of the 64 rows from row_first, of which this thread has `sums`.
template <int box>
ROOFTUNE_DEVICE void stage_box(const WgmmaArgs& args, const Sum (&sums)[kTileN / 2], uint32 to) {
  constexpr int col_first = box % kBoxesN * kBoxN, m_first = box / kBoxesN * kBoxM;
  const int warp_row = threadIdx.x / 32 % 4 * 16;
  // Turned boxes of 4-byte elements have 32 of the 64 rows: two of the four warps.
  if (kBoxM < 64 && warp_row / kBoxM != m_first / kBoxM) return;
#pragma unroll
  for (int col = 0; col < kBoxN; col += kBoxN % 16 ? 8 : 16) {
    constexpr int count = kBoxN % 16 ? 4 : 8;
    Sum v[count];
#pragma unroll
    for (int i = 0; i < count; ++i) v[i] = scaled(args, sums[(col_first + col) / 2 + i]);
    stage_columns<count == 8>(v, to, col, m_first);
  }
}

template <int box, int end>
ROOFTUNE_DEVICE void stage_boxes(const WgmmaArgs& args, const Sum (&sums)[kTileN / 2], uint32 to) {
  if constexpr (box < end) {
    stage_box<box>(args, sums, to);
    stage_boxes<box + 1, end>(args, sums, to + kBox);
  }
}

// Passes over the boxes of 64 rows, a buffer each.
template <int pass>
ROOFTUNE_DEVICE void write_passes(const WgmmaArgs& args, const Tile& tile, int row_first,
                                  const Sum (&sums)[kTileN / 2], uint32 staging, uint32& buffer) {
  if constexpr (pass * kBoxesOfBuffer < kBoxes) {
    const uint32 to = staging + buffer * kBuffer;
    const uint32 barrier = kStagingBarrier + threadIdx.x / 128;
    const bool leader = threadIdx.x % 128 == 0;
    // The copy from this buffer, the last but one, has read it.
    if (leader) tma_store_wait_read<1>();
    named_sync(barrier, 128);
    constexpr int first = pass * kBoxesOfBuffer;
    constexpr int end = first + kBoxesOfBuffer < kBoxes ? first + kBoxesOfBuffer : kBoxes;
    stage_boxes<first, end>(args, sums, to);
    fence_async_proxy();
    named_sync(barrier, 128);
    if (leader) {
#pragma unroll
      for (int i = 0; first + i < end; ++i) {
        const int n = tile.n + (first + i) % kBoxesN * kBoxN;
        const int m = row_first + (first + i) / kBoxesN * kBoxM;
        tma_store(&args.c, to + i * kBox, C_TURNED ? m : n, C_TURNED ? n : m, tile.batch);
      }
      tma_store_commit();
    }
    buffer ^= 1;
    write_passes<pass + 1>(args, tile, row_first, sums, staging, buffer);
  }
}
#elif !SPLIT
// Through shared memory, so that neighbouring lanes write neighbours in memory.
ROOFTUNE_DEVICE void write_elements(const WgmmaArgs& args, const Tile& tile, int row_first,
                                    const Sum (&sums)[kTileN / 2], Sum* staging) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
  const uint32 barrier = kStagingBarrier + threadIdx.x / 128;
#pragma unroll
  for (int col_first = 0; col_first < kTileN; col_first += kSumsCols) {
    named_sync(barrier, 128);
#pragma unroll
    for (int j = 0; j < kSumsCols / 2 && col_first / 2 + j < kTileN / 2; ++j) {
      const int row = 16 * warp + lane / 4 + (j & 2) * 4, col = j / 4 * 8 + lane % 4 * 2 + (j & 1);
      staging[C_TURNED ? col * kSumsPitch + row : row * kSumsPitch + col] = sums[col_first / 2 + j];
    }
    named_sync(barrier, 128);
    const int cols = min(int(kSumsCols), kTileN - col_first);
#pragma unroll 4
    for (int i = warp; i < 64; i += 4) {
      // Turned: a line of 64 is two rounds.
      const int row = C_TURNED ? i % 2 * 32 + lane : i, col = C_TURNED ? i / 2 : lane;
      if (col < cols) {
        write_element(args, tile, row_first + row, tile.n + col_first + col,
                      staging[C_TURNED ? col * kSumsPitch + row : row * kSumsPitch + col]);
      }
    }
  }
}
#endif

#if SPLIT
#include "ops/matmul/cuda/wgmma_split_k.cuh"
#else
#if !BULK_C && !C_TURNED
#include "ops/matmul/cuda/wgmma_rows.cuh"
#endif
ROOFTUNE_DEVICE void write_tile(const WgmmaArgs& args, const Tile& tile, int row_first,
                                const Sum (&sums)[ROW_BLOCKS][kTileN / 2], uint32 base,
                                uint32& buffer) {
  const int group = threadIdx.x / 128;
#pragma unroll
  for (int i = 0; i < ROW_BLOCKS; ++i) {
#if BULK_C
    write_passes<0>(args, tile, row_first + 64 * i, sums[i],
                    base + STAGES * kStage + group * 2 * kBuffer, buffer);
#else
    uint8* const staging = memory + STAGES * kStage + group * kSumsBytes;
#if !C_TURNED
    static_assert(kRowsBytes <= kSumsBytes);
    if (args.beta == 0 && args.int_beta == 0 && args.c_col == 1) {
      write_rows(args, tile, row_first + 64 * i, sums[i], staging);
      continue;
    }
#endif
    write_elements(args, tile, row_first + 64 * i, sums[i], reinterpret_cast<Sum*>(staging));
#endif
  }
}
#endif

ROOFTUNE_DEVICE void consume(const WgmmaArgs& args, uint32 base, uint32 rank) {
  const int group = threadIdx.x / 128;
  const int group_row = PING_PONG ? 0 : group * ROW_BLOCKS * 64;
  Ring ring;
  uint32 turn = 0;
#if !SPLIT
  uint32 buffer = 0;
#endif
  for (uint32 t = blockIdx.x / kCluster; t < args.tiles; t += gridDim.x / kCluster, ++turn) {
    const Tile tile = tile_at(args, t, rank);
    if (PING_PONG && int(turn & 1) != group) {
      ring.skip(args.k_blocks);
      continue;
    }
    if (PING_PONG && turn > 0) named_sync(kTurn + group, 256);
    Sum sums[ROW_BLOCKS][kTileN / 2];
    multiply(tile, base, group_row * 128, ring, sums);
    // The other's products wait behind these, so that the tensor cores need not.
    if (PING_PONG && t + gridDim.x / kCluster < args.tiles) named_arrive(kTurn + 1 - group, 256);
    finish(base, ring, sums);
#if SPLIT
    stage_sums(sums, group_row);
#else
    write_tile(args, tile, tile.m + group_row, sums, base, buffer);
#endif
  }
#if BULK_C && !SPLIT
  if (threadIdx.x % 128 == 0) tma_store_wait_read<0>();
#endif
}

extern "C" __global__ void __cluster_dims__(kCluster, 1, 1) __launch_bounds__(kThreads, BLOCKS)
    rooftune_kernel(const __grid_constant__ WgmmaArgs args) {
  const uint32 base = shared_address(memory);
  const uint32 rank = kCluster > 1 ? cluster_rank() : 0;
  const uint32 warp = threadIdx.x / 32;
  if (warp == kConsumers / 32 && elect_one()) {
    tma_prefetch(&args.a);
    tma_prefetch(&args.b);
    for (int stage = 0; stage < STAGES; ++stage) {
      barrier_init(full_barrier(base, stage), 1);
      barrier_init(empty_barrier(base, stage),
                   (PING_PONG ? 4 : 4 * WARPGROUPS) * CLUSTER_M * CLUSTER_N);
    }
    barrier_init_fence();
  }
  // Copies and arrivals reach into the other blocks of the cluster (the parts of k do so later).
  if (CLUSTER_M * CLUSTER_N > 1) cluster_sync();
  if (warp >= kConsumers / 32) {
#if MOVE_REGISTERS
    give_registers<24>();
#endif
    if (warp == kConsumers / 32) {
      // The one that made the barriers need not wait for those who will use them.
      if (CLUSTER_M * CLUSTER_N == 1) {
        __syncwarp();
        named_arrive(kReady, kConsumers + 32);
      }
      if (elect_one()) {
        produce(args, base, rank);
#if SPLIT
        prepare_arrivals(args, rank);
#endif
      }
      __syncwarp();
    }
    if (SPLIT) cluster_sync();
  } else {
    if (CLUSTER_M * CLUSTER_N == 1) named_sync(kReady, kConsumers + 32);
#if MOVE_REGISTERS
    // What three warpgroups of 128 threads, or four, leave of 64K registers.
    take_registers<WARPGROUPS == 2 ? 240 : 160>();
#endif
    consume(args, base, rank);
#if SPLIT
    // The parts of all blocks are in their shared memory.
    cluster_sync();
    add_parts(args, base, rank);
#endif
  }
  // Other blocks of the cluster may still copy to, arrive at or read this one's shared memory.
  if (kCluster > 1) cluster_sync();
}
