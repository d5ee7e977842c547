// The second step of a sum in chunks: a warp adds what sum.cu found for one output.
#include "ops/reduce/cuda/terms.cuh"

using Element = ELEMENT;

extern "C" __global__ void __launch_bounds__(rooftune::kSumThreads)
    rooftune_kernel(const __grid_constant__ rooftune::SumLaunchArgs args) {
  const int lane = threadIdx.x % 32;
  const int64 warps = int64(gridDim.x) * (rooftune::kSumThreads / 32);
#pragma unroll 1
  for (int64 at = blockIdx.x * int64(rooftune::kSumThreads / 32) + threadIdx.x / 32;
       at < args.outputs; at += warps) {
    const auto* parts = static_cast<const rooftune::SumPart*>(args.partial) + at * args.chunks;
    Total total;
#pragma unroll 1
    for (int64 i = lane; i < args.chunks; i += 32) {
      total.add(Total{parts[i].value, parts[i].low});
    }
#pragma unroll 1
    for (int distance = 16; distance > 0; distance /= 2) {
      total.add(Total{__shfl_xor_sync(0xffffffff, total.value, distance),
                      __shfl_xor_sync(0xffffffff, total.low, distance)});
    }
    if (lane == 0) {
      Element* out = static_cast<Element*>(args.out) +
                     offset_along(args.keep_rank, args.keep_extent, args.out_keep, at);
      store_element(out, Element(total.sum()));
    }
  }
}
