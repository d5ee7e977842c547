// The argument of accelerated.cu, seen by host and kernel.
#ifndef ROOFTUNE_OPS_MATMUL_CUDA_ACCELERATED_ARGS_H_
#define ROOFTUNE_OPS_MATMUL_CUDA_ACCELERATED_ARGS_H_

#include "device/cuda/tensor_map.h"

namespace rooftune {

// Strides count elements.
struct AcceleratedArgs {
  const void* a;
  const void* b;
  void* c;
  long long m, n, k;
  long long a_row, a_col, b_row, b_col, c_row, c_col;
  long long batch_extent[6], a_batch[6], b_batch[6], c_batch[6];  // outermost first
  int batch_rank;
  unsigned tiles_m, tiles_n;
  int c_vector;                      // rows of C take aligned vectors of four elements
  float alpha, beta;                 // of sums in f32
  unsigned whole_alpha, whole_beta;  // of sums in i32, modulo 2^32
};

// Axes of the maps: along a line, from line to line, from matrix to matrix.
struct AcceleratedTmaArgs {
  TensorMap a_map, b_map;
  int a_batched, b_batched;  // 0: the batch shares this operand
  AcceleratedArgs product;
};

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CUDA_ACCELERATED_ARGS_H_
