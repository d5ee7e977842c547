// Random numbers in all elements of some matrices, the same for the same seed: +-[0.5, 1.5], or
// what TrialMemory::fill_random says of integers. ELEMENT is their type.
#include "ops/matmul/cuda/verify_matrices.cuh"

using Element = ELEMENT;

// `size` is in [0.5, 1.5), x the same with a sign; `bits` are random and independent of both.
template <class T>
struct random_element {
  __device__ static T from(float x, uint32, float) { return rounded<T>::from(x); }
};
template <>
struct random_element<int> {
  __device__ static int from(float x, uint32, float) { return int(x * 1000); }
};
template <>
struct random_element<int8> {
  __device__ static int8 from(float x, uint32, float shrink) {
    return int8(rintf(x * fmaxf(84 * shrink, 2)));
  }
};
template <>
struct random_element<uint8> {
  __device__ static uint8 from(float x, uint32, float shrink) {
    return uint8(rintf(fmaxf(126 * shrink, 3) + x * fmaxf(84 * shrink, 2)));
  }
};
// Every number of the type from 0.5 to 1.5.
template <>
struct random_element<f8e4m3> {
  __device__ static f8e4m3 from(float x, uint32 bits, float) {
    return {uint8((x < 0 ? 0x80 : 0) | (0x30 + bits % 13))};
  }
};
template <>
struct random_element<f8e5m2> {
  __device__ static f8e5m2 from(float x, uint32 bits, float) {
    return {uint8((x < 0 ? 0x80 : 0) | (0x38 + bits % 7))};
  }
};

// splitmix64, as a hash.
__device__ __forceinline__ uint64 mix(uint64 word) {
  word *= 0x9e3779b97f4a7c15ull;
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9ull;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebull;
  return word ^ (word >> 31);
}

extern "C" __global__ void __launch_bounds__(rooftune::kVerifyThreads)
    rooftune_kernel(const __grid_constant__ rooftune::VerifyRandomArgs args) {
  const rooftune::VerifyMatrices& m = args.matrices;
  const int64 total = m.count * m.rows * m.cols;
  const bool narrow = total < (int64(1) << 32);  // divisions of 64 bits are slow
#pragma unroll 1
  for (int64 at = blockIdx.x * int64(blockDim.x) + threadIdx.x; at < total;
       at += gridDim.x * int64(blockDim.x)) {
    int64 row = narrow ? uint32(at) / uint32(m.cols) : at / m.cols;
    const int64 col = at - row * m.cols;
    int64 offset = col * m.col_stride;
    if (m.rows * m.count > 1) {
      const int64 index = narrow ? uint32(row) / uint32(m.rows) : row / m.rows;
      row -= index * m.rows;
      offset += row * m.row_stride + matrix_offset(m, index);
    }
    const uint64 word = mix(uint64(at) + (args.seed << 40) + 1);
    const float size = 0.5f + float(uint32(word >> 40)) * 0x1p-24f;
    const float x = word & 1 ? size : -size;
    store_element(static_cast<Element*>(const_cast<void*>(m.base)) + offset,
                  random_element<Element>::from(x, uint32(word) >> 1, args.shrink));
  }
}
