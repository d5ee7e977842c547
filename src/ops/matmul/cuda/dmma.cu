// f64 on tensor cores: tiles of A and B go to shared memory by asynchronous copies, several tiles
// ahead; a warp makes WARP_M x WARP_N elements of C. Any strides.
//
// WARP_M, WARP_N: multiples of 16. WARPS_M, WARPS_N: warps of a block. STAGES: tiles in shared
// memory. A_COPY, B_COPY: how an operand is copied (kinds below). BLOCKS: at least so many at a
// time on a multiprocessor. CLUSTER_K: blocks of a cluster that share a tile's k, or 1.
#include "ops/matmul/cuda/async_copy.cuh"
#include "ops/matmul/cuda/cluster_parts.cuh"
#include "ops/matmul/cuda/split.h"
#include "ops/matmul/cuda/tile_order.cuh"

using rooftune::SplitArgs;

constexpr int kThreads = 32 * WARPS_M * WARPS_N;
constexpr int kTileM = WARPS_M * WARP_M;
constexpr int kTileN = WARPS_N * WARP_N;
constexpr int kDepth = 16;  // terms of a tile: a row of 128 bytes, all banks

// How a tile is copied, and lies in shared memory. Neighbouring threads take neighbouring
//   0: terms, whose stride is 1, 8 bytes each;   3: pairs of terms, 16 bytes;
//   1: elements of a term, of any stride, 8 bytes each;   2: pairs of elements of a term, 16 bytes.
// Kinds 0 and 3 make rows of 16 terms for each element, whose 32-byte pieces change places with the
// element's number; 1 and 2 rows of elements for each term, 4 longer than a tile. Both let half a
// warp, which reads 4 terms of 4 elements, reach 32 different banks.
// Elements beyond the matrix are copies of its last: what is made of them is not stored. Terms
// beyond the last are zeros.
constexpr bool in_rows_of_terms(int kind) { return kind == 0 || kind == 3; }
constexpr int stage_doubles(int kind, int tile) {
  return kDepth * (in_rows_of_terms(kind) ? tile : tile + 4);
}
constexpr int kStageA = stage_doubles(A_COPY, kTileM);
constexpr int kStageBytes = (kStageA + stage_doubles(B_COPY, kTileN)) * 8;

// In doubles, of an element and a term in a tile.
template <int kKind, int kTile>
__device__ __forceinline__ int place_in_stage(int element, int term) {
  if constexpr (in_rows_of_terms(kKind)) {
    return element * kDepth + (term / 4 ^ element % 4) * 4 + term % 4;
  } else {
    return term * (kTile + 4) + element;
  }
}

template <int kKind, int kTile>
struct TileCopy {
  static constexpr bool kTerms = in_rows_of_terms(kKind);
  static constexpr int kWidth = kKind >= 2 ? 2 : 1;
  static constexpr int kBeside = (kTerms ? kDepth : kTile) / kWidth;  // threads
  static constexpr int kOver = kThreads / kBeside;
  static constexpr int kElements = kTerms ? kTile / kOver : 1;
  static constexpr int kTermRows = kTerms ? 1 : kDepth / kOver;
  static_assert(kThreads % kBeside == 0 && (!kTerms || kOver % 2 == 0), "threads divide a tile");

  const double* from;     // this thread's first element
  int offset[kElements];  // of its elements, from there
  int64 step;             // to its next term
  uint32 to;
  int term;

  __device__ __forceinline__ TileCopy(const double* matrix, int64 stride, int64 term_stride,
                                      int64 first, int64 count, int64 first_term, uint32 shared) {
    const int beside = threadIdx.x % kBeside * kWidth;
    const int over = threadIdx.x / kBeside;
    const int element = kTerms ? over : beside;
    term = kTerms ? beside : over;
    const int64 last = count - (kTerms ? 1 : kWidth);
    const int64 place = min(first + element, last);
#pragma unroll
    for (int e = 0; e < kElements; ++e) {
      offset[e] = int((min(first + element + e * kOver, last) - place) * stride);
    }
    from = matrix + place * stride + (first_term + term) * term_stride;
    step = (kTerms ? kDepth : kOver) * term_stride;
    to = shared + place_in_stage<kKind, kTile>(element, term) * 8;
  }

  // Copies the next tile, of which `left` terms exist.
  __device__ __forceinline__ void next(uint32 stage, int left) {
#pragma unroll
    for (int d = 0; d < kTermRows; ++d) {
      const bool valid = term + d * kOver < left;
#pragma unroll
      for (int e = 0; e < kElements; ++e) {
        // Two elements on, the other pair of 32-byte pieces comes first.
        const uint32 turn = kTerms && e * kOver % 4 != 0 ? 64 : 0;
        const int place = kTerms ? e * kOver * kDepth : d * kOver * (kTile + 4);
        copy_async<8 * kWidth>(((stage + to) ^ turn) + place * 8, from + offset[e], valid);
      }
      from += step;
    }
  }
};

// A thread's reads: its element is lane / 4 and its term lane % 4, beyond multiples of 8 and of 4.
template <int kKind, int kTile>
struct TileRead {
  int place[kDepth / 4];  // of its element 0 and each four of terms

  __device__ __forceinline__ explicit TileRead(int element) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int four = 0; four < kDepth / 4; ++four) {
      place[four] = place_in_stage<kKind, kTile>(element + lane / 4, four * 4 + lane % 4);
    }
  }
  __device__ __forceinline__ double get(const double* stage, int element, int term) const {
    return stage[place[term / 4] + element * (in_rows_of_terms(kKind) ? kDepth : 1)];
  }
};

// Sums of 16 x 8 elements, 8 terms: a[s][h] is row lane / 4 + 8 h and term lane % 4 + 4 s, b[s] the
// column lane / 4 and the same term; sum[h][i] is of that row and the column lane % 4 * 2 + i.
// The registers of a and b are in the order in which the instruction wants them side by side.
__device__ __forceinline__ void multiply(double (&sum)[2][2], const double (&a)[2][2],
                                         const double (&b)[2]) {
#if __CUDA_ARCH__ >= 900
  asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+d"(sum[0][0]), "+d"(sum[0][1]), "+d"(sum[1][0]), "+d"(sum[1][1])
      : "d"(a[0][0]), "d"(a[0][1]), "d"(a[1][0]), "d"(a[1][1]), "d"(b[0]), "d"(b[1]));
#else
#pragma unroll
  for (int s = 0; s < 2; ++s) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
          : "+d"(sum[h][0]), "+d"(sum[h][1])
          : "d"(a[s][h]), "d"(b[s]));
    }
  }
#endif
}

// Sums that the blocks of a cluster exchange, over the stages, in rows. With 64 bytes beside each,
// 8 threads, which write 64 bytes of each of 2 rows at a time, reach 32 different banks.
constexpr int kPitch = kTileN + 8;
static_assert(CLUSTER_K == 1 || kTileM * kPitch * 8 <= STAGES * kStageBytes, "sums in the stages");

extern "C" __global__ void ROOFTUNE_CLUSTER __launch_bounds__(kThreads, BLOCKS)
    rooftune_kernel(const __grid_constant__ SplitArgs args) {
  extern __shared__ __align__(128) double2 shared_memory[];
  double* const shared = reinterpret_cast<double*>(shared_memory);
  const rooftune::StridedArgs& product = args.product;
  const TilePlace place = tile_place<CLUSTER_K>(args);
  const rooftune::BatchPlace batch = batch_place(product, place.batch);
  const int64 first_m = int64(place.tile_m) * kTileM;
  const int64 first_n = int64(place.tile_n) * kTileN;
  const int64 first_term = place.split * args.terms;
  int left = int(min(product.k - first_term, args.terms));  // terms not yet being copied
  const int tiles = (left + kDepth - 1) / kDepth;

  const uint32 stages = shared_address(shared);
  TileCopy<A_COPY, kTileM> copy_a(static_cast<const double*>(product.a) + batch.a, product.a_row,
                                  product.a_col, first_m, product.m, first_term, stages);
  TileCopy<B_COPY, kTileN> copy_b(static_cast<const double*>(product.b) + batch.b, product.b_col,
                                  product.b_row, first_n, product.n, first_term,
                                  stages + kStageA * 8);
  // Beyond the last tile this copies nothing: a branch would keep the compiler from mixing the copy
  // with arithmetic.
  const auto copy_tile = [&](uint32 stage) {
    copy_a.next(stage, left);
    copy_b.next(stage, left);
    left -= kDepth;
    commit_copies();
  };

  const int warp = threadIdx.x / 32;
  const int m = warp / WARPS_N * WARP_M;
  const int n = warp % WARPS_N * WARP_N;

  uint32 write = 0;
#pragma unroll
  for (int s = 0; s < STAGES - 1; ++s) {
    copy_tile(write);
    write += kStageBytes;
  }

  const TileRead<A_COPY, kTileM> read_a(m);
  const TileRead<B_COPY, kTileN> read_b(n);
  double sum[WARP_M / 16][WARP_N / 8][2][2] = {};
  int read = 0;
#pragma unroll 1
  for (int tile = 0; tile < tiles; ++tile) {
    wait_for_copies<STAGES - 2>();
    __syncthreads();
    const double* const stage = shared + read;
    read = read == (STAGES - 1) * (kStageBytes / 8) ? 0 : read + kStageBytes / 8;
#pragma unroll
    for (int term = 0; term < kDepth; term += 8) {
      double a[WARP_M / 16][2][2], b[WARP_N / 8][2];
#pragma unroll
      for (int s = 0; s < 2; ++s) {
#pragma unroll
        for (int i = 0; i < WARP_M / 8; ++i) {
          a[i / 2][s][i % 2] = read_a.get(stage, i * 8, term + s * 4);
        }
#pragma unroll
        for (int j = 0; j < WARP_N / 8; ++j)
          b[j][s] = read_b.get(stage + kStageA, j * 8, term + s * 4);
      }
#pragma unroll
      for (int i = 0; i < WARP_M / 16; ++i) {
#pragma unroll
        for (int j = 0; j < WARP_N / 8; ++j) multiply(sum[i][j], a[i], b[j]);
      }
      if (term == 0) {
        copy_tile(write);
        write = write == (STAGES - 1) * kStageBytes ? 0 : write + kStageBytes;
      }
    }
  }

  const int lane = threadIdx.x % 32;
  if constexpr (CLUSTER_K > 1) {
    // The last copies bring nothing but zeros; and all have read the last tile.
    wait_for_copies<0>();
    __syncthreads();
#pragma unroll
    for (int i = 0; i < WARP_M / 8; ++i) {
      double* const row = shared + (m + i * 8 + lane / 4) * kPitch + n + lane % 4 * 2;
#pragma unroll
      for (int j = 0; j < WARP_N / 8; ++j) {
        *reinterpret_cast<double2*>(row + j * 8) = {sum[i / 2][j][i % 2][0],
                                                    sum[i / 2][j][i % 2][1]};
      }
    }
    ClusterParts<double, kTileM, kTileN, kPitch, kThreads>{
        product, static_cast<double*>(product.c) + batch.c, first_m, first_n, place.split, stages}
        .write();
    return;
  }

  // To C, or to this part's sums, which lie row by row.
  const bool split = args.partials != nullptr;
  const double alpha = split ? 1.0 : product.alpha;
  const double beta = split ? 0.0 : product.beta;
  const int64 c_row = split ? product.n : product.c_row;
  const int64 c_col = split ? 1 : product.c_col;
  double* const c = split ? static_cast<double*>(args.partials) +
                                (place.split * product.batch + place.batch) * product.m * product.n
                          : static_cast<double*>(product.c) + batch.c;
  const bool pairs = c_col == 1 && (c_row & 1) == 0 && (product.n & 1) == 0 &&
                     (reinterpret_cast<uint64>(c) & 15) == 0;
#pragma unroll
  for (int i = 0; i < WARP_M / 8; ++i) {
    const int64 row = first_m + m + i * 8 + lane / 4;
    if (row >= product.m) continue;
    double* const to_row = c + row * c_row;
#pragma unroll
    for (int j = 0; j < WARP_N / 8; ++j) {
      const int64 column = first_n + n + j * 8 + lane % 4 * 2;
      double2 value = {alpha * sum[i / 2][j][i % 2][0], alpha * sum[i / 2][j][i % 2][1]};
      if (pairs) {
        if (column >= product.n) continue;
        double2* const to = reinterpret_cast<double2*>(to_row + column);
        if (beta != 0) {
          const double2 old = *to;
          value.x = __fma_rn(beta, old.x, value.x);
          value.y = __fma_rn(beta, old.y, value.y);
        }
        *to = value;
      } else {
        double* const to = to_row + column * c_col;
        if (column < product.n) *to = beta != 0 ? __fma_rn(beta, *to, value.x) : value.x;
        if (column + 1 < product.n) {
          to[c_col] = beta != 0 ? __fma_rn(beta, to[c_col], value.y) : value.y;
        }
      }
    }
  }
}
