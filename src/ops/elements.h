// Operands of 16 bits as vectors of f32: Elements<S, E> loads and stores elements of type E as the
// vectors of S. For the element type of S itself it does nothing but load and store.
//
// For the kernels_<isa>.cc files only, like simd.h and for the reasons given there; the public
// types of rooftune/float16.h are not used here because their functions are inline ones.
#ifndef ROOFTUNE_OPS_ELEMENTS_H_
#define ROOFTUNE_OPS_ELEMENTS_H_

#include "ops/simd.h"

namespace rooftune {
namespace {

struct Bf16 {
  std::uint16_t bits;
};
struct F16 {
  std::uint16_t bits;
};

inline float as_float(std::uint32_t word) {
  float value;
  __builtin_memcpy(&value, &word, sizeof value);
  return value;
}
inline std::uint32_t as_word(float value) {
  std::uint32_t word;
  __builtin_memcpy(&word, &value, sizeof word);
  return word;
}

inline double to_sum(double value) { return value; }
inline float to_sum(float value) { return value; }
inline float to_sum(Bf16 value) { return as_float(std::uint32_t{value.bits} << 16); }
inline float to_sum(F16 value) {
  const std::uint32_t sign = std::uint32_t{value.bits & 0x8000u} << 16, size = value.bits & 0x7fffu;
  if (size >= 0x7c00u) {
    const std::uint32_t payload = (size & 0x3ffu) << 13;
    return as_float(sign | 0x7f800000u | payload | (payload != 0 ? 0x400000u : 0u));
  }
  // As an f32 these digits have an exponent that is 112 too small; subnormals come out right too.
  return as_float(sign | as_word(as_float(size << 13) * 0x1p112f));
}

// From the sums of a product to an element of its output: to nearest, ties to even; a NaN stays
// one.
template <class E>
inline E from_sum(float value);
template <>
inline float from_sum<float>(float value) {
  return value;
}
template <>
inline Bf16 from_sum<Bf16>(float value) {
  const std::uint32_t word = as_word(value);
  if ((word & 0x7fffffffu) > 0x7f800000u) return {static_cast<std::uint16_t>(word >> 16 | 0x40u)};
  return {static_cast<std::uint16_t>((word + 0x7fffu + (word >> 16 & 1u)) >> 16)};
}
template <>
inline F16 from_sum<F16>(float value) {
  const std::uint32_t word = as_word(value);
  const std::uint32_t sign = word >> 16 & 0x8000u, size = word & 0x7fffffffu;
  std::uint32_t half;
  if (size > 0x7f800000u) {
    half = 0x7e00u | (size >> 13 & 0x3ffu);
  } else if (size >= 0x477ff000u) {  // 65520: half way between the largest number and the next
    half = 0x7c00u;
  } else if (size < 0x38800000u) {  // 2^-14: the last digit of 0.5 + 2^-24 is that of a subnormal
    half = as_word(as_float(size) + 0.5f) - 0x3f000000u;
  } else {
    half = (size - 0x38000000u + 0xfffu + (size >> 13 & 1u)) >> 13;
  }
  return {static_cast<std::uint16_t>(sign | half)};
}
template <class E>
inline E from_sum(double value) {
  return value;
}
template <class E>
inline E from_sum(std::int32_t value) {
  return value;
}
inline std::int32_t to_sum(std::int32_t value) { return value; }

// What the sums of products of E are made in.
template <class E>
struct SumOf {
  using Type = E;
};
template <>
struct SumOf<Bf16> {
  using Type = float;
};
template <>
struct SumOf<F16> {
  using Type = float;
};
template <>
struct SumOf<std::int8_t> {
  using Type = std::int32_t;
};
template <class E>
using Sum = typename SumOf<E>::Type;

// Members of every Elements<S, E>, as those of Simd but for elements of type E:
//   load, store, load(p, mask), store(p, mask), broadcast(p)
template <class S, class E>
struct Elements;

template <class S, class E>
requires __is_same(E, typename S::Element) struct Elements<S, E> {
  using V = typename S::Vector;
  using M = typename S::Mask;
  static V load(const E* p) { return S::load(p); }
  static V load(const E* p, M m) { return S::load(p, m); }
  static void store(E* p, V v) { S::store(p, v); }
  static void store(E* p, M m, V v) { S::store(p, m, v); }
  static auto broadcast(const E* p) { return S::broadcast(load_one(p)); }
};

// Masked, all lanes: GCC 12 warns of an uninitialised value in the other forms.
#if ROOFTUNE_KERNEL_ISA == 2

template <>
struct Elements<Simd<float>, Bf16> {
  using V = __m512;
  using M = __mmask16;
  static V widen(__m256i bits) {
    return _mm512_castsi512_ps(
        _mm512_maskz_slli_epi32(0xffff, _mm512_maskz_cvtepu16_epi32(0xffff, bits), 16));
  }
  static __m256i narrow(V v) {
#ifdef __AVX512BF16__
    // Takes subnormal numbers for zero, as the dot products of this level do.
    const __m256bh halves = _mm512_maskz_cvtneps_pbh(0xffff, v);
    __m256i bits;
    __builtin_memcpy(&bits, &halves, sizeof bits);
    return bits;
#else
    const __m512i word = _mm512_castps_si512(v);
    const __m512i odd =
        _mm512_and_epi32(_mm512_maskz_srli_epi32(0xffff, word, 16), _mm512_set1_epi32(1));
    const __m512i up = _mm512_add_epi32(word, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
    const __m512i quiet = _mm512_or_epi32(word, _mm512_set1_epi32(0x400000));
    const __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
    const __m512i rounded = _mm512_mask_mov_epi32(up, nan, quiet);
    return _mm512_maskz_cvtepi32_epi16(0xffff, _mm512_maskz_srli_epi32(0xffff, rounded, 16));
#endif
  }
  static V load(const Bf16* p) {
    return widen(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static V load(const Bf16* p, M m) { return widen(_mm256_maskz_loadu_epi16(m, p)); }
  static void store(Bf16* p, V v) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), narrow(v)); }
  static void store(Bf16* p, M m, V v) { _mm256_mask_storeu_epi16(p, m, narrow(v)); }
  static V broadcast(const Bf16* p) { return _mm512_set1_ps(to_sum(load_one(p))); }
};

template <>
struct Elements<Simd<float>, F16> {
  using V = __m512;
  using M = __mmask16;
  static V widen(__m256i bits) { return _mm512_maskz_cvtph_ps(0xffff, bits); }
  static __m256i narrow(V v) {
    return _mm512_maskz_cvtps_ph(0xffff, v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
  static V load(const F16* p) {
    return widen(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static V load(const F16* p, M m) { return widen(_mm256_maskz_loadu_epi16(m, p)); }
  static void store(F16* p, V v) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), narrow(v)); }
  static void store(F16* p, M m, V v) { _mm256_mask_storeu_epi16(p, m, narrow(v)); }
  static V broadcast(const F16* p) {
    return widen(_mm256_set1_epi16(static_cast<short>(load_one(p).bits)));
  }
};

#elif ROOFTUNE_KERNEL_ISA == 1

// Eight elements of 16 bits and their widening; masks are of 32-bit lanes, so that a part of a
// vector goes through memory of its own.
template <class E>
struct HalfVectors {
  using V = __m256;
  using M = __m256i;
  static Index lanes(M m) {
    return __builtin_popcount(static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(m))));
  }
  static __m128i load_bits(const E* p) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  }
  static __m128i load_bits(const E* p, M m) {
    E part[8] = {};
    for (Index i = 0, n = lanes(m); i < n; ++i) part[i] = load_one(p + i);
    return load_bits(part);
  }
  static void store_bits(E* p, __m128i bits) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), bits);
  }
  static void store_bits(E* p, M m, __m128i bits) {
    E part[8];
    store_bits(part, bits);
    for (Index i = 0, n = lanes(m); i < n; ++i) store_one(p + i, part[i]);
  }
};

template <>
struct Elements<Simd<float>, Bf16> : HalfVectors<Bf16> {
  static V widen(__m128i bits) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
  }
  static __m128i narrow(V v) {
    const __m256i word = _mm256_castps_si256(v);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(word, 16), _mm256_set1_epi32(1));
    const __m256i up = _mm256_add_epi32(word, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    const __m256i quiet = _mm256_or_si256(word, _mm256_set1_epi32(0x400000));
    const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
    const __m256i rounded = _mm256_srli_epi32(_mm256_blendv_epi8(up, quiet, nan), 16);
    const __m256i packed = _mm256_packus_epi32(rounded, rounded);
    return _mm256_castsi256_si128(_mm256_permute4x64_epi64(packed, 0x08));
  }
  static V load(const Bf16* p) { return widen(load_bits(p)); }
  static V load(const Bf16* p, M m) { return widen(load_bits(p, m)); }
  static void store(Bf16* p, V v) { store_bits(p, narrow(v)); }
  static void store(Bf16* p, M m, V v) { store_bits(p, m, narrow(v)); }
  static V broadcast(const Bf16* p) { return _mm256_set1_ps(to_sum(load_one(p))); }
};

template <>
struct Elements<Simd<float>, F16> : HalfVectors<F16> {
  static V widen(__m128i bits) { return _mm256_cvtph_ps(bits); }
  static __m128i narrow(V v) {
    return _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
  static V load(const F16* p) { return widen(load_bits(p)); }
  static V load(const F16* p, M m) { return widen(load_bits(p, m)); }
  static void store(F16* p, V v) { store_bits(p, narrow(v)); }
  static void store(F16* p, M m, V v) { store_bits(p, m, narrow(v)); }
  static V broadcast(const F16* p) {
    return widen(_mm_set1_epi16(static_cast<short>(load_one(p).bits)));
  }
};

#else

template <class S, class E>
struct ScalarElements {
  using V = typename S::Vector;
  static V load(const E* p, Index n) {
    V v{};
    for (Index i = 0; i < n; ++i) v[i] = to_sum(load_one(p + i));
    return v;
  }
  static V load(const E* p) { return load(p, S::kWidth); }
  static void store(E* p, Index n, V v) {
    for (Index i = 0; i < n; ++i) store_one(p + i, from_sum<E>(float{v[i]}));
  }
  static void store(E* p, V v) { store(p, S::kWidth, v); }
  static auto broadcast(const E* p) { return S::broadcast(to_sum(load_one(p))); }
};
template <>
struct Elements<Simd<float>, Bf16> : ScalarElements<Simd<float>, Bf16> {};
template <>
struct Elements<Simd<float>, F16> : ScalarElements<Simd<float>, F16> {};

#endif

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_ELEMENTS_H_
