// Panels of words: 32 bits hold the few terms of a row that a dot-product instruction takes at
// once, two numbers of 16 bits or four of 8.
//
// How operands become words is said by a Grouping:
//   E            element type of the operands
//   kGroup       terms in a word
//   kParts       words that a group becomes: 1, or for f32 the bf16 numbers that it is the sum of
//   kAsTheyLie   the bits of terms that lie side by side in memory are their words
//   bits<part>(element, is_unsigned)   32 / kGroup bits, the others zero
#ifndef ROOFTUNE_OPS_MATMUL_CPU_WORDS_H_
#define ROOFTUNE_OPS_MATMUL_CPU_WORDS_H_

#include "ops/matmul/cpu/pack.h"

namespace rooftune {
namespace {

using Word = std::uint32_t;

struct Bf16Pairs {
  using E = Bf16;
  static constexpr int kGroup = 2, kParts = 1;
  static constexpr bool kAsTheyLie = true;
  template <int>
  static Word bits(Bf16 element, bool) {
    return element.bits;
  }
};

// Bytes, widened to 16 bits: every product of two fits.
struct BytePairs {
  using E = std::int8_t;
  static constexpr int kGroup = 2, kParts = 1;
  static constexpr bool kAsTheyLie = false;
  template <int>
  static Word bits(std::int8_t element, bool is_unsigned) {
    return static_cast<Word>(element) & (is_unsigned ? 0xffu : 0xffffu);
  }
};

struct ByteQuads {
  using E = std::int8_t;
  static constexpr int kGroup = 4, kParts = 1;
  static constexpr bool kAsTheyLie = true;
  template <int>
  static Word bits(std::int8_t element, bool) {
    return static_cast<std::uint8_t>(element);
  }
};

// The nearest bf16 to an f32, as an f32; a finite number stays finite.
inline float nearest_bf16(float value) {
  const Word word = as_word(value), size = word & 0x7fffffffu;
  const Word rounded = (word + 0x7fffu + (word >> 16 & 1u)) & 0xffff0000u;
  const Word largest = (word & 0x80000000u) | 0x7f7f0000u;
  const Word finite = size > 0x7f7f7fffu ? largest : rounded;
  const Word special = size > 0x7f800000u ? word | 0x400000u : word;  // NaN stays NaN
  return as_float(size >= 0x7f800000u ? special & 0xffff0000u : finite);
}

// f32 as the sum of kCount bf16 numbers, each the nearest to what the ones before it leave. Of Inf
// and NaN the first part is all.
template <int kCount>
struct FloatParts {
  using E = float;
  static constexpr int kGroup = 2, kParts = kCount;
  static constexpr bool kAsTheyLie = false;
  template <int kPart>
  static Word bits(float value, bool) {
    float part = nearest_bf16(value);
    if constexpr (kPart > 0) {
      const bool finite = (as_word(value) & 0x7f800000u) != 0x7f800000u;
      float rest = value - part;
#pragma GCC unroll 4
      for (int i = 1; i < kPart; ++i) rest -= nearest_bf16(rest);
      part = finite ? nearest_bf16(rest) : 0.0f;
    }
    return as_word(part) >> 16;
  }

#if ROOFTUNE_KERNEL_ISA == 2
  // The same for 16 numbers.
  template <int kPart>
  static __m512i vector_bits(__m512 value) {
    const __m512i size =
        _mm512_and_si512(_mm512_castps_si512(value), _mm512_set1_epi32(0x7fffffff));
    const __mmask16 special = _mm512_cmpgt_epi32_mask(size, _mm512_set1_epi32(0x7f7fffff));
    const __mmask16 nan = _mm512_cmpgt_epi32_mask(size, _mm512_set1_epi32(0x7f800000));
    // Numbers that would round up to Inf are cut off instead.
    const __mmask16 most = _mm512_cmpgt_epi32_mask(size, _mm512_set1_epi32(0x7f7f7fff));
    const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xffff0000u));
    const auto rounded = [&](__m512i word) {
      const __m512i odd =
          _mm512_and_si512(_mm512_maskz_srli_epi32(0xffff, word, 16), _mm512_set1_epi32(1));
      return _mm512_and_si512(
          _mm512_add_epi32(word, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff))), upper);
    };
    const __m512i word = _mm512_castps_si512(value);
    __m512i part = _mm512_mask_and_epi32(rounded(word), most, word, upper);
    part = _mm512_mask_or_epi32(part, nan, part, _mm512_set1_epi32(0x400000));
    if constexpr (kPart > 0) {
      __m512 rest = value;
#pragma GCC unroll 4
      for (int i = 0; i < kPart; ++i) {
        rest = _mm512_sub_ps(rest, _mm512_castsi512_ps(part));
        part = rounded(_mm512_castps_si512(rest));
      }
      part = _mm512_maskz_mov_epi32(static_cast<__mmask16>(~special), part);
    }
    return _mm512_maskz_srli_epi32(0xffff, part, 16);
  }
#endif
};

// Words of `whole` groups of terms that lie side by side: the common case, and the fast one.
template <class G, int kPart>
void dense_row_of_words(const typename G::E* from, Index whole, bool is_unsigned, Word* to) {
  if constexpr (G::kAsTheyLie) {
    __builtin_memcpy(to, from, static_cast<std::size_t>(whole) * sizeof(Word));
    return;
  }
  constexpr int kBits = 32 / G::kGroup;
  Index g = 0;
#if ROOFTUNE_KERNEL_ISA == 2
  if constexpr (__is_same(typename G::E, float)) {
    for (; g + 16 <= whole; g += 16) {
      for (int half = 0; half < 2; ++half) {
        const __m512i bits =
            G::template vector_bits<kPart>(_mm512_loadu_ps(from + 2 * g + 16 * half));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + g + 8 * half),
                            _mm512_maskz_cvtepi32_epi16(0xffff, bits));
      }
    }
  }
#endif
  for (; g < whole; ++g) {
    Word word = 0;
#pragma GCC unroll 4
    for (int t = 0; t < G::kGroup; ++t) {
      word |= G::template bits<kPart>(load_one(from + g * G::kGroup + t), is_unsigned)
              << (t * kBits);
    }
    to[g] = word;
  }
}

// Words of one row whose terms lie `step` apart: to[g] for the groups of `terms`, the last one
// filled up with zeros.
template <class G, int kPart>
void row_of_words(const typename G::E* from, Index step, Index terms, bool is_unsigned, Word* to) {
  constexpr int kBits = 32 / G::kGroup;
  const Index whole = terms / G::kGroup;
  if (step == 1) {
    dense_row_of_words<G, kPart>(from, whole, is_unsigned, to);
  } else {
    for (Index g = 0; g < whole; ++g) {
      Word word = 0;
      for (int t = 0; t < G::kGroup; ++t) {
        word |= G::template bits<kPart>(load_one(from + (g * G::kGroup + t) * step), is_unsigned)
                << (t * kBits);
      }
      to[g] = word;
    }
  }
  if (whole * G::kGroup == terms) return;
  Word word = 0;
  for (Index p = whole * G::kGroup; p < terms; ++p) {
    word |= G::template bits<kPart>(load_one(from + p * step), is_unsigned)
            << ((p - whole * G::kGroup) * kBits);
  }
  to[whole] = word;
}

// One group of terms of kPanel rows that lie side by side; rows beyond `rows` become zero.
template <class G, int kPart, Index kPanel>
void column_of_words(const typename G::E* from, Index step, Index rows, Index terms,
                     bool is_unsigned, Word* to) {
  constexpr int kBits = 32 / G::kGroup;
  if (rows == kPanel && terms == G::kGroup) {
#if ROOFTUNE_KERNEL_ISA == 2
    if constexpr (__is_same(typename G::E, float) && kPanel % 16 == 0) {
      for (Index r = 0; r < kPanel; r += 16) {
        const __m512i low = G::template vector_bits<kPart>(_mm512_loadu_ps(from + r));
        const __m512i high = G::template vector_bits<kPart>(_mm512_loadu_ps(from + r + step));
        _mm512_storeu_si512(to + r,
                            _mm512_or_si512(low, _mm512_maskz_slli_epi32(0xffff, high, 16)));
      }
      return;
    }
#endif
    for (Index r = 0; r < kPanel; ++r) {
      Word word = 0;
#pragma GCC unroll 4
      for (int t = 0; t < G::kGroup; ++t) {
        word |= G::template bits<kPart>(load_one(from + r + t * step), is_unsigned) << (t * kBits);
      }
      to[r] = word;
    }
    return;
  }
  for (Index r = 0; r < kPanel; ++r) {
    Word word = 0;
    for (Index t = 0; r < rows && t < terms; ++t) {
      word |= G::template bits<kPart>(load_one(from + r + t * step), is_unsigned) << (t * kBits);
    }
    to[r] = word;
  }
}

// A panel: to[g * pitch + r] is group g of row r, for `groups` groups of which those behind the
// last term are zero.
template <class G, int kPart, Index kPanel>
void pack_words(const typename G::E* from, Index row, Index step, Index rows, Index terms,
                Index groups, bool is_unsigned, Word* to, Index pitch) {
  const Index used = ceil_div(terms, Index{G::kGroup});
  for (Index g = used; g < groups; ++g) {
    for (Index r = 0; r < kPanel; ++r) to[g * pitch + r] = 0;
  }
  if (row == 1) {
    for (Index g = 0; g < used; ++g) {
      column_of_words<G, kPart, kPanel>(from + g * G::kGroup * step, step, rows,
                                        lesser(G::kGroup, terms - g * G::kGroup), is_unsigned,
                                        to + g * pitch);
    }
    return;
  }
  // Stretches of four rows, turned.
  constexpr Index kStretch = 128;  // groups
  alignas(64) Word words[4][kStretch];
  for (Index r = 0; r < kPanel; r += 4) {
    const Index width = lesser(4, kPanel - r);
    for (Index g0 = 0; g0 < used; g0 += kStretch) {
      const Index p0 = g0 * G::kGroup;
      const Index count = lesser(kStretch, used - g0);
      const Index count_terms = lesser(kStretch * G::kGroup, terms - p0);
      for (Index i = 0; i < 4; ++i) {
        if (r + i < rows) {
          row_of_words<G, kPart>(from + (r + i) * row + p0 * step, step, count_terms, is_unsigned,
                                 words[i]);
        } else {
          for (Index g = 0; g < count; ++g) words[i][g] = 0;
        }
      }
      if (width == 4) {
        using Sq = Square<float>;
        Index g = 0;
        for (; g + 4 <= count; g += 4) {
          Sq::Vector v[4];
#pragma GCC unroll 4
          for (int i = 0; i < 4; ++i) __builtin_memcpy(&v[i], words[i] + g, 16);
          Sq::turn(v);
#pragma GCC unroll 4
          for (Index i = 0; i < 4; ++i) {
            __builtin_memcpy(to + (g0 + g + i) * pitch + r, &v[i], 16);
          }
        }
        for (; g < count; ++g) {
          for (Index i = 0; i < 4; ++i) to[(g0 + g) * pitch + r + i] = words[i][g];
        }
      } else {
        for (Index g = 0; g < count; ++g) {
          for (Index i = 0; i < width; ++i) to[(g0 + g) * pitch + r + i] = words[i][g];
        }
      }
    }
  }
}

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CPU_WORDS_H_
