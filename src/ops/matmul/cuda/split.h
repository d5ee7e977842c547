// A product in tiles, whose k may be split among blocks.
#ifndef ROOFTUNE_OPS_MATMUL_CUDA_SPLIT_H_
#define ROOFTUNE_OPS_MATMUL_CUDA_SPLIT_H_

#include "ops/matmul/cuda/strided.h"

namespace rooftune {

struct SplitArgs {
  StridedArgs product;
  int tiles_m, tiles_n;
  int splits;       // parts of k, each with its own blocks
  long long terms;  // of a part: a multiple of the depth of a tile
  // [split][batch][m][n], in the type of the sums; null for one part, and for the blocks of a
  // cluster, which add up their sums by themselves.
  void* partials;
};

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CUDA_SPLIT_H_
