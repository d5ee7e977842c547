// Element types of kernels, without the toolkit's headers: those cost a run-time compiler more time
// than a whole kernel.
#ifndef ROOFTUNE_TYPES_CUH_
#define ROOFTUNE_TYPES_CUH_

using int8 = signed char;
using uint8 = unsigned char;
using int64 = long long;
using uint16 = unsigned short;
using uint32 = unsigned int;
using uint64 = unsigned long long;

struct bf16 {
  uint16 bits;
};
struct f16 {
  uint16 bits;
};
struct f8e4m3 {
  uint8 bits;
};
struct f8e5m2 {
  uint8 bits;
};

// Whether a kernel's sums of products of T are f32, f64 or i32.
template <class T>
struct sum_of {
  using type = float;
};
template <>
struct sum_of<double> {
  using type = double;
};
template <>
struct sum_of<int8> {
  using type = int;
};
template <>
struct sum_of<uint8> {
  using type = int;
};

// --- Widening, exact.
template <class Sum>
__device__ __forceinline__ Sum widen(float x) {
  return Sum(x);
}
template <class Sum>
__device__ __forceinline__ Sum widen(double x) {
  return Sum(x);
}
template <class Sum>
__device__ __forceinline__ Sum widen(int8 x) {
  return Sum(x);
}
template <class Sum>
__device__ __forceinline__ Sum widen(uint8 x) {
  return Sum(x);
}
template <class Sum>
__device__ __forceinline__ Sum widen(int x) {
  return Sum(x);
}
template <class Sum>
__device__ __forceinline__ Sum widen(bf16 x) {
  return Sum(__uint_as_float(uint32(x.bits) << 16));
}
template <class Sum>
__device__ __forceinline__ Sum widen(f16 x) {
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(x.bits));
  return Sum(wide);
}
// e5m2 is the upper half of an f16.
template <class Sum>
__device__ __forceinline__ Sum widen(f8e5m2 x) {
  return widen<Sum>(f16{uint16(uint16(x.bits) << 8)});
}
// Sign, 4 bits of exponent with bias 7, 3 of fraction; no Inf, NaN is 0x7f. By arithmetic, so that
// every architecture has it.
template <class Sum>
__device__ __forceinline__ Sum widen(f8e4m3 x) {
  const uint32 size = x.bits & 0x7f;
  // As an f32 its exponent is 120 too small.
  float wide = __uint_as_float(size << 20) * 0x1p120f;
  if (size == 0x7f) wide = __uint_as_float(0x7fffffff);
  return Sum((x.bits & 0x80) ? -wide : wide);
}

// --- Rounding to the output's type: to nearest even; NaN stays NaN, too large becomes Inf.
template <class T>
struct rounded;
template <>
struct rounded<float> {
  __device__ __forceinline__ static float from(float x) { return x; }
};
template <>
struct rounded<double> {
  __device__ __forceinline__ static double from(double x) { return x; }
};
template <>
struct rounded<int> {
  __device__ __forceinline__ static int from(int x) { return x; }
};
template <>
struct rounded<bf16> {
  __device__ __forceinline__ static bf16 from(float x) {
    bf16 narrow;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(narrow.bits) : "f"(x));
    return narrow;
  }
};
template <>
struct rounded<f16> {
  __device__ __forceinline__ static f16 from(float x) {
    f16 narrow;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(narrow.bits) : "f"(x));
    return narrow;
  }
};

// Two sums as one 32-bit word, the first in the lower half.
__device__ __forceinline__ uint32 rounded_pair(float low, float high, bf16) {
  uint32 pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
__device__ __forceinline__ uint32 rounded_pair(float low, float high, f16) {
  uint32 pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

#endif  // ROOFTUNE_TYPES_CUH_
