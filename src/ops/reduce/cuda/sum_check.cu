// What a check of sums needs to know, from plain loops that share no step with the candidates but
// the arithmetic: sums, sums of absolute values, and whether the terms differ. A block takes a
// chunk of the terms of one output; the host adds the chunks.
#include "ops/reduce/cuda/terms.cuh"

using Element = ELEMENT;

extern "C" __global__ void __launch_bounds__(rooftune::kSumThreads)
    rooftune_kernel(const __grid_constant__ rooftune::SumLaunchArgs args) {
  __shared__ rooftune::CheckedSumPart parts[rooftune::kSumThreads];
  const Element* in = static_cast<const Element*>(args.in);
  const double first = double(load_element(in));
#pragma unroll 1
  for (int64 task = blockIdx.x; task < args.outputs * args.chunks; task += gridDim.x) {
    const int64 output = args.first_output + task / args.chunks;
    const int64 chunk = task % args.chunks;
    const int64 base = offset_along(args.keep_rank, args.keep_extent, args.in_keep, output);
    int64 end = (chunk + 1) * args.chunk_terms;
    if (end > args.terms) end = args.terms;
    Total total;
    double magnitude = 0, differs = 0;
#pragma unroll 1
    for (int64 i = chunk * args.chunk_terms + threadIdx.x; i < end; i += rooftune::kSumThreads) {
      const double x = double(load_element(
          in + base + offset_along(args.reduce_rank, args.reduce_extent, args.in_reduce, i)));
      total.add(x);
      // x - x is NaN for what is not finite.
      magnitude += fabs(x) + (x - x);
      if (x != first) differs += 1;
    }
    parts[threadIdx.x] = {total.value, total.low, magnitude, differs};
    __syncthreads();
    if (threadIdx.x == 0) {
#pragma unroll 1
      for (int i = 1; i < rooftune::kSumThreads; ++i) {
        total.add(Total{parts[i].value, parts[i].low});
        magnitude += parts[i].magnitude;
        differs += parts[i].differs;
      }
      static_cast<rooftune::CheckedSumPart*>(args.partial)[task] = {total.value, total.low,
                                                                    magnitude, differs};
    }
    __syncthreads();
  }
}
