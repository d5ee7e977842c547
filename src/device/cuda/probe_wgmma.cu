// What the tensor cores of Hopper can do: two warpgroups multiply tiles that lie in shared memory.
// Defines: those of hopper.cuh, and EXPONENT, a mask and a pattern that make numbers of random
// bits.
#include "device/cuda/hopper.cuh"

struct Args {
  void* destination;
  const void* source;
  uint64 bytes;
  uint64 repeats;
  void* sink;
};

constexpr int kDepth = 4;  // instructions along the 128 bytes of a row of shared memory
constexpr int kTileBytes = 16384 + WGMMA_N * 128;

// Random bits: zeros would draw less power and show rates that no product reaches.
__device__ __forceinline__ uint32 scrambled(uint32 x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ (x >> 16);
}

extern "C" __global__ void __launch_bounds__(256, 1)
    rooftune_kernel(const __grid_constant__ Args args) {
  __shared__ alignas(1024) unsigned char tiles[kTileBytes];
  for (int i = threadIdx.x; i < kTileBytes / 4; i += blockDim.x) {
    reinterpret_cast<uint32*>(tiles)[i] = (scrambled(i + 1) & RANDOM_BITS) | FIXED_BITS;
  }
  fence_async_proxy();
  __syncthreads();
  const uint32 a = shared_address(tiles) + threadIdx.x / 128 * 8192;
  const uint32 b = shared_address(tiles) + 16384;
  WgmmaSum sums[WGMMA_N / 2];
  for (auto& sum : sums) sum = 0;
  for (uint64 repeat = 0; repeat < args.repeats; ++repeat) {
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < kDepth; ++i) {
      wgmma(sums, wgmma_operand(a + i * 32), wgmma_operand(b + i * 32), 1);
    }
    wgmma_commit();
    wgmma_wait<0>();
  }
  WgmmaSum all = 0;
  for (const auto sum : sums) all += sum;
  if (all == WgmmaSum(12345) && args.repeats == 0) static_cast<WgmmaSum*>(args.sink)[0] = all;
}
