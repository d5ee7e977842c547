// A few vectors of f32 or f64 against a matrix at the memory's rate. Four lanes of a warp lie along
// k and eight along the rows, so that all eight read the same 16 bytes of x at once.
#include "ops/matmul/cuda/stream.cuh"

__device__ __forceinline__ float value(const uint32* words, int i, float) {
  return __uint_as_float(words[i]);
}
__device__ __forceinline__ double value(const uint32* words, int i, double) {
  return __hiloint2double(int(words[2 * i + 1]), int(words[2 * i]));
}

struct Product {
#if COLUMNS
  // A lane has kElements neighbouring rows and four neighbouring terms.
  static constexpr int kTerms = 4, kLoads = 4, kRows = kElements;
#else
  // A lane has some rows, eight apart, and kElements neighbouring terms.
  static constexpr int kTerms = kElements, kLoads = 2 * ROW_GROUPS, kRows = kLoads;
#endif
  Sum sums[kRows][VECTORS] = {};

  // Row r of the lane, term p.
  __device__ __forceinline__ static Sum element(const Words (&w)[kLoads], int r, int p) {
    return COLUMNS ? value(w[p % kLoads].word, r, Sum()) : value(w[r % kLoads].word, p, Sum());
  }

  template <bool kGuard>
  __device__ __forceinline__ void multiply(const Words (&w)[kLoads],
                                           const rooftune::StreamArgs& args, const Place&,
                                           const XElement* from, int64 k) {
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
      uint32 x[kTerms * sizeof(XElement) / 4];
      load_x<kGuard, kTerms>(x, args, from, k);
#pragma unroll
      for (int p = 0; p < kTerms; ++p) {
#pragma unroll
        for (int r = 0; r < kRows; ++r) sums[r][v] += element(w, r, p) * value(x, p, Sum());
      }
      // One pointer that moves, to spare registers.
      if (v + 1 < args.vectors) from += args.x_v;
    }
  }

  __device__ __forceinline__ void write(const Place& place, int round) const {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
#pragma unroll
      for (int v = 0; v < VECTORS; ++v) {
        Sum sum = sums[r][v];
        sum += __shfl_xor_sync(0xffffffff, sum, 1);
        sum += __shfl_xor_sync(0xffffffff, sum, 2);
        // Each of the four lanes has it; they take turns to write.
        if (place.lane_k == (r * VECTORS + v) % 4)
          sum_at(round, threadIdx.x / 32, v,
                 COLUMNS ? place.lane_r * kElements + r : r * 8 + place.lane_r) = sum;
      }
    }
  }
};

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) ROOFTUNE_CLUSTER
    rooftune_kernel(const __grid_constant__ rooftune::StreamArgs args) {
  stream<Product>(args);
}
