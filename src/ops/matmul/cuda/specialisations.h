// The compiled kernels of one candidate, by specialisation.
#ifndef ROOFTUNE_OPS_MATMUL_CUDA_SPECIALISATIONS_H_
#define ROOFTUNE_OPS_MATMUL_CUDA_SPECIALISATIONS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "ops/matmul/cuda/kernels.h"
#include "rooftune/function_ref.h"

namespace rooftune {

// Thread-safe. What has been compiled is found without a lock.
class CudaSpecialisations {
 public:
  // The client must outlive this object.
  explicit CudaSpecialisations(Client& client) : client_(client) {}

  using Plans = std::vector<CudaKernelPlan>;
  // The kernels of a specialisation in the order of its plans, which are asked for when it is
  // wanted for the first time. Errors: those of compile().
  Result<std::span<const Kernel* const>> of(std::uint64_t variant, FunctionRef<Plans()> plans) {
    const std::size_t first = first_slot(variant);
    for (std::size_t i = 0; i < kSlots; ++i) {
      const Compiled* found = slots_[(first + i) % kSlots].load(std::memory_order_acquire);
      if (found == nullptr) break;
      if (found->variant == variant) [[likely]]
        return found->pointers;
    }
    return compile(variant, plans);
  }

 private:
  struct Compiled {
    std::uint64_t variant = 0;
    std::vector<std::shared_ptr<const Kernel>> kernels;
    std::vector<const Kernel*> pointers;
  };
  // Enough for the types and layouts that one process meets; more are found by the lock.
  static constexpr std::size_t kSlots = 64;
  static std::size_t first_slot(std::uint64_t variant) {
    return std::size_t{(variant * 0x9e3779b97f4a7c15ull) >> 32} % kSlots;
  }
  Result<std::span<const Kernel* const>> compile(std::uint64_t variant, FunctionRef<Plans()> plans);

  Client& client_;
  std::array<std::atomic<const Compiled*>, kSlots> slots_{};
  std::mutex mutex_;
  std::vector<std::unique_ptr<const Compiled>> all_;
};

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CUDA_SPECIALISATIONS_H_
