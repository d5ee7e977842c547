// f32 at the full rate of the multiply-add units: tiles of A and B go to shared memory by
// asynchronous copies, several tiles ahead; a thread makes THREAD_M x THREAD_N elements of C from
// fragments that it reads one step ahead. Any strides.
//
// THREAD_M, THREAD_N: multiples of 4. WARPS_M, WARPS_N; a warp is 4 x 8 threads. DEPTH: terms of a
// tile, STAGES: tiles in shared memory. A_COPY, B_COPY: how an operand is copied (kinds below).
// BLOCKS: at least so many at a time on a multiprocessor. CLUSTER_K: blocks of a cluster that share
// a tile's k, or 1.
#include "ops/matmul/cuda/async_copy.cuh"
#include "ops/matmul/cuda/cluster_parts.cuh"
#include "ops/matmul/cuda/split.h"
#include "ops/matmul/cuda/tile_order.cuh"

using rooftune::SplitArgs;

constexpr int kThreads = 32 * WARPS_M * WARPS_N;
constexpr int kTileM = WARPS_M * 4 * THREAD_M;
constexpr int kTileN = WARPS_N * 8 * THREAD_N;
constexpr int kFours = THREAD_N / 4;  // of neighbouring columns, in each of a thread's rows

// In shared memory a tile has its terms one below the other: row p holds the tile's m (or n)
// elements of term p. With 4 words beside each row, the 8 terms by 4 elements that a warp copies
// from an operand whose terms are contiguous fall into 32 banks.
constexpr int kPitchA = kTileM + 4;
constexpr int kPitchB = kTileN + 4;
constexpr int kStageFloats = DEPTH * (kPitchA + kPitchB);

__device__ __forceinline__ void store_shared(uint32 to, float value) {
  asm volatile("st.shared.f32 [%0], %1;" ::"r"(to), "f"(value));
}

// How a tile is copied. Neighbouring threads take neighbouring
//   0: terms, whose stride is 1, 4 bytes each;
//   1: elements of a term, of any stride, 4 bytes each;
//   2: fours of elements of a term, 16 bytes;
//   3: fours of terms, 16 bytes, through registers.
// Elements beyond the matrix are copies of its last: what is made of them is not stored. Terms
// beyond the last are zeros.
template <int kKind, int kTile>
struct TileCopy {
  static constexpr int kPitch = kTile + 4;
  static constexpr int kWidth = kKind == 2 ? 4 : 1;
  // Threads beside each other in a term, and the elements that a thread copies of each term.
  static constexpr int kBeside = kKind == 0 ? kThreads / 8 : kTile / kWidth;
  static constexpr int kElements = kKind == 0 ? kTile / kBeside : 1;
  static constexpr int kTermStep = kKind == 0 ? 8 : kThreads / kBeside;
  static_assert(kTile % kBeside == 0 && DEPTH % kTermStep == 0, "threads divide a tile");

  const float* from;      // this thread's first element
  int offset[kElements];  // of its elements, from there
  int64 step;             // to its next term in the tile
  uint32 to;
  int term;

  __device__ __forceinline__ TileCopy(const float* matrix, int64 stride, int64 term_stride,
                                      int64 first, int64 count, int64 first_term, uint32 shared) {
    const int thread = threadIdx.x;
    int element;
    if constexpr (kKind == 0) {
      term = thread % 8;
      element = thread / 8;
    } else {
      term = thread / kBeside;
      element = thread % kBeside * kWidth;
    }
    const int64 last = count - kWidth;
    const int64 place = min(first + element, last);
#pragma unroll
    for (int e = 0; e < kElements; ++e) {
      offset[e] = int((min(first + element + e * kBeside, last) - place) * stride);
    }
    from = matrix + place * stride + (first_term + term) * term_stride;
    step = kKind == 0 ? 8 : kTermStep * term_stride;
    to = shared + (term * kPitch + element) * 4;
  }

  // Begins to copy the next tile, of which `left` terms exist.
  __device__ __forceinline__ void next(uint32 stage, int left) {
#pragma unroll
    for (int d = 0; d < DEPTH / kTermStep; ++d) {
      const bool valid = term + d * kTermStep < left;
#pragma unroll
      for (int e = 0; e < kElements; ++e) {
        copy_async<4 * kWidth>(stage + to + (d * kTermStep * kPitch + e * kBeside) * 4,
                               from + offset[e], valid);
      }
      from += step;
    }
  }
  // What next() began and the hardware does not end by itself.
  __device__ __forceinline__ void finish(uint32) {}
};

// Asynchronous copies can transpose single words only, four times as many as these loads.
template <int kTile>
struct TileCopy<3, kTile> {
  static constexpr int kPitch = kTile + 4;
  static constexpr int kBeside = DEPTH / 4;
  static constexpr int kOver = kThreads / kBeside;
  static constexpr int kElements = kTile / kOver;
  static_assert(kTile % kOver == 0, "threads divide a tile");

  const float* from;
  int offset[kElements];
  uint32 to;
  int term;
  float4 held[kElements];

  __device__ __forceinline__ TileCopy(const float* matrix, int64 stride, int64, int64 first,
                                      int64 count, int64 first_term, uint32 shared) {
    term = threadIdx.x % kBeside * 4;
    const int element = threadIdx.x / kBeside;
    const int64 place = min(first + element, count - 1);
#pragma unroll
    for (int e = 0; e < kElements; ++e) {
      offset[e] = int((min(first + element + e * kOver, count - 1) - place) * stride);
    }
    from = matrix + place * stride + first_term + term;
    to = shared + (term * kPitch + element) * 4;
  }

  __device__ __forceinline__ void next(uint32, int left) {
#pragma unroll
    for (int e = 0; e < kElements; ++e) {
      held[e] =
          term < left ? *reinterpret_cast<const float4*>(from + offset[e]) : float4{0, 0, 0, 0};
    }
    from += DEPTH;
  }
  __device__ __forceinline__ void finish(uint32 stage) {
#pragma unroll
    for (int e = 0; e < kElements; ++e) {
      const uint32 at = stage + to + e * kOver * 4;
      store_shared(at, held[e].x);
      store_shared(at + kPitch * 4, held[e].y);
      store_shared(at + 2 * kPitch * 4, held[e].z);
      store_shared(at + 3 * kPitch * 4, held[e].w);
    }
  }
};

// What a thread needs of a term.
struct Fragment {
  float a[THREAD_M], b[THREAD_N];

  __device__ __forceinline__ void read(const float* a_from, const float* b_from) {
#pragma unroll
    for (int i = 0; i < THREAD_M; i += 4) {
      const float4 four = *reinterpret_cast<const float4*>(a_from + i * 4);
      a[i] = four.x, a[i + 1] = four.y, a[i + 2] = four.z, a[i + 3] = four.w;
    }
#pragma unroll
    for (int j = 0; j < THREAD_N; j += 4) {
      const float4 four = *reinterpret_cast<const float4*>(b_from + j * 8);
      b[j] = four.x, b[j + 1] = four.y, b[j + 2] = four.z, b[j + 3] = four.w;
    }
  }
};

// A chain of k multiply-adds in f32 can lose k rounding errors; after this many terms the sums are
// added to totals in shared memory, which costs less than 1 % of the time.
constexpr int kTilesOfPart = 512 / DEPTH;

// Where a thread's fours of totals lie after its first. Each thread has its own, side by side with
// those of other threads; blocks of a cluster, who read each other's, have the tile's rows, with 4
// words beside each.
constexpr int kPitch = kTileN + 4;
constexpr int row_of(int i) { return i / 4 * 16 + i % 4; }  // of a thread's, after its first
constexpr int total_at(int i) {
  return CLUSTER_K > 1 ? (row_of(i / kFours) * kPitch + i % kFours * 32) / 4 : i * kThreads;
}

extern "C" __global__ void ROOFTUNE_CLUSTER __launch_bounds__(kThreads, BLOCKS)
    rooftune_kernel(const __grid_constant__ SplitArgs args) {
  extern __shared__ float4 shared_memory[];
  float* const shared = reinterpret_cast<float*>(shared_memory);
  const rooftune::StridedArgs& product = args.product;
  const TilePlace place = tile_place<CLUSTER_K>(args);
  const rooftune::BatchPlace batch = batch_place(product, place.batch);
  const int64 first_m = int64(place.tile_m) * kTileM;
  const int64 first_n = int64(place.tile_n) * kTileN;
  const int64 first_term = place.split * args.terms;
  int left = int(min(product.k - first_term, args.terms));  // terms not yet being copied
  int tiles = (left + DEPTH - 1) / DEPTH;
  // A block of a cluster that has no terms has sums all the same: a tile of zeros makes them.
  if (CLUSTER_K > 1 && tiles < 1) tiles = 1;

  const uint32 stages = shared_address(shared);
  TileCopy<A_COPY, kTileM> copy_a(static_cast<const float*>(product.a) + batch.a, product.a_row,
                                  product.a_col, first_m, product.m, first_term, stages);
  TileCopy<B_COPY, kTileN> copy_b(static_cast<const float*>(product.b) + batch.b, product.b_col,
                                  product.b_row, first_n, product.n, first_term,
                                  stages + DEPTH * kPitchA * 4);
  // Beyond the last tile this copies nothing: a branch would keep the compiler from mixing the copy
  // with arithmetic.
  const auto copy_tile = [&](uint32 stage) {
    copy_a.next(stage, left);
    copy_b.next(stage, left);
    left -= DEPTH;
    commit_copies();
  };

  // Bit 0 of the lane counts in m and bit 1 in n, so that both fragments have pairs of lanes with
  // one address, which lets 16-byte reads of half a warp go together.
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int lane_m = (lane & 1) | (lane >> 1 & 2);
  const int lane_n = (lane >> 1 & 1) | (lane >> 2 & 6);
  const int m = warp / WARPS_N * 4 * THREAD_M + lane_m * 4;
  const int n = warp % WARPS_N * 8 * THREAD_N + lane_n * 4;

  uint32 write = 0;
#pragma unroll
  for (int s = 0; s < STAGES - 1; ++s) {
    copy_tile(write);
    copy_a.finish(write);
    copy_b.finish(write);
    write += kStageFloats * 4;
  }
  wait_for_copies<STAGES - 2>();
  __syncthreads();

  float sum[THREAD_M][THREAD_N] = {};
  float4* const totals = shared_memory + STAGES * kStageFloats / 4 +
                         (CLUSTER_K > 1 ? (m * kPitch + n) / 4 : threadIdx.x);
  bool has_totals = false;
  int until_fold = kTilesOfPart;

  Fragment fragments[2];
  const float* read_a = shared + m;
  const float* read_b = shared + DEPTH * kPitchA + n;
  int read = 0;
  fragments[0].read(read_a, read_b);
#pragma unroll 1
  for (int tile = 0; tile < tiles; ++tile) {
#pragma unroll
    for (int p = 0; p < DEPTH; ++p) {
      if (p == DEPTH - 1) {
        wait_for_copies<STAGES - 2>();
        __syncthreads();
        const bool wraps = ++read == STAGES;
        if (wraps) read = 0;
        const int on = wraps ? -(STAGES - 1) * kStageFloats : kStageFloats;
        read_a += on;
        read_b += on;
      }
      const int next = (p + 1) % DEPTH;
      fragments[(p + 1) % 2].read(read_a + next * kPitchA, read_b + next * kPitchB);
      if (p == 0) copy_tile(write);
      if (p == DEPTH - 2) {
        copy_a.finish(write);
        copy_b.finish(write);
        write = write == (STAGES - 1) * kStageFloats * 4 ? 0 : write + kStageFloats * 4;
      }
      const Fragment& now = fragments[p % 2];
#pragma unroll
      for (int i = 0; i < THREAD_M; ++i) {
#pragma unroll
        for (int j = 0; j < THREAD_N; ++j) {
          sum[i][j] = __fmaf_rn(now.a[i], now.b[j], sum[i][j]);
        }
      }
    }
    if (--until_fold == 0 || tile + 1 == tiles) {
      until_fold = kTilesOfPart;
#pragma unroll
      for (int i = 0; i < THREAD_M * kFours; ++i) {
        float* const four = &sum[i / kFours][i % kFours * 4];
        float4 total{0, 0, 0, 0};
        if (has_totals) total = totals[total_at(i)];
        totals[total_at(i)] = {total.x + four[0], total.y + four[1], total.z + four[2],
                               total.w + four[3]};
        four[0] = four[1] = four[2] = four[3] = 0;
      }
      has_totals = true;
    }
  }

  if constexpr (CLUSTER_K > 1) {
    ClusterParts<float, kTileM, kTileN, kPitch, kThreads>{
        product,     static_cast<float*>(product.c) + batch.c, first_m, first_n,
        place.split, stages + STAGES * kStageFloats * 4}
        .write();
    return;
  }

  // To C, or to this part's sums, which lie row by row.
  const bool split = args.partials != nullptr;
  const float alpha = split ? 1.0f : float(product.alpha);
  const float beta = split ? 0.0f : float(product.beta);
  const int64 c_row = split ? product.n : product.c_row;
  const int64 c_col = split ? 1 : product.c_col;
  float* const c = split ? static_cast<float*>(args.partials) +
                               (place.split * product.batch + place.batch) * product.m * product.n
                         : static_cast<float*>(product.c) + batch.c;
  // Whether every four that begins at a multiple of 4 is a 16-byte word.
  const bool fours = c_col == 1 && (c_row & 3) == 0 && (product.n & 3) == 0 &&
                     (reinterpret_cast<uint64>(c) & 15) == 0;
  // The totals are in shared memory, so this need not be unrolled to be fast: compiling it would
  // take longer than the rest.
  if (fours) {
#pragma unroll 2
    for (int at = 0; at < THREAD_M * kFours; ++at) {
      const int i = at / kFours;
      const int64 row = first_m + m + row_of(i);
      const int64 column = first_n + n + at % kFours * 32;
      if (row >= product.m || column >= product.n) continue;
      const float4 total = totals[at * kThreads];
      float4 value = {alpha * total.x, alpha * total.y, alpha * total.z, alpha * total.w};
      float4* const to = reinterpret_cast<float4*>(c + row * c_row + column);
      if (beta != 0) {
        const float4 old = *to;
        value.x = __fmaf_rn(beta, old.x, value.x);
        value.y = __fmaf_rn(beta, old.y, value.y);
        value.z = __fmaf_rn(beta, old.z, value.z);
        value.w = __fmaf_rn(beta, old.w, value.w);
      }
      *to = value;
    }
    return;
  }
  // Single words: a warp takes 32 neighbouring columns of a row from the threads that have them, or
  // its stores would go to four times as many places.
  __syncwarp();
  const int from_n = lane / 4;
  const float* const from = reinterpret_cast<const float*>(totals) +
                            4 * (((from_n & 1) << 1 | (from_n & 6) << 2) - lane) + lane % 4;
#pragma unroll 4
  for (int at = 0; at < 4 * THREAD_M * kFours; ++at) {
    const int r = at / kFours;
    const int from_m = r / 4 % 4;
    const int64 row = first_m + warp / WARPS_N * 4 * THREAD_M + r;
    const int64 column = first_n + warp % WARPS_N * 8 * THREAD_N + at % kFours * 32 + lane;
    if (row >= product.m || column >= product.n) continue;
    const int i = r / 16 * 4 + r % 4;
    const int owner = (from_m & 1) | (from_m & 2) << 1;
    float value = alpha * from[((i * kFours + at % kFours) * kThreads + owner) * 4];
    float* const to = c + row * c_row + column * c_col;
    if (beta != 0) value = __fmaf_rn(beta, *to, value);
    *to = value;
  }
}
