// Dot products of rows whose terms lie side by side. A kind of them is a Dots, which has
//   E, X                  element type of the operands; that of the second one as it is read
//   T, Total              type of the sums; what long ones are added up in
//   Vector, kTerms        sums of lanes; terms that a step takes
//   zero, load_a(p), load_x(p)      with a count as well: beyond it terms read as zero
//   add(sum, a, x), plus(sum, sum), total(sum)
//   finish(total)
//   with_signs(a_unsigned, x_unsigned, run)   run.operator()<D>() with the Dots for these signs
#ifndef ROOFTUNE_OPS_MATMUL_CPU_DOTS_H_
#define ROOFTUNE_OPS_MATMUL_CPU_DOTS_H_

#include "ops/matmul/cpu/product.h"

namespace rooftune {
namespace {

// Rows that come from memory arrive fastest as one stream, row after row, while what they meet
// stays in the first-level cache; from a cache, several at a time share its loads.
template <class E>
bool row_after_row(Index rows, Index terms, Index columns) {
  constexpr Index kFar = 256 * 1024, kNear = 16 * 1024;  // bytes; kFar in one task of several
  const Index bytes = terms * static_cast<Index>(sizeof(E));
  return rows * bytes >= kFar && columns * bytes <= kNear;
}

// Multiply-adds in the type of the sums, to which operands are widened as they are loaded.
template <class S, class Element = typename S::Element, class Second = Element>
struct FmaDots {
  using E = Element;
  using X = Second;
  using T = typename S::Element;
  using Total = double;
  using Vector = typename S::Vector;
  static constexpr Index kTerms = S::kWidth;
  static constexpr bool kManyRegisters = S::kRegisters == 32;
  static Vector zero() { return S::zero(); }
  static Vector load_a(const E* p) { return Elements<S, E>::load(p); }
  static Vector load_a(const E* p, Index n) { return Elements<S, E>::load(p, S::mask(n)); }
  static Vector load_x(const X* p) { return Elements<S, X>::load(p); }
  static Vector load_x(const X* p, Index n) { return Elements<S, X>::load(p, S::mask(n)); }
  static Vector add(Vector sum, Vector a, Vector x) { return S::fma(a, x, sum); }
  static Vector plus(Vector a, Vector b) { return S::add(a, b); }
  static double total(Vector sum) { return double{S::sum(sum)}; }
  static T finish(double total) { return static_cast<T>(total); }
  template <class Run>
  static void with_signs(bool, bool, Run run) {
    run.template operator()<FmaDots>();
  }
};

#ifdef __AVX512BF16__
struct Bf16Dots {
  using E = Bf16;
  using X = Bf16;
  using T = float;
  using Total = double;
  using Vector = __m512;
  static constexpr Index kTerms = 32;
  static constexpr bool kManyRegisters = true;
  static Vector zero() { return _mm512_setzero_ps(); }
  static __m512i load_a(const Bf16* p) { return _mm512_loadu_si512(p); }
  static __m512i load_a(const Bf16* p, Index n) {
    return _mm512_maskz_loadu_epi16(static_cast<__mmask32>((std::uint64_t{1} << n) - 1), p);
  }
  static __m512i load_x(const Bf16* p) { return load_a(p); }
  static __m512i load_x(const Bf16* p, Index n) { return load_a(p, n); }
  static Vector add(Vector sum, __m512i a, __m512i x) {
    return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh&>(a), reinterpret_cast<__m512bh&>(x));
  }
  static Vector plus(Vector a, Vector b) { return _mm512_add_ps(a, b); }
  static double total(Vector sum) { return double{Simd<float>::sum(sum)}; }
  static float finish(double total) { return static_cast<float>(total); }
  template <class Run>
  static void with_signs(bool, bool, Run run) {
    run.template operator()<Bf16Dots>();
  }
};
#endif

// Bytes, widened to 16 bits: pairs of products are added exactly. Sums count modulo 2^32.
#if ROOFTUNE_KERNEL_ISA == 2
struct WideBytes {
  using Vector = __m512i;
  static constexpr Index kTerms = 32;
  static constexpr bool kManyRegisters = true;
  static Vector zero() { return _mm512_setzero_si512(); }
  template <bool kUnsigned>
  static Vector widen(__m256i bytes) {
    return kUnsigned ? _mm512_maskz_cvtepu8_epi16(~__mmask32{0}, bytes)
                     : _mm512_maskz_cvtepi8_epi16(~__mmask32{0}, bytes);
  }
  template <bool kUnsigned>
  static Vector load(const std::int8_t* p) {
    return widen<kUnsigned>(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  template <bool kUnsigned>
  static Vector load(const std::int8_t* p, Index count) {
    return widen<kUnsigned>(
        _mm256_maskz_loadu_epi8(static_cast<__mmask32>((std::uint64_t{1} << count) - 1), p));
  }
  static Vector add(Vector sum, Vector a, Vector x) {
    return _mm512_add_epi32(sum, _mm512_madd_epi16(a, x));
  }
  static Vector plus(Vector a, Vector b) { return _mm512_add_epi32(a, b); }
};
#elif ROOFTUNE_KERNEL_ISA == 1
struct WideBytes {
  using Vector = __m256i;
  static constexpr Index kTerms = 16;
  static constexpr bool kManyRegisters = false;
  static Vector zero() { return _mm256_setzero_si256(); }
  template <bool kUnsigned>
  static Vector load(const std::int8_t* p) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return kUnsigned ? _mm256_cvtepu8_epi16(bytes) : _mm256_cvtepi8_epi16(bytes);
  }
  template <bool kUnsigned>
  static Vector load(const std::int8_t* p, Index count) {
    std::int8_t part[kTerms] = {};
    for (Index i = 0; i < count; ++i) part[i] = p[i];
    return load<kUnsigned>(part);
  }
  static Vector add(Vector sum, Vector a, Vector x) {
    return _mm256_add_epi32(sum, _mm256_madd_epi16(a, x));
  }
  static Vector plus(Vector a, Vector b) { return _mm256_add_epi32(a, b); }
};
#endif

#if ROOFTUNE_KERNEL_ISA >= 1
template <bool kAUnsigned, bool kXUnsigned>
struct ByteDots : WideBytes {
  using E = std::int8_t;
  using X = E;
  using T = std::int32_t;
  using Total = std::uint32_t;
  static Vector load_a(const E* p) { return load<kAUnsigned>(p); }
  static Vector load_a(const E* p, Index count) { return load<kAUnsigned>(p, count); }
  static Vector load_x(const E* p) { return load<kXUnsigned>(p); }
  static Vector load_x(const E* p, Index count) { return load<kXUnsigned>(p, count); }
  static Total total(Vector sum) {
    std::uint32_t lanes[sizeof(Vector) / 4], all = 0;
    __builtin_memcpy(lanes, &sum, sizeof(sum));
    for (const std::uint32_t lane : lanes) all += lane;
    return all;
  }
  static T finish(Total total) { return static_cast<T>(total); }
  template <class Run>
  static void with_signs(bool a_unsigned, bool x_unsigned, Run run) {
    if (a_unsigned) {
      x_unsigned ? run.template operator()<ByteDots<true, true>>()
                 : run.template operator()<ByteDots<true, false>>();
    } else {
      x_unsigned ? run.template operator()<ByteDots<false, true>>()
                 : run.template operator()<ByteDots<false, false>>();
    }
  }
};
using Bytes = ByteDots<false, false>;  // of all signs
#endif

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CPU_DOTS_H_
