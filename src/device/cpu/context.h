// What a CPU kernel is given besides its arguments: threads and scratch memory.
#ifndef ROOFTUNE_DEVICE_CPU_CONTEXT_H_
#define ROOFTUNE_DEVICE_CPU_CONTEXT_H_

#include <cstddef>
#include <cstdint>

#include "rooftune/function_ref.h"

namespace rooftune {

// Given to a kernel for the duration of one launch; used only by the thread that runs the kernel.
class CpuContext {
 public:
  virtual ~CpuContext() = default;

  // How many threads a parallel_for may use, the calling one included. At least 1.
  virtual int threads() const = 0;

  // Runs task(index, worker) for every index in [0, count) and returns when all are done. Indices
  // are handed out dynamically; 0 <= worker < threads(), and one worker runs one task at a time.
  // With one thread, or one task, everything runs on the calling thread. A nested call runs inline.
  virtual void parallel_for(std::int64_t count,
                            FunctionRef<void(std::int64_t index, int worker)> task) = 0;

  // Memory for this launch, 4096-byte aligned, content undefined; grows once and is kept by the
  // calling thread, so that a later launch does not allocate. A second call in one launch gives
  // the same memory (grown; the content may be lost). Null when there is not enough memory: the
  // kernel then returns KernelOutcome::out_of_memory.
  virtual std::byte* scratch(std::size_t bytes) = 0;
};

enum class KernelOutcome : std::uint8_t { done, out_of_memory };

// The entry point of every CPU kernel. `args` points to the argument struct that the operation
// and its kernels agree on.
using CpuKernelFn = KernelOutcome (*)(const void* args, CpuContext& context);

}  // namespace rooftune

#endif  // ROOFTUNE_DEVICE_CPU_CONTEXT_H_
