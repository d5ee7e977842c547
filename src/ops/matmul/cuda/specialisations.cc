#include "ops/matmul/cuda/specialisations.h"

#include <algorithm>
#include <utility>

namespace rooftune {

Result<std::span<const Kernel* const>> CudaSpecialisations::compile(std::uint64_t variant,
                                                                    FunctionRef<Plans()> plans) {
  const auto known = [&]() -> const Compiled* {
    const auto found = std::find_if(all_.begin(), all_.end(),
                                    [&](const auto& each) { return each->variant == variant; });
    return found != all_.end() ? found->get() : nullptr;
  };
  {
    const std::lock_guard lock(mutex_);
    if (const Compiled* found = known()) return found->pointers;
  }
  // Outside of the lock: others find theirs meanwhile.
  auto made = std::make_unique<Compiled>();
  made->variant = variant;
  for (const CudaKernelPlan& plan : plans()) {
    const auto source = cuda_kernel_source(plan);
    if (!source) return std::unexpected(source.error());
    auto kernel = client_.compile(source->get());
    if (!kernel) return std::unexpected(kernel.error());
    made->pointers.push_back(kernel->get());
    made->kernels.push_back(*std::move(kernel));
  }
  const std::lock_guard lock(mutex_);
  if (const Compiled* found = known()) return found->pointers;
  all_.push_back(std::move(made));
  const std::size_t first = first_slot(variant);
  for (std::size_t i = 0; i < kSlots; ++i) {
    auto& slot = slots_[(first + i) % kSlots];
    if (slot.load(std::memory_order_relaxed) == nullptr) {
      slot.store(all_.back().get(), std::memory_order_release);
      break;
    }
  }
  return all_.back()->pointers;
}

}  // namespace rooftune
