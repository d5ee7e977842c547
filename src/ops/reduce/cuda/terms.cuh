// What the kernels of sum share: where terms and outputs are, and how terms are added.
#ifndef ROOFTUNE_REDUCE_TERMS_CUH_
#define ROOFTUNE_REDUCE_TERMS_CUH_

#include "device/cuda/elements.cuh"
#include "device/cuda/types.cuh"
#include "ops/reduce/cuda/launch_args.h"

// The offset that index `at`, counted with the last axis fastest, has along some axes.
__device__ __forceinline__ int64 offset_along(int rank, const long long* extent,
                                              const long long* stride, int64 at) {
  if (rank == 0) return 0;
  int64 offset = 0;
#pragma unroll 1
  for (int axis = rank - 1; axis > 0; --axis) {
    // Divisions of 64 bits are slow.
    const bool narrow = ((at | extent[axis]) >> 32) == 0;
    const int64 next = narrow ? int64(uint32(at) / uint32(extent[axis])) : at / extent[axis];
    offset += (at - next * extent[axis]) * stride[axis];
    at = next;
  }
  return offset + at * stride[0];
}

// ALIGNED: whether the address of every element is a multiple of its size.
template <class T>
__device__ __forceinline__ T load_element(const T* at) {
  return load_any<ALIGNED != 0>(at);
}
template <class T>
__device__ __forceinline__ void store_element(T* at, T value) {
  store_any<ALIGNED != 0>(at, value);
}

// A sum whose error does not grow with the number of its terms. What an addition in f64 loses to
// rounding is a number of f64, and is kept: sums wait for memory, not for arithmetic. Terms of f32
// lose nothing that f32 would notice.
struct Total {
  double value = 0, low = 0;
  __device__ __forceinline__ void add(float x) { value += double(x); }
  __device__ __forceinline__ void add(double x) {
    const double total = value + x;
    const double taken = total - value;
    low += (value - (total - taken)) + (x - taken);
    value = total;
  }
  __device__ __forceinline__ void add(const Total& other) {
    add(other.value);
    low += other.low;
  }
  // An infinite or NaN value has no rest.
  __device__ __forceinline__ double sum() const {
    const bool finite = (uint64(__double_as_longlong(value)) >> 52 & 0x7ff) != 0x7ff;
    return finite ? value + low : value;
  }
};

#endif  // ROOFTUNE_REDUCE_TERMS_CUH_
