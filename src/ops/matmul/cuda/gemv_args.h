// The argument of gemv.cu, seen from both sides.
#ifndef ROOFTUNE_OPS_MATMUL_CUDA_GEMV_ARGS_H_
#define ROOFTUNE_OPS_MATMUL_CUDA_GEMV_ARGS_H_

#include "ops/matmul/cuda/output.h"

namespace rooftune {

// Strides count elements, as in GemmArgs. All kernels but `gemm` have m of 1.
struct GemvArgs {
  const void* a;
  const void* b;
  void* c;
  long long m, n, k, batch;
  long long a_row, a_col, a_batch;
  long long b_row, b_col, b_batch;
  long long c_row, c_col, c_batch;
  Output out;
};

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CUDA_GEMV_ARGS_H_
