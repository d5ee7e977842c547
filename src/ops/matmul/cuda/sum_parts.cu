// C = alpha * (sum of the parts of a product whose k was split) + beta * C. SUM_TYPE: float,
// double. Fewer than 2^31 elements: divisions of 64 bits would take longer than the sums.
#include "device/cuda/types.cuh"
#include "ops/matmul/cuda/split.h"

extern "C" __global__ void __launch_bounds__(256)
    rooftune_kernel(const __grid_constant__ rooftune::SplitArgs args) {
  const rooftune::StridedArgs& product = args.product;
  const uint32 n = uint32(product.n);
  const uint32 elements = uint32(product.m) * n;
  const uint32 all = elements * uint32(product.batch);
  const SUM_TYPE alpha = SUM_TYPE(product.alpha);
  const SUM_TYPE beta = SUM_TYPE(product.beta);
  for (uint32 e = blockIdx.x * 256 + threadIdx.x; e < all; e += gridDim.x * 256) {
    const SUM_TYPE* part = static_cast<const SUM_TYPE*>(args.partials) + e;
    SUM_TYPE sum = 0;
#pragma unroll 4
    for (int split = 0; split < args.splits; ++split) {
      sum += *part;
      part += all;
    }
    const uint32 batch = e / elements;
    const uint32 inside = e - batch * elements;
    const uint32 row = inside / n;
    SUM_TYPE* const c = static_cast<SUM_TYPE*>(product.c) + batch_place(product, batch).c +
                        row * product.c_row + (inside - row * n) * product.c_col;
    SUM_TYPE value = alpha * sum;
    if (beta != 0) value += beta * *c;
    *c = value;
  }
}
