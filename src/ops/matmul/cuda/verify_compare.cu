// The last step of a check, over triples of vectors: finishes the expected ones, or compares them
// with those of an output (MatrixPasses::finish and largest_error).
#include "device/cuda/types.cuh"
#include "ops/matmul/cuda/verify_args.h"

__device__ __forceinline__ uint64 bits_of(double x) { return uint64(__double_as_longlong(x)); }
__device__ __forceinline__ bool is_finite(double x) { return (bits_of(x) >> 52 & 0x7ff) != 0x7ff; }

extern "C" __global__ void __launch_bounds__(rooftune::kVerifyThreads)
    rooftune_kernel(const __grid_constant__ rooftune::VerifyCompareArgs args) {
  const int64 rows = args.rows;
  double largest = 0;
  bool finite = true;
  uint32 compared = 0;
  for (int64 at = blockIdx.x * int64(blockDim.x) + threadIdx.x; at < rows * args.count;
       at += gridDim.x * int64(blockDim.x)) {
    ++compared;
    const int64 place = at / rows * 3 * rows + at % rows;
    double* y = args.y + place;
    const double* other = args.other + place;
    if (args.finish) {
#pragma unroll
      for (int part = 0; part < 3; ++part) {
        double value = y[part * rows] * (part == 2 ? args.alpha * args.alpha : args.alpha);
        if (args.other != nullptr) {
          value += (part == 2 ? args.beta * args.beta : args.beta) * other[part * rows];
        }
        y[part * rows] = value;
        finite = finite && is_finite(value);
        if (part == 2 && value > largest) largest = value;
      }
    } else {
      const double size = sqrt(y[2 * rows] + other[2 * rows]) + args.floor;
      const double off1 = fabs(other[0] - y[0]) / size;
      const double off2 = fabs(other[rows] - y[rows]) / size;
      // What is not finite compares false with everything: it is as wrong as can be.
      finite = finite && is_finite(off1) && is_finite(off2);
      if (off1 > largest) largest = off1;
      if (off2 > largest) largest = off2;
    }
  }
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    const double other = __shfl_xor_sync(0xffffffff, largest, distance);
    if (other > largest) largest = other;
  }
  const bool all_finite = __all_sync(0xffffffff, finite);
  compared = __reduce_add_sync(0xffffffff, compared);
  if (threadIdx.x % 32 == 0) {
    if (largest > 0) atomicMax(args.largest, bits_of(largest));
    if (!all_finite) atomicMax(args.not_finite, uint64(1));
    if (compared > 0) atomicAdd(args.compared, uint64(compared));
  }
}
