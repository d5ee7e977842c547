// The argument of accelerated.cu, seen by host and kernel.
#ifndef ROOFTUNE_OPS_MATMUL_CUDA_ACCELERATED_ARGS_H_
#define ROOFTUNE_OPS_MATMUL_CUDA_ACCELERATED_ARGS_H_

#include "ops/matmul/cuda/tensor_map.h"

namespace rooftune {

// A pitch of 2 bytes, the worst of 16-bit types, repeats its alignment after 8 lines.
constexpr int kMaxResidues = 8;

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
  int c_vector;                          // rows of C take aligned vectors of four elements
  float alpha, beta;                     // of sums in f32
  unsigned whole_alpha, whole_beta;      // of sums in i32, modulo 2^32
};

// Bulk tensor copies want lines whose distance is a multiple of 16 bytes. Where it is not, each
// residue of the line number gets a map of its own: lines r, r + R, r + 2R, ... lie R pitches apart,
// and `skip` elements before the first one make its address a multiple of 16. Nobody asks for those.
struct AcceleratedMaps {
  TensorMap maps[kMaxResidues];
  int skip[kMaxResidues];
  int batched;  // 0: the batch shares this operand
};

struct AcceleratedTmaArgs {
  AcceleratedMaps a_maps, b_maps;
  AcceleratedArgs product;
};

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CUDA_ACCELERATED_ARGS_H_
