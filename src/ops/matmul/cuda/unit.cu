// The reference's thread tiles, any types and strides: a tile of A and one of B go through
// registers to shared memory, in the type of the sums, and a thread makes THREAD_M x THREAD_N
// elements of C.
//
// THREADS_M, THREADS_N: threads of a block. DEPTH: terms of a tile. BUFFERS 1: load, wait,
// multiply; 2: the next tile is loaded to registers before the present one is multiplied.
#include "ops/matmul/cuda/scalar.cuh"
#include "ops/matmul/cuda/split.h"
#include "ops/matmul/cuda/tile_order.cuh"

constexpr int kThreads = THREADS_M * THREADS_N;
constexpr int kTileM = THREADS_M * THREAD_M;
constexpr int kTileN = THREADS_N * THREAD_N;

// One operand: `element` counts along m or n, `term` along k.
template <class T, int kTile>
struct TileLoad {
  static constexpr int kCount = kTile * DEPTH / kThreads;
  static_assert(kTile * DEPTH % kThreads == 0, "threads divide a tile");

  const T* matrix;
  int64 stride, term_stride;
  int64 elements;    // that exist, from the tile's first
  bool terms_first;  // neighbouring threads take neighbouring terms
  Sum held[BUFFERS == 2 ? kCount : 1];

  __device__ __forceinline__ int element(int i) const {
    const int at = threadIdx.x + i * kThreads;
    return terms_first ? at / DEPTH : at % kTile;
  }
  __device__ __forceinline__ int term(int i) const {
    const int at = threadIdx.x + i * kThreads;
    return terms_first ? at % DEPTH : at / kTile;
  }
  __device__ __forceinline__ Sum one(int i, int64 begin, int64 end) const {
    const int64 p = begin + term(i);
    if (element(i) >= elements || p >= end) return Sum(0);
    return widen<Sum>(::load(matrix + element(i) * stride + p * term_stride));
  }
  __device__ __forceinline__ void load(int64 begin, int64 end) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) held[i] = one(i, begin, end);
  }
  // With a word beside each row of terms, threads that store neighbouring terms use other banks.
  __device__ __forceinline__ void put(Sum (*tile)[kTile + 1]) const {
#pragma unroll
    for (int i = 0; i < kCount; ++i) tile[term(i)][element(i)] = held[i];
  }
  __device__ __forceinline__ void copy(Sum (*tile)[kTile + 1], int64 begin, int64 end) const {
#pragma unroll 8
    for (int i = 0; i < kCount; ++i) tile[term(i)][element(i)] = one(i, begin, end);
  }
};

extern "C" __global__ void __launch_bounds__(kThreads)
    rooftune_kernel(const __grid_constant__ rooftune::SplitArgs args) {
  // Of f32 sums, a chain of so many terms loses too many rounding errors: after these the sums are
  // added to totals in shared memory.
  constexpr int kTilesOfPart = 512 / DEPTH;
  extern __shared__ double shared_memory[];
  Sum* const totals = reinterpret_cast<Sum*>(shared_memory) + threadIdx.x;
  __shared__ Sum tile_a[BUFFERS][DEPTH][kTileM + 1];
  __shared__ Sum tile_b[BUFFERS][DEPTH][kTileN + 1];

  const rooftune::StridedArgs& product = args.product;
  const TilePlace place = tile_place(args);
  const rooftune::BatchPlace batch = batch_place(product, place.batch);
  const int64 first_m = int64(place.tile_m) * kTileM;
  const int64 first_n = int64(place.tile_n) * kTileN;
  TileLoad<A, kTileM> a;
  a.matrix = static_cast<const A*>(product.a) + batch.a + first_m * product.a_row;
  a.stride = product.a_row;
  a.term_stride = product.a_col;
  a.elements = product.m - first_m;
  a.terms_first = product.a_col == 1;
  TileLoad<B, kTileN> b;
  b.matrix = static_cast<const B*>(product.b) + batch.b + first_n * product.b_col;
  b.stride = product.b_col;
  b.term_stride = product.b_row;
  b.elements = product.n - first_n;
  b.terms_first = product.b_row == 1;

  const int m = threadIdx.x / THREADS_N;
  const int n = threadIdx.x % THREADS_N;
  Sum sum[THREAD_M][THREAD_N] = {};
  bool has_totals = false;
  int until_fold = kTilesOfPart;
  int buffer = 0;
  if (BUFFERS == 2) {
    a.load(0, product.k);
    b.load(0, product.k);
    a.put(tile_a[0]);
    b.put(tile_b[0]);
  }
#pragma unroll 1
  for (int64 begin = 0; begin < product.k; begin += DEPTH) {
    if (BUFFERS == 1) {
      __syncthreads();
      a.copy(tile_a[0], begin, product.k);
      b.copy(tile_b[0], begin, product.k);
    }
    __syncthreads();
    if (BUFFERS == 2) {
      a.load(begin + DEPTH, product.k);
      b.load(begin + DEPTH, product.k);
    }
    // Thread (m, n) has every THREADS_M-th row and every THREADS_N-th column.
#pragma unroll 2
    for (int p = 0; p < DEPTH; ++p) {
      Sum from_a[THREAD_M], from_b[THREAD_N];
#pragma unroll
      for (int i = 0; i < THREAD_M; ++i) from_a[i] = tile_a[buffer][p][m + i * THREADS_M];
#pragma unroll
      for (int j = 0; j < THREAD_N; ++j) from_b[j] = tile_b[buffer][p][n + j * THREADS_N];
#pragma unroll
      for (int i = 0; i < THREAD_M; ++i) {
#pragma unroll
        for (int j = 0; j < THREAD_N; ++j) {
          sum[i][j] = multiply_add(from_a[i], from_b[j], sum[i][j]);
        }
      }
    }
    if (BUFFERS == 2) {
      // Nobody reads the other buffer: all have passed the barrier after its last use.
      buffer ^= 1;
      a.put(tile_a[buffer]);
      b.put(tile_b[buffer]);
    }
    if (--until_fold == 0 || begin + DEPTH >= product.k) {
      until_fold = kTilesOfPart;
#pragma unroll
      for (int i = 0; i < THREAD_M * THREAD_N; ++i) {
        Sum& one = sum[i / THREAD_N][i % THREAD_N];
        totals[i * kThreads] = has_totals ? plus(totals[i * kThreads], one) : one;
        one = 0;
      }
      has_totals = true;
    }
  }

  const Sum alpha = scalar<Sum>(product.alpha);
  const Sum beta = scalar<Sum>(product.beta);
#pragma unroll 1
  for (int i = 0; i < THREAD_M * THREAD_N; ++i) {
    const int64 row = first_m + m + i / THREAD_N * THREADS_M;
    const int64 column = first_n + n + i % THREAD_N * THREADS_N;
    if (row < product.m && column < product.n) {
      update(static_cast<C*>(product.c) + batch.c + row * product.c_row + column * product.c_col,
             totals[i * kThreads], alpha, beta);
    }
  }
}
