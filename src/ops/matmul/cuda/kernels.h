// The kernels of the CUDA candidates as sources for a device, and all candidates of this build.
#ifndef ROOFTUNE_OPS_MATMUL_CUDA_KERNELS_H_
#define ROOFTUNE_OPS_MATMUL_CUDA_KERNELS_H_

#include <functional>
#include <memory>
#include <string>

#include "ops/matmul/cuda/candidate.h"

namespace rooftune {

// The first is the fallback.
CudaCandidates all_cuda_candidates();

// A KernelSource with what it points to.
class CudaKernelSource {
 public:
  CudaKernelSource(KernelSource source, std::shared_ptr<const std::string> text)
      : source_(std::move(source)), text_(std::move(text)) {}
  const KernelSource& get() const { return source_; }

 private:
  KernelSource source_;
  std::shared_ptr<const std::string> text_;
};

// The source of a plan, for a candidate or other user of that name. Errors: not_found when the
// program has no such file.
Result<CudaKernelSource> cuda_kernel_source(const CudaKernelPlan& plan);

// Compiles a plan, or finds what was compiled before.
using CompileCuda = std::function<Result<std::shared_ptr<const Kernel>>(const CudaKernelPlan&)>;

// For users of kernels that are no candidates. The client must outlive it.
CompileCuda cuda_compiler(Client& client);

// A hash of every kernel that the candidate may run, with its parameters.
std::string cuda_candidate_version(const CudaCandidate& candidate);

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CUDA_KERNELS_H_
