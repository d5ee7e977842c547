// NVRTC, the run-time compiler of CUDA C++, loaded at run time.
#ifndef ROOFTUNE_DEVICE_CUDA_COMPILER_H_
#define ROOFTUNE_DEVICE_CUDA_COMPILER_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rooftune/error.h"

namespace rooftune {

class CudaCompiler {
 public:
  // The newest NVRTC that can be found by the dynamic linker or at the usual places of the toolkit;
  // loaded once. Errors: unsupported, with where it was looked for.
  static Result<const CudaCompiler*> get();

  // "13.0"
  const std::string& version() const { return version_; }
  // Compute capabilities that it makes code for: 80, 90, ...
  const std::vector<int>& architectures() const { return architectures_; }

  struct Output {
    std::string binary;  // a cubin
    std::string log;     // ptxas: registers, spills, shared memory
  };
  // Compiles for "sm_90a" or the like. `defines` are "NAME=VALUE". Thread-safe; several threads
  // compile at the same time. Errors: build_failed with the compiler's words.
  Result<Output> compile(const std::string& text, const std::string& name,
                         std::span<const std::string> defines, std::string_view architecture) const;

 private:
  struct Functions;
  static Result<CudaCompiler> load();
  const Functions* functions_ = nullptr;  // lives as long as the process
  std::string version_;
  std::vector<int> architectures_;
};

// The name of the architecture whose code runs best on a compute capability: "sm_90a" for 90,
// where the letter gives the instructions that only this generation has.
std::string cuda_architecture(int capability);

}  // namespace rooftune

#endif  // ROOFTUNE_DEVICE_CUDA_COMPILER_H_
