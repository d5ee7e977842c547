#ifndef ROOFTUNE_OPS_MATMUL_CUDA_WGMMA_SPLIT_H_
#define ROOFTUNE_OPS_MATMUL_CUDA_WGMMA_SPLIT_H_

#include "ops/matmul/cuda/candidate.h"

namespace rooftune {

// Products of f32 from K-major operands in TF32x3 on Hopper: a part of add_repacked().
void add_wgmma_split(CudaCandidates& rows);

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CUDA_WGMMA_SPLIT_H_
