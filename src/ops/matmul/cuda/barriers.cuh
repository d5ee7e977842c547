// Barriers in shared memory, copies that arrive on them.
#ifndef ROOFTUNE_BARRIERS_CUH_
#define ROOFTUNE_BARRIERS_CUH_

#include "device/cuda/types.cuh"

__device__ __forceinline__ void barrier_init(uint32 barrier, int arrivals) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

__device__ __forceinline__ void barrier_arrive(uint32 barrier) {
  asm volatile("{\n.reg .b64 state;\nmbarrier.arrive.shared.b64 state, [%0];\n}" ::"r"(barrier)
               : "memory");
}

// Until the phase of this parity is over.
__device__ __forceinline__ void barrier_wait(uint32 barrier, uint32 parity) {
  uint32 over = 0;
  while (!over) {
#if __CUDA_ARCH__ >= 900  // this one may sleep
#define BARRIER_TEST "mbarrier.try_wait"
#else
#define BARRIER_TEST "mbarrier.test_wait"
#endif
    asm volatile("{\n.reg .pred p;\n" BARRIER_TEST
                 ".parity.shared.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
                 : "=r"(over)
                 : "r"(barrier), "r"(parity)
                 : "memory");
#undef BARRIER_TEST
  }
}

// All copies of this thread so far count as its arrival once they are there.
__device__ __forceinline__ void barrier_arrive_after_copies(uint32 barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(barrier) : "memory");
}

// 16 bytes, of which the first `valid` come from memory and the others are zero.
__device__ __forceinline__ void copy_async(uint32 to, const void* from, int valid) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to),
               "l"(__cvta_generic_to_global(from)), "r"(valid)
               : "memory");
}

// Copies since the last call are one group.
__device__ __forceinline__ void end_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Until at most kOpen groups of this thread are under way.
template <int kOpen>
__device__ __forceinline__ void wait_groups() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kOpen) : "memory");
}

#if __CUDA_ARCH__ >= 900
// What this thread has read in shared memory so far comes before what bulk copies write there once
// it has arrived at a barrier. They take another way to memory, on which the barrier alone is too
// little.
__device__ __forceinline__ void fence_before_copies() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// True for one thread of a whole warp, and the compiler knows that it is one.
__device__ __forceinline__ bool elected() {
  uint32 yes;
  asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.u32 %0, 1, 0, p;\n}"
               : "=r"(yes));
  return yes;
}

__device__ __forceinline__ void barrier_expect(uint32 barrier, int bytes) {
  asm volatile(
      "{\n.reg .b64 state;\nmbarrier.arrive.expect_tx.shared.b64 state, [%0], %1;\n}" ::"r"(
          barrier),
      "r"(bytes)
      : "memory");
}

__device__ __forceinline__ void copy_tensor(uint32 to, const void* map, uint32 barrier, int x,
                                            int y, int z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, "
      "%3, %4}], [%5];" ::"r"(to),
      "l"(map), "r"(x), "r"(y), "r"(z), "r"(barrier)
      : "memory");
}
#endif

// Barriers just made become visible to copies.
__device__ __forceinline__ void fence_barriers() {
#if __CUDA_ARCH__ >= 900
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

#endif  // ROOFTUNE_BARRIERS_CUH_
