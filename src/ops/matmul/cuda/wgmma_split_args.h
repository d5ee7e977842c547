// What wgmma_split.cu is launched with; both the host and the kernel include this.
#ifndef ROOFTUNE_OPS_MATMUL_CUDA_WGMMA_SPLIT_ARGS_H_
#define ROOFTUNE_OPS_MATMUL_CUDA_WGMMA_SPLIT_ARGS_H_

#include "device/cuda/tensor_map.h"

namespace rooftune {

struct WgmmaSplitArgs {
  TensorMap a, b;  // k, rows, batch
  float* c;
  long long c_row, c_col, c_batch;  // elements
  unsigned m, n;
  unsigned steps;  // of 32 terms
  unsigned tiles_m, tiles_n, tiles;
  unsigned a_batched, b_batched;  // 0: one matrix for the whole batch
  unsigned pairs;                 // neighbours in a row of C can be stored as 8 bytes
  float alpha, beta;
};

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CUDA_WGMMA_SPLIT_ARGS_H_
