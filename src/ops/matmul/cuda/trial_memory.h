// Trials and checks on a CUDA device: what is asked of memory is done by kernels, and only a few
// numbers come back.
#ifndef ROOFTUNE_OPS_MATMUL_CUDA_TRIAL_MEMORY_H_
#define ROOFTUNE_OPS_MATMUL_CUDA_TRIAL_MEMORY_H_

#include <memory>
#include <vector>

#include "ops/matmul/cuda/candidate.h"
#include "ops/matmul/cuda/kernels.h"
#include "ops/matmul/trial_memory.h"
#include "rooftune/device.h"

namespace rooftune {

// For trials of this product. Its kernels are compiled in the background, from now on, all at once.
std::unique_ptr<TrialMemory> cuda_trial_memory(Client& client, CompileCuda compile,
                                               const GemmArgs& gemm);

// The passes alone, for a check outside of a search (ProductCheck::make).
std::unique_ptr<MatrixPasses> cuda_matrix_passes(Client& client, Stream stream,
                                                 CompileCuda compile);

// The kernels that a trial of a product launches in any case. Those for useless operands or an
// accumulating product come when they are needed.
std::vector<CudaKernelPlan> cuda_trial_plans(const GemmArgs& gemm);

// Every kernel that a trial may launch: the tests compile them all.
std::vector<CudaKernelPlan> all_cuda_trial_plans();

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CUDA_TRIAL_MEMORY_H_
