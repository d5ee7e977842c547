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
#elif defined(ROOFTUNE_KERNEL_NEON)
#include <arm_neon.h>
#endif

namespace rooftune {
namespace {

using Index = std::int64_t;

constexpr Index lesser(Index a, Index b) { return a < b ? a : b; }
constexpr Index greater(Index a, Index b) { return a > b ? a : b; }
constexpr Index ceil_div(Index a, Index b) { return (a + b - 1) / b; }
constexpr Index round_up(Index a, Index b) { return ceil_div(a, b) * b; }

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

#elif defined(ROOFTUNE_KERNEL_NEON)

// What a scalar is until it becomes a vector: fma() multiplies with a lane of it, which many cores
// do at full rate, while filling a vector takes a vector pipe on some.
template <class T>
struct NeonScalar;
template <>
struct NeonScalar<float> {
  float x;
  operator float32x4_t() const { return vdupq_n_f32(x); }
};
template <>
struct NeonScalar<double> {
  double x;
  operator float64x2_t() const { return vdupq_n_f64(x); }
};

// A mask is the number of lanes. Loads have no branch on it, for which GCC would make a loop with
// shuffled registers for each number of lanes: a lane beyond the mask reads the last one of the
// mask, or a zero elsewhere where there is none, and is cleared.
alignas(16) constexpr double kNeonNothing[2] = {};
inline Index neon_lane(Index lane, Index n) { return greater(0, lesser(lane, n - 1)); }

template <>
struct Simd<float> {
  using Element = float;
  using Vector = float32x4_t;
  using Mask = Index;
  using Scalar = NeonScalar<float>;
  static constexpr int kWidth = 4;
  static constexpr int kRegisters = 32;
  static Vector zero() { return vdupq_n_f32(0); }
  static Scalar broadcast(float x) { return {x}; }
  static Mask mask(Index n) { return n; }
  static Vector load(const float* p) { return load_one(reinterpret_cast<const Vector*>(p)); }
  static Vector load(const float* p, Mask n) {
    const uint32x4_t lanes = vcgtq_s32(vdupq_n_s32(static_cast<int>(n)), int32x4_t{0, 1, 2, 3});
    if (n == 0) p = reinterpret_cast<const float*>(kNeonNothing);
    Vector v = vdupq_n_f32(load_one(p));
    v = vsetq_lane_f32(load_one(p + neon_lane(1, n)), v, 1);
    v = vsetq_lane_f32(load_one(p + neon_lane(2, n)), v, 2);
    v = vsetq_lane_f32(load_one(p + neon_lane(3, n)), v, 3);
    return vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(v), lanes));
  }
  static void store(float* p, Vector v) { store_one(reinterpret_cast<Vector*>(p), v); }
  static void store(float* p, Mask n, Vector v) {
    if (n == 4) store(p, v);
    if (n == 2 || n == 3) store_one(reinterpret_cast<float32x2_t*>(p), vget_low_f32(v));
    if (n == 3) store_one(p + 2, vgetq_lane_f32(v, 2));
    if (n == 1) store_one(p, vgetq_lane_f32(v, 0));
  }
  static Vector add(Vector a, Vector b) { return vaddq_f32(a, b); }
  static Vector mul(Vector a, Vector b) { return vmulq_f32(a, b); }
  static Vector fma(Vector a, Vector b, Vector c) { return vfmaq_f32(c, a, b); }
  static Vector fma(Scalar a, Vector b, Vector c) { return vfmaq_n_f32(c, b, a.x); }
  static float sum(Vector v) { return vpadds_f32(vadd_f32(vget_low_f32(v), vget_high_f32(v))); }
};

template <>
struct Simd<double> {
  using Element = double;
  using Vector = float64x2_t;
  using Mask = Index;
  using Scalar = NeonScalar<double>;
  static constexpr int kWidth = 2;
  static constexpr int kRegisters = 32;
  static Vector zero() { return vdupq_n_f64(0); }
  static Scalar broadcast(double x) { return {x}; }
  static Mask mask(Index n) { return n; }
  static Vector load(const double* p) { return load_one(reinterpret_cast<const Vector*>(p)); }
  static Vector load(const double* p, Mask n) {
    const uint64x2_t lanes = vcgtq_s64(vdupq_n_s64(n), int64x2_t{0, 1});
    if (n == 0) p = kNeonNothing;
    const Vector v = vsetq_lane_f64(load_one(p + neon_lane(1, n)), vdupq_n_f64(load_one(p)), 1);
    return vreinterpretq_f64_u64(vandq_u64(vreinterpretq_u64_f64(v), lanes));
  }
  static void store(double* p, Vector v) { store_one(reinterpret_cast<Vector*>(p), v); }
  static void store(double* p, Mask n, Vector v) {
    if (n == 2) store(p, v);
    if (n == 1) store_one(p, vgetq_lane_f64(v, 0));
  }
  static Vector add(Vector a, Vector b) { return vaddq_f64(a, b); }
  static Vector mul(Vector a, Vector b) { return vmulq_f64(a, b); }
  static Vector fma(Vector a, Vector b, Vector c) { return vfmaq_f64(c, a, b); }
  static Vector fma(Scalar a, Vector b, Vector c) { return vfmaq_n_f64(c, b, a.x); }
  static double sum(Vector v) { return vpaddd_f64(v); }
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
