// Some vectors of f64 against a matrix at the memory's rate: as stream_mma.cu, with the instruction
// that multiplies 8 rows by 8 vectors and four terms, one of each lane along k. It rounds as
// ordinary arithmetic does.
#include "ops/matmul/cuda/stream.cuh"

constexpr int kVectorTiles = (VECTORS + 7) / 8;

__device__ __forceinline__ void mma(double (&c)[2], double w, double x) {
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
      : "+d"(c[0]), "+d"(c[1])
      : "d"(w), "d"(x));
}
__device__ __forceinline__ double value(const uint32* words, int i) {
  return __hiloint2double(int(words[2 * i + 1]), int(words[2 * i]));
}

struct Product {
#if COLUMNS
  static constexpr int kTerms = 4, kLoads = 4, kTiles = 2;
#else
  static constexpr int kTerms = 2, kLoads = 2 * ROW_GROUPS, kTiles = kLoads;
#endif
  double sums[kTiles][kVectorTiles][2] = {};

  template <bool kGuard>
  __device__ __forceinline__ void multiply(const Words (&w)[kLoads],
                                           const rooftune::StreamArgs& args, const Place& place,
                                           const XElement* from, int64 k) {
#pragma unroll
    for (int t = 0; t < kVectorTiles; ++t) {
      const int64 v = at_most(t * 8 + place.lane_r, args.vectors - 1);
      uint32 x[2 * kTerms];
      load_x<kGuard, kTerms>(x, args, from + v * args.x_v, k);
#pragma unroll
      for (int p = 0; p < kTerms; ++p) {
#pragma unroll
        for (int m = 0; m < kTiles; ++m)
          mma(sums[m][t],
              COLUMNS ? value(w[p % kLoads].word, m % 2) : value(w[m % kLoads].word, p % 2),
              value(x, p));
      }
    }
  }

  __device__ __forceinline__ void write(const Place& place, int round) const {
#pragma unroll
    for (int m = 0; m < kTiles; ++m) {
#pragma unroll
      for (int t = 0; t < kVectorTiles; ++t) {
#pragma unroll
        for (int i = 0; i < 2; ++i)
          sum_at(round, threadIdx.x / 32, t * 8 + place.lane_k * 2 + i,
                 COLUMNS ? place.lane_r * kElements + m : m * 8 + place.lane_r) = sums[m][t][i];
      }
    }
  }
};

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) ROOFTUNE_CLUSTER
    rooftune_kernel(const __grid_constant__ rooftune::StreamArgs args) {
  stream<Product>(args);
}
