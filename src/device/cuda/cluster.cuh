// Blocks of a cluster (compute capability 9.0): barriers, and each other's shared memory.
#ifndef ROOFTUNE_DEVICE_CUDA_CLUSTER_CUH_
#define ROOFTUNE_DEVICE_CUDA_CLUSTER_CUH_

#include "device/cuda/types.cuh"

__device__ __forceinline__ uint32 cluster_rank() {
  uint32 rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// --- Every thread of every block takes part in a sync.
__device__ __forceinline__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::
                   : "memory");
}
// The same without order of memory, apart from what a fence before it released.
__device__ __forceinline__ void cluster_sync_relaxed() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;" ::
                   : "memory");
}

// The address of another block's shared memory, for load_remote(). What lies so many bytes after
// `address` there lies as many after the result.
__device__ __forceinline__ uint32 remote_address(uint32 address, uint32 block) {
  uint32 remote;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(address), "r"(block));
  return remote;
}
__device__ __forceinline__ void load_remote(uint32 remote, uint32 (&words)[4]) {
  asm volatile("ld.shared::cluster.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(remote)
               : "memory");
}
__device__ __forceinline__ void load_remote(uint32 remote, uint32 (&words)[2]) {
  asm volatile("ld.shared::cluster.v2.b32 {%0, %1}, [%2];"
               : "=r"(words[0]), "=r"(words[1])
               : "r"(remote)
               : "memory");
}
__device__ __forceinline__ void load_remote(uint32 remote, uint32 (&words)[1]) {
  asm volatile("ld.shared::cluster.b32 %0, [%1];" : "=r"(words[0]) : "r"(remote) : "memory");
}

#endif  // ROOFTUNE_DEVICE_CUDA_CLUSTER_CUH_
