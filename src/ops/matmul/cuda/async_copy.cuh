// Asynchronous copies from global to shared memory (compute capability 8.0).
#ifndef ROOFTUNE_ASYNC_COPY_CUH_
#define ROOFTUNE_ASYNC_COPY_CUH_

#include "device/cuda/types.cuh"

__device__ __forceinline__ uint32 shared_address(const void* pointer) {
  return uint32(__cvta_generic_to_shared(pointer));
}

// Bytes: 4, 8 or 16, the alignment of both sides. Zeros instead, and nothing read, when !valid.
template <int kBytes>
__device__ __forceinline__ void copy_async(uint32 to, const void* from, bool valid) {
  const int bytes = valid ? kBytes : 0;
  if constexpr (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes));
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from), "n"(kBytes),
                 "r"(bytes));
  }
}
__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;"); }
// Waits until at most kPending of the committed groups are still under way.
template <int kPending>
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

#endif  // ROOFTUNE_ASYNC_COPY_CUH_
