// One element at a time, of any type and at any address; sums and the last step to the output.
// A_TYPE, B_TYPE, C_TYPE: element types. BYTEWISE 1: pointers may be misaligned to their elements.
#ifndef ROOFTUNE_SCALAR_CUH_
#define ROOFTUNE_SCALAR_CUH_

#include "device/cuda/elements.cuh"
#include "device/cuda/types.cuh"

using A = A_TYPE;
using B = B_TYPE;
using C = C_TYPE;
using Sum = sum_of<A>::type;

template <class T>
__device__ __forceinline__ T load(const T* from) {
  return load_any<BYTEWISE == 0>(from);
}
template <class T>
__device__ __forceinline__ void store(T* to, T value) {
  store_any<BYTEWISE == 0>(to, value);
}

// sum + a * b; integers modulo 2^32, which is what unsigned arithmetic means.
__device__ __forceinline__ float multiply_add(float a, float b, float sum) {
  return __fmaf_rn(a, b, sum);
}
__device__ __forceinline__ double multiply_add(double a, double b, double sum) {
  return __fma_rn(a, b, sum);
}
__device__ __forceinline__ int multiply_add(int a, int b, int sum) {
  return int(uint32(a) * uint32(b) + uint32(sum));
}
__device__ __forceinline__ float times(float a, float b) { return a * b; }
__device__ __forceinline__ double times(double a, double b) { return a * b; }
__device__ __forceinline__ int times(int a, int b) { return int(uint32(a) * uint32(b)); }
__device__ __forceinline__ float plus(float a, float b) { return a + b; }
__device__ __forceinline__ double plus(double a, double b) { return a + b; }
__device__ __forceinline__ int plus(int a, int b) { return int(uint32(a) + uint32(b)); }

// alpha and beta in the type of the sums. Those of integers are whole numbers.
template <class T>
__device__ __forceinline__ T scalar(double x) {
  return T(x);
}
template <>
__device__ __forceinline__ int scalar<int>(double x) {
  return int(uint32(int64(x)));
}

// C = alpha * sum + beta * C; without reading C when beta is 0.
__device__ __forceinline__ void update(C* c, Sum sum, Sum alpha, Sum beta) {
  Sum value = times(alpha, sum);
  if (beta != Sum(0)) value = multiply_add(beta, widen<Sum>(load(c)), value);
  store(c, rounded<C>::from(value));
}

#endif  // ROOFTUNE_SCALAR_CUH_
