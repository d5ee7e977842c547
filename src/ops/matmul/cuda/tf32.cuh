// Rounding of f32 operands to what matrix units take.
#ifndef ROOFTUNE_TF32_CUH_
#define ROOFTUNE_TF32_CUH_

#include "device/cuda/types.cuh"

// To the nearest TF32, ties away from zero; products ignore the 13 bits below, so that half of what
// they count as is added. A NaN stays as it is. (The instruction for this is four times as slow.)
__device__ __forceinline__ uint32 to_tf32(uint32 x) {
  const float value = __uint_as_float(x);
  return value == value ? x + 0x1000 : x;
}

#endif  // ROOFTUNE_TF32_CUH_
