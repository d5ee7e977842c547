// Products of f32 on Hopper's tensor cores with f32's accuracy (TF32x3): x = high + low, both TF32,
// and a b is taken as high high + high low + low high. Operands are K-major.
//
// The operands arrive as they are. Tensor cores ignore the digits of f32 that TF32 lacks, so that
// an operand is its own high part. B's low parts are computed once a tile, by warps of their own,
// into a second buffer; A's by the warps that multiply, in registers. Nothing but the operands
// moves through memory, and a step of the ring holds two thirds of what it would with all four
// parts.
//
// Tensor cores truncate their sums, which shrinks a long one a little with every instruction. They
// are therefore added into f32 registers after every step.
//
// TILE_N: columns of a block's tile (128 rows): 64, 96, 128, 160 or 192
// STAGES: of the ring, of 32 terms each
#define WGMMA_N TILE_N
#define WGMMA_A tf32
#define WGMMA_B tf32
#define WGMMA_BYTES 4
#include "device/cuda/hopper.cuh"
#include "ops/matmul/cuda/wgmma_split_args.h"

// The numbers of the inputs in multiply(), after TILE_N / 2 sums.
#if TILE_N == 64
#define SPLIT_INPUTS "}, {%32,%33,%34,%35}, %36, p, 1, 1;\n}"
#define SPLIT_ADD "%37"
#elif TILE_N == 96
#define SPLIT_INPUTS "}, {%48,%49,%50,%51}, %52, p, 1, 1;\n}"
#define SPLIT_ADD "%53"
#elif TILE_N == 128
#define SPLIT_INPUTS "}, {%64,%65,%66,%67}, %68, p, 1, 1;\n}"
#define SPLIT_ADD "%69"
#elif TILE_N == 160
#define SPLIT_INPUTS "}, {%80,%81,%82,%83}, %84, p, 1, 1;\n}"
#define SPLIT_ADD "%85"
#elif TILE_N == 192
#define SPLIT_INPUTS "}, {%96,%97,%98,%99}, %100, p, 1, 1;\n}"
#define SPLIT_ADD "%101"
#endif

constexpr int kTileM = 128;
constexpr int kBytesA = kTileM * 128;  // of a step: 32 terms are 128 bytes
constexpr int kBytesB = TILE_N * 128;
constexpr int kStageBytes = kBytesA + 2 * kBytesB;
constexpr int kThreads = 384;
constexpr int kSplitters = 96;  // threads that compute low parts of B: three warps
constexpr int kConsumerWarps = 8;
// Tiles of C that are computed together span about as many rows as columns, so that their operands
// stay in the level-2 cache: 16 x 8 tiles for 132 multiprocessors.
constexpr uint32 kGroup = 8;

// d += a b, or d = a b: 64 rows, 8 terms, A in registers.
ROOFTUNE_DEVICE void multiply(float (&d)[TILE_N / 2], const uint32* a, uint64 b, int add) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " SPLIT_ADD
               ", 0;\n"
               "wgmma.mma_async.sync.aligned.m64n" WGMMA_TEXT(
                   WGMMA_N) "k8.f32.tf32.tf32 {" WGMMA_PASTE(WGMMA_SUMS_, WGMMA_N) SPLIT_INPUTS
               : WGMMA_PASTE(WGMMA_OUT_, WGMMA_N)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
}

// What TF32 lacks of x, rounded to TF32. The rest below is truncated by the tensor cores, which
// would make all products too small.
ROOFTUNE_DEVICE uint32 low_part(uint32 x) {
  const float rest = __uint_as_float(x) - __uint_as_float(x & 0xffffe000);
  uint32 low;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(low) : "f"(rest));
  return low;
}

ROOFTUNE_DEVICE uint4 load_shared_16(uint32 address) {
  uint4 x;
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)
               : "r"(address)
               : "memory");
  return x;
}
ROOFTUNE_DEVICE void store_shared_16(uint32 address, uint4 x) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(x.x), "r"(x.y),
               "r"(x.z), "r"(x.w)
               : "memory");
}
ROOFTUNE_DEVICE uint32 load_shared_4(uint32 address) {
  uint32 x;
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(x) : "r"(address) : "memory");
  return x;
}

// A place in the ring, and how often the ring went round.
struct Place {
  uint32 stage = 0, parity = 0;
  ROOFTUNE_DEVICE void advance() {
    if (++stage == STAGES) {
      stage = 0;
      parity ^= 1;
    }
  }
};

struct Tile {
  uint32 m, n, batch;
};
ROOFTUNE_DEVICE Tile tile_at(const rooftune::WgmmaSplitArgs& args, uint32 index) {
  const uint32 of_one = args.tiles_m * args.tiles_n;
  const uint32 batch = index / of_one;
  index -= batch * of_one;
  const uint32 group = index / (kGroup * args.tiles_n);
  const uint32 rest = index - group * kGroup * args.tiles_n;
  const uint32 height = min(kGroup, args.tiles_m - group * kGroup);
  return {(group * kGroup + rest % height) * kTileM, rest / height * TILE_N, batch};
}

struct Ring {
  uint32 stages, full, split, empty;
};

ROOFTUNE_DEVICE void produce(const rooftune::WgmmaSplitArgs& args, Ring ring) {
  Place place;
  for (uint32 index = blockIdx.x; index < args.tiles; index += gridDim.x) {
    const Tile tile = tile_at(args, index);
    const uint32 a_batch = args.a_batched ? tile.batch : 0;
    const uint32 b_batch = args.b_batched ? tile.batch : 0;
    for (uint32 step = 0; step < args.steps; ++step) {
      barrier_wait(ring.empty + 8 * place.stage, place.parity ^ 1);
      const uint32 full = ring.full + 8 * place.stage;
      const uint32 a = ring.stages + place.stage * kStageBytes;
      barrier_arrive_expect(full, kBytesA + kBytesB);
      tma_load(a, &args.a, full, kEvictNormal, step * 32, tile.m, a_batch);
      tma_load(a + kBytesA, &args.b, full, kEvictNormal, step * 32, tile.n, b_batch);
      place.advance();
    }
  }
}

ROOFTUNE_DEVICE void split(const rooftune::WgmmaSplitArgs& args, Ring ring) {
  constexpr int kBatch = 4;  // loads in flight of a thread
  const uint32 thread = threadIdx.x - 32;
  Place place;
  for (uint32 index = blockIdx.x; index < args.tiles; index += gridDim.x) {
    for (uint32 step = 0; step < args.steps; ++step) {
      barrier_wait(ring.full + 8 * place.stage, place.parity);
      const uint32 b = ring.stages + place.stage * kStageBytes + kBytesA;
      for (uint32 first = thread * 16; first < kBytesB; first += kBatch * kSplitters * 16) {
        uint4 x[kBatch];
#pragma unroll
        for (int i = 0; i < kBatch; ++i) {
          const uint32 at = first + i * kSplitters * 16;
          if (at < kBytesB) x[i] = load_shared_16(b + at);
        }
#pragma unroll
        for (int i = 0; i < kBatch; ++i) {
          const uint32 at = first + i * kSplitters * 16;
          if (at >= kBytesB) continue;
          store_shared_16(b + kBytesB + at,
                          {low_part(x[i].x), low_part(x[i].y), low_part(x[i].z), low_part(x[i].w)});
        }
      }
      fence_async_proxy();
      __syncwarp();
      if (threadIdx.x % 32 == 0) barrier_arrive(ring.split + 8 * place.stage);
      place.advance();
    }
  }
}

// A step of A: four instructions' worth, and its low parts. The high part is rounded here, not
// truncated, so that low parts have either sign and the missing low low averages out. What is
// finite stays finite: TF32 ends at 0x1.ffcp127.
struct Fragment {
  uint32 high[16], low[16];
};
ROOFTUNE_DEVICE void load_fragment(Fragment& fragment, uint32 row, uint32 lane) {
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    // 16-byte pieces of a row lie exclusive-ored with the row's number.
    const uint32 at = row + ((i ^ (lane / 4)) * 16) + lane % 4 * 4;
    fragment.low[i * 2] = load_shared_4(at);
    fragment.low[i * 2 + 1] = load_shared_4(at + 8 * 128);
  }
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    const float x = __uint_as_float(fragment.low[i]);
    const float near = fminf(fmaxf(x, -0x1.ffcp127f), 0x1.ffcp127f);
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(fragment.high[i]) : "f"(near));
    fragment.low[i] = __float_as_uint(x - __uint_as_float(fragment.high[i]));
  }
}

// The small products first: what truncation takes of a sum grows with the sum.
ROOFTUNE_DEVICE void multiply_step(float (&sums)[TILE_N / 2], const Fragment& fragment, uint64 b) {
  constexpr uint64 kLow = kBytesB >> 4;  // in a descriptor: from B to its low parts
  wgmma_fence();
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    multiply(sums, &fragment.low[4 * i], b + 2 * i, i > 0);
    multiply(sums, &fragment.high[4 * i], b + 2 * i + kLow, 1);
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) multiply(sums, &fragment.high[4 * i], b + 2 * i, 1);
  wgmma_commit();
}

ROOFTUNE_DEVICE void store_pair(const rooftune::WgmmaSplitArgs& args, float* row, uint32 column,
                                float first, float second) {
  float* const c = row + column * args.c_col;
  const bool has_first = column < args.n, has_second = column + 1 < args.n;
  float old_first = 0, old_second = 0;
  if (args.beta != 0) {
    if (has_first) old_first = c[0];
    if (has_second) old_second = c[args.c_col];
  }
  first = args.alpha * first + args.beta * old_first;
  second = args.alpha * second + args.beta * old_second;
  if (args.pairs && has_second) {
    *reinterpret_cast<float2*>(c) = {first, second};
    return;
  }
  if (has_first) c[0] = first;
  if (has_second) c[args.c_col] = second;
}

ROOFTUNE_DEVICE void consume(const rooftune::WgmmaSplitArgs& args, Ring ring) {
  const uint32 thread = threadIdx.x - 128;
  const uint32 lane = thread % 32;
  const uint32 row = thread / 32 * 16 + lane / 4;  // of the tile; and the one 8 below
  Place place;
  for (uint32 index = blockIdx.x; index < args.tiles; index += gridDim.x) {
    float totals[TILE_N / 2] = {};
    for (uint32 step = 0; step < args.steps; ++step) {
      float sums[TILE_N / 2];
      Fragment fragment;
      barrier_wait(ring.full + 8 * place.stage, place.parity);
      const uint32 a = ring.stages + place.stage * kStageBytes;
      load_fragment(fragment, a + row * 128, lane);
      barrier_wait(ring.split + 8 * place.stage, place.parity);
      multiply_step(sums, fragment, wgmma_operand(a + kBytesA));
      wgmma_wait<0>();
      if (lane == 0) barrier_arrive(ring.empty + 8 * place.stage);
      place.advance();
#pragma unroll
      for (int i = 0; i < TILE_N / 2; ++i) totals[i] += sums[i];
    }
    const Tile tile = tile_at(args, index);
    float* const c = args.c + tile.batch * args.c_batch;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const uint32 i = tile.m + row + half * 8;
      if (i >= args.m) continue;
#pragma unroll
      for (int j = 0; j < TILE_N / 8; ++j) {
        store_pair(args, c + i * args.c_row, tile.n + j * 8 + lane % 4 * 2,
                   totals[j * 4 + half * 2], totals[j * 4 + half * 2 + 1]);
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    rooftune_kernel(const __grid_constant__ rooftune::WgmmaSplitArgs args) {
  extern __shared__ char shared[];
  __shared__ uint64 barriers[3 * STAGES];
  const uint32 first = shared_address(barriers);
  const Ring ring = {(shared_address(shared) + 1023) & ~1023u, first, first + 8 * STAGES,
                     first + 16 * STAGES};
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < STAGES; ++stage) {
      barrier_init(ring.full + 8 * stage, 1);
      barrier_init(ring.split + 8 * stage, kSplitters / 32);
      barrier_init(ring.empty + 8 * stage, kConsumerWarps);
    }
    barrier_init_fence();
  }
  __syncthreads();
  // 40 registers for those who move data leave 232 for those who multiply.
  if (threadIdx.x < 128) {
    give_registers<40>();
    if (threadIdx.x >= 32) {
      split(args, ring);
    } else if (elect_one()) {
      produce(args, ring);
    }
  } else {
    take_registers<232>();
    consume(args, ring);
  }
}
