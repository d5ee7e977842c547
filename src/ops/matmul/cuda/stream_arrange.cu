// Brings the vectors of a stream kernel into the form that it reads: contiguous along k, aligned.
// Specialised by BYTES, of an element.
#include "device/cuda/types.cuh"
#include "ops/matmul/cuda/stream_args.h"

#if BYTES == 1
using Bits = uint8;
#elif BYTES == 2
using Bits = uint16;
#elif BYTES == 4
using Bits = uint32;
#else
using Bits = uint64;
#endif

// A thread takes a term of every vector: where they are neighbours, its reads are of one line.
extern "C" __global__ void __launch_bounds__(128)
    rooftune_kernel(const __grid_constant__ rooftune::StreamArrangeArgs args) {
  const int64 k = int64(blockIdx.x) * blockDim.x + threadIdx.x;
  if (k >= args.k) return;
  for (int batch = blockIdx.y; batch < args.batch; batch += gridDim.y) {
    const Bits* from = static_cast<const Bits*>(args.x) + batch * args.x_batch + k * args.x_k;
    Bits* to = static_cast<Bits*>(args.arranged) + batch * args.vectors * args.pitch + k;
#pragma unroll 4
    for (int v = 0; v < args.vectors; ++v) to[v * args.pitch] = from[v * args.x_v];
  }
}
