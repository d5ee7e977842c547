#ifndef ROOFTUNE_OPS_MATMUL_CUDA_REPACKED_H_
#define ROOFTUNE_OPS_MATMUL_CUDA_REPACKED_H_

#include <memory>

#include "ops/matmul/cuda/candidate.h"

namespace rooftune {

// "repacked_" and the name of `inner`: runs it after bringing operands that bulk tensor copies
// cannot take into a form that they can, in scratch memory. An operand that is fine stays where it
// is; illegal when both are. `narrows`: under the policy `medium`, f32 is rounded to bf16 on the
// way, and `inner` sees a product of bf16.
std::unique_ptr<CudaCandidate> make_repacked(std::unique_ptr<CudaCandidate> inner, bool narrows);

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CUDA_REPACKED_H_
