// One vector type for each instruction-set level: Simd<float> and Simd<double>. The kernels are
// templates over it.
//
// This header and every header that includes it belong to the kernels_<isa>.cc files only. All
// that they define is in an unnamed namespace: were it not, the linker would keep one of the
// equally named instances of the three translation units, and a portable caller could be given
// the one with AVX-512 instructions. For the same reason they use no inline function of the
// standard library.
#ifndef ROOFTUNE_OPS_SIMD_H_
#define ROOFTUNE_OPS_SIMD_H_

#include <cstdint>

#if ROOFTUNE_KERNEL_ISA >= 1
#include <immintrin.h>
#endif

namespace rooftune {
namespace {

using Index = std::int64_t;

inline Index lesser(Index a, Index b) { return a < b ? a : b; }
inline Index greater(Index a, Index b) { return a > b ? a : b; }
inline Index ceil_div(Index a, Index b) { return (a + b - 1) / b; }
inline Index round_up(Index a, Index b) { return ceil_div(a, b) * b; }

// The first element of part `index` when `total` is cut into `parts` that differ by one at most.
inline Index part_begin(Index total, Index parts, Index index) {
  return total / parts * index + lesser(index, total % parts);
}

// Operands need not be aligned to their element type, so a scalar is never read through a T*.
template <class T>
inline T load_one(const T* p) {
  T value;
  __builtin_memcpy(&value, p, sizeof(T));
  return value;
}
template <class T>
inline void store_one(T* p, T value) {
  __builtin_memcpy(p, &value, sizeof(T));
}

inline void prefetch(const void* p) { __builtin_prefetch(p, 0, 3); }

template <class T>
struct Simd;

// Members of every Simd<T>:
//   Vector, Mask, kWidth, kRegisters
//   load, store                     no alignment needed
//   load(p, mask), store(p, mask)   touch only the lanes of the mask; others read as zero
//   mask(n)                         the first n lanes, 0 <= n <= kWidth
//   fma(a, b, c)                    a * b + c, fused where the level has it
//   sum(v)                          of all lanes, in a fixed order

#if ROOFTUNE_KERNEL_ISA == 2

template <>
struct Simd<float> {
  using Element = float;
  using Vector = __m512;
  using Mask = __mmask16;
  static constexpr int kWidth = 16;
  static constexpr int kRegisters = 32;
  static Vector zero() { return _mm512_setzero_ps(); }
  static Vector broadcast(float x) { return _mm512_set1_ps(x); }
  static Mask mask(Index n) { return static_cast<Mask>((1u << n) - 1); }
  static Vector load(const float* p) { return _mm512_loadu_ps(p); }
  static Vector load(const float* p, Mask m) { return _mm512_maskz_loadu_ps(m, p); }
  static void store(float* p, Vector v) { _mm512_storeu_ps(p, v); }
  static void store(float* p, Mask m, Vector v) { _mm512_mask_storeu_ps(p, m, v); }
  static Vector add(Vector a, Vector b) { return _mm512_add_ps(a, b); }
  static Vector mul(Vector a, Vector b) { return _mm512_mul_ps(a, b); }
  static Vector fma(Vector a, Vector b, Vector c) { return _mm512_fmadd_ps(a, b, c); }
  // Masked: GCC 12 warns of an uninitialised value inside _mm512_reduce_add_ps and the casts.
  static float sum(Vector v) {
    const __m256 half = _mm256_add_ps(_mm512_maskz_extractf32x8_ps(0xff, v, 0),
                                      _mm512_maskz_extractf32x8_ps(0xff, v, 1));
    __m128 x = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
    x = _mm_add_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)));
  }
};

template <>
struct Simd<double> {
  using Element = double;
  using Vector = __m512d;
  using Mask = __mmask8;
  static constexpr int kWidth = 8;
  static constexpr int kRegisters = 32;
  static Vector zero() { return _mm512_setzero_pd(); }
  static Vector broadcast(double x) { return _mm512_set1_pd(x); }
  static Mask mask(Index n) { return static_cast<Mask>((1u << n) - 1); }
  static Vector load(const double* p) { return _mm512_loadu_pd(p); }
  static Vector load(const double* p, Mask m) { return _mm512_maskz_loadu_pd(m, p); }
  static void store(double* p, Vector v) { _mm512_storeu_pd(p, v); }
  static void store(double* p, Mask m, Vector v) { _mm512_mask_storeu_pd(p, m, v); }
  static Vector add(Vector a, Vector b) { return _mm512_add_pd(a, b); }
  static Vector mul(Vector a, Vector b) { return _mm512_mul_pd(a, b); }
  static Vector fma(Vector a, Vector b, Vector c) { return _mm512_fmadd_pd(a, b, c); }
  static double sum(Vector v) {
    const __m256d half = _mm256_add_pd(_mm512_maskz_extractf64x4_pd(0xff, v, 0),
                                       _mm512_maskz_extractf64x4_pd(0xff, v, 1));
    const __m128d x = _mm_add_pd(_mm256_castpd256_pd128(half), _mm256_extractf128_pd(half, 1));
    return _mm_cvtsd_f64(_mm_add_sd(x, _mm_unpackhi_pd(x, x)));
  }
};

#elif ROOFTUNE_KERNEL_ISA == 1

template <>
struct Simd<float> {
  using Element = float;
  using Vector = __m256;
  using Mask = __m256i;
  static constexpr int kWidth = 8;
  static constexpr int kRegisters = 16;
  static Vector zero() { return _mm256_setzero_ps(); }
  static Vector broadcast(float x) { return _mm256_set1_ps(x); }
  static Mask mask(Index n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)),
                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  static Vector load(const float* p) { return _mm256_loadu_ps(p); }
  static Vector load(const float* p, Mask m) { return _mm256_maskload_ps(p, m); }
  static void store(float* p, Vector v) { _mm256_storeu_ps(p, v); }
  static void store(float* p, Mask m, Vector v) { _mm256_maskstore_ps(p, m, v); }
  static Vector add(Vector a, Vector b) { return _mm256_add_ps(a, b); }
  static Vector mul(Vector a, Vector b) { return _mm256_mul_ps(a, b); }
  static Vector fma(Vector a, Vector b, Vector c) { return _mm256_fmadd_ps(a, b, c); }
  static float sum(Vector v) {
    __m128 x = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    x = _mm_add_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)));
  }
};

template <>
struct Simd<double> {
  using Element = double;
  using Vector = __m256d;
  using Mask = __m256i;
  static constexpr int kWidth = 4;
  static constexpr int kRegisters = 16;
  static Vector zero() { return _mm256_setzero_pd(); }
  static Vector broadcast(double x) { return _mm256_set1_pd(x); }
  static Mask mask(Index n) {
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3));
  }
  static Vector load(const double* p) { return _mm256_loadu_pd(p); }
  static Vector load(const double* p, Mask m) { return _mm256_maskload_pd(p, m); }
  static void store(double* p, Vector v) { _mm256_storeu_pd(p, v); }
  static void store(double* p, Mask m, Vector v) { _mm256_maskstore_pd(p, m, v); }
  static Vector add(Vector a, Vector b) { return _mm256_add_pd(a, b); }
  static Vector mul(Vector a, Vector b) { return _mm256_mul_pd(a, b); }
  static Vector fma(Vector a, Vector b, Vector c) { return _mm256_fmadd_pd(a, b, c); }
  static double sum(Vector v) {
    const __m128d x = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));
    return _mm_cvtsd_f64(_mm_add_sd(x, _mm_unpackhi_pd(x, x)));
  }
};

#else

// 16 bytes: what every x86-64 has, and what NEON has. A wider vector type would be split by the
// compiler, with more registers than there are.
template <class T>
struct PortableSimd {
  using Element = T;
  typedef T Vector __attribute__((vector_size(16)));
  using Mask = Index;
  static constexpr int kWidth = 16 / sizeof(T);
  static constexpr int kRegisters = 16;
  static Vector zero() { return Vector{}; }
  static Vector broadcast(T x) { return x - Vector{}; }
  static Mask mask(Index n) { return n; }
  static Vector load(const T* p) {
    Vector v;
    __builtin_memcpy(&v, p, sizeof(v));
    return v;
  }
  static Vector load(const T* p, Mask n) {
    Vector v{};
    for (Index i = 0; i < n; ++i) v[i] = load_one(p + i);
    return v;
  }
  static void store(T* p, Vector v) { __builtin_memcpy(p, &v, sizeof(v)); }
  static void store(T* p, Mask n, Vector v) {
    for (Index i = 0; i < n; ++i) store_one(p + i, T(v[i]));
  }
  static Vector add(Vector a, Vector b) { return a + b; }
  static Vector mul(Vector a, Vector b) { return a * b; }
  static Vector fma(Vector a, Vector b, Vector c) { return a * b + c; }
  static T sum(Vector v) {
    if constexpr (kWidth == 4) {
      return (v[0] + v[2]) + (v[1] + v[3]);
    } else {
      return v[0] + v[1];
    }
  }
};
template <>
struct Simd<float> : PortableSimd<float> {};
template <>
struct Simd<double> : PortableSimd<double> {};

#endif

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_SIMD_H_
