// The arguments of tiny_flat.cu and tiny_tile.cu, seen from both sides.
#ifndef ROOFTUNE_OPS_MATMUL_CUDA_TINY_ARGS_H_
#define ROOFTUNE_OPS_MATMUL_CUDA_TINY_ARGS_H_

#include "ops/matmul/cuda/output.h"

namespace rooftune {

// Strides count elements, as in GemmArgs.
struct TinyArgs {
  const void* a;
  const void* b;
  void* c;
  long long a_row, a_col, a_batch;
  long long b_row, b_col, b_batch;
  long long c_row, c_col, c_batch;
  long long units;  // of all batches: elements of C (flat), tiles of C (tile)
  unsigned m, n, k;
  unsigned tiles_m, tiles_n;  // tile: of one product
  unsigned a_lanes, b_lanes;  // tile: lanes along the contiguous axis, as a power of two
  Output out;
};

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CUDA_TINY_ARGS_H_
