// Elements of matrices with any strides, on any address.
#ifndef ROOFTUNE_VERIFY_MATRICES_CUH_
#define ROOFTUNE_VERIFY_MATRICES_CUH_

#include "device/cuda/elements.cuh"
#include "device/cuda/types.cuh"
#include "ops/matmul/cuda/verify_args.h"

// The first element of matrix `index` of those that are asked for, as an offset in elements.
__device__ inline int64 matrix_offset(const rooftune::VerifyMatrices& m, int64 index) {
  index += m.first;
  int64 offset = 0;
#pragma unroll 1
  for (int axis = m.batch_rank - 1; axis >= 0; --axis) {
    offset += index % m.batch_extent[axis] * m.batch_stride[axis];
    index /= m.batch_extent[axis];
  }
  return offset;
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

#endif  // ROOFTUNE_VERIFY_MATRICES_CUH_
