// One element of any type, also at an address that is no multiple of its size.
#ifndef ROOFTUNE_DEVICE_CUDA_ELEMENTS_CUH_
#define ROOFTUNE_DEVICE_CUDA_ELEMENTS_CUH_

#include "device/cuda/types.cuh"

template <bool aligned, class T>
__device__ __forceinline__ T load_any(const T* from) {
  if constexpr (aligned) {
    return *from;
  } else {
    T value;
#pragma unroll
    for (int i = 0; i < int(sizeof(T)); ++i) {
      reinterpret_cast<uint8*>(&value)[i] = reinterpret_cast<const uint8*>(from)[i];
    }
    return value;
  }
}

template <bool aligned, class T>
__device__ __forceinline__ void store_any(T* to, T value) {
  if constexpr (aligned) {
    *to = value;
  } else {
#pragma unroll
    for (int i = 0; i < int(sizeof(T)); ++i) {
      uint32 byte = reinterpret_cast<uint8*>(&value)[i];
      if constexpr (sizeof(T) == 2) {
        // The assembler of CUDA 13.0 takes the store of the lower byte of an f16 for a conversion
        // of its value to an integer; it does not see through a permutation.
        byte = __byte_perm(*reinterpret_cast<const uint16*>(&value), 0, 0x4440 + i);
      }
      reinterpret_cast<uint8*>(to)[i] = uint8(byte);
    }
  }
}

#endif  // ROOFTUNE_DEVICE_CUDA_ELEMENTS_CUH_
