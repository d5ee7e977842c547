// c[at] = alpha * sum + beta * c[at]; C is not read where beta is 0. The type of C is a question of
// the call, not of the kernel: it is asked once an element, after k multiplications.
#ifndef ROOFTUNE_OUTPUT_CUH_
#define ROOFTUNE_OUTPUT_CUH_

#include "device/cuda/types.cuh"
#include "ops/matmul/cuda/output.h"

__device__ __forceinline__ void store(const rooftune::Output& out, void* base, int64 at,
                                      double sum) {
  double* c = static_cast<double*>(base) + at;
  *c = out.beta == 0 ? out.alpha * sum : out.alpha * sum + out.beta * *c;
}
__device__ __forceinline__ void store(const rooftune::Output& out, void* base, int64 at, int sum) {
  int* c = static_cast<int*>(base) + at;  // wraps around
  const uint32 scaled = uint32(int(out.alpha)) * uint32(sum);
  *c = int(out.beta == 0 ? scaled : scaled + uint32(int(out.beta)) * uint32(*c));
}
__device__ __forceinline__ void store(const rooftune::Output& out, void* base, int64 at,
                                      float sum) {
  float value = float(out.alpha) * sum;
  if (out.c_bytes == 4) {
    float* c = static_cast<float*>(base) + at;
    *c = out.beta == 0 ? value : value + float(out.beta) * *c;
  } else if (out.c_half) {
    f16* c = static_cast<f16*>(base) + at;
    if (out.beta != 0) value += float(out.beta) * widen<float>(*c);
    *c = rounded<f16>::from(value);
  } else {
    bf16* c = static_cast<bf16*>(base) + at;
    if (out.beta != 0) value += float(out.beta) * widen<float>(*c);
    *c = rounded<bf16>::from(value);
  }
}

#endif  // ROOFTUNE_OUTPUT_CUH_
