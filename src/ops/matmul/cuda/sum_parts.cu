// C = alpha * (sum of the parts of a product whose k was split) + beta * C. SUM_TYPE: float or double.
#include "ops/matmul/cuda/split.h"
#include "device/cuda/types.cuh"

extern "C" __global__ void __launch_bounds__(256)
    rooftune_kernel(const __grid_constant__ rooftune::SplitArgs args) {
  const rooftune::StridedArgs& product = args.product;
  const int64 elements = product.m * product.n;
  const int64 all = elements * product.batch;
  const SUM_TYPE alpha = SUM_TYPE(product.alpha);
  const SUM_TYPE beta = SUM_TYPE(product.beta);
  for (int64 e = blockIdx.x * 256ll + threadIdx.x; e < all; e += gridDim.x * 256ll) {
    const SUM_TYPE* part = static_cast<const SUM_TYPE*>(args.partials) + e;
    SUM_TYPE sum = 0;
#pragma unroll 4
    for (int split = 0; split < args.splits; ++split) {
      sum += *part;
      part += all;
    }
    const int64 batch = e / elements;
    const int64 row = (e - batch * elements) / product.n;
    const int64 column = e - batch * elements - row * product.n;
    SUM_TYPE* const c = static_cast<SUM_TYPE*>(product.c) + batch_place(product, batch).c + row * product.c_row +
                 column * product.c_col;
    SUM_TYPE value = alpha * sum;
    if (beta != 0) value += beta * *c;
    *c = value;
  }
}
