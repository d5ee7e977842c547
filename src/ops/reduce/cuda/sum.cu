// Sums along any axes. OUTPUTS * TERMS threads of a block each add every TERMS-th term of one
// output; neighbouring threads take neighbouring outputs (LANES_ON_OUTPUTS 1) or terms (0),
// whichever lie side by side in memory. With chunks, each block has some of the terms, and
// sum_finish.cu adds what they found. ELEMENT is the type.
#include "ops/reduce/cuda/terms.cuh"

using Element = ELEMENT;

extern "C" __global__ void __launch_bounds__(rooftune::kSumThreads, 4)
    rooftune_kernel(const __grid_constant__ rooftune::SumLaunchArgs args) {
  static_assert(OUTPUTS * TERMS == rooftune::kSumThreads);
  __shared__ double values[TERMS][OUTPUTS], lows[TERMS][OUTPUTS];
  const int thread = threadIdx.x;
  const int output = LANES_ON_OUTPUTS ? thread % OUTPUTS : thread / TERMS;
  const int term = LANES_ON_OUTPUTS ? thread / OUTPUTS : thread % TERMS;
  const int64 blocks = (args.outputs + OUTPUTS - 1) / OUTPUTS;

#pragma unroll 1
  for (int64 task = blockIdx.x; task < blocks * args.chunks; task += gridDim.x) {
    const int64 at = task / args.chunks * OUTPUTS + output;
    const int64 chunk = task % args.chunks;
    Total total;
    if (at < args.outputs) {
      const Element* in = static_cast<const Element*>(args.in) +
                          offset_along(args.keep_rank, args.keep_extent, args.in_keep, at);
      int64 end = (chunk + 1) * args.chunk_terms;
      if (end > args.terms) end = args.terms;
      // Several loads under way before the first is waited for.
      constexpr int kUnroll = 4;
      int64 i = chunk * args.chunk_terms + term;
#pragma unroll 1
      for (; i + (kUnroll - 1) * TERMS < end; i += kUnroll * TERMS) {
        Element x[kUnroll];
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) {
          x[u] = load_element(in + offset_along(args.reduce_rank, args.reduce_extent,
                                                args.in_reduce, i + u * TERMS));
        }
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) total.add(x[u]);
      }
#pragma unroll 1
      for (; i < end; i += TERMS) {
        total.add(load_element(
            in + offset_along(args.reduce_rank, args.reduce_extent, args.in_reduce, i)));
      }
    }
    values[term][output] = total.value;
    lows[term][output] = total.low;
#pragma unroll 1
    for (int half = TERMS / 2; half > 0; half /= 2) {
      __syncthreads();
      if (term >= half) continue;
      total.add(Total{values[term + half][output], lows[term + half][output]});
      values[term][output] = total.value;
      lows[term][output] = total.low;
    }
    if (term == 0 && at < args.outputs) {
      if (args.partial != nullptr) {
        static_cast<rooftune::SumPart*>(args.partial)[at * args.chunks + chunk] = {total.value,
                                                                                   total.low};
      } else {
        Element* out = static_cast<Element*>(args.out) +
                       offset_along(args.keep_rank, args.keep_extent, args.out_keep, at);
        store_element(out, Element(total.sum()));
      }
    }
    __syncthreads();  // the shared sums are free for the next outputs
  }
}
