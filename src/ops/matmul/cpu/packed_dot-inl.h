// The packed product on dot-product instructions: each lane adds the products of the few terms that
// a word holds.
#ifndef ROOFTUNE_OPS_MATMUL_CPU_PACKED_DOT_INL_H_
#define ROOFTUNE_OPS_MATMUL_CPU_PACKED_DOT_INL_H_

#include "ops/matmul/cpu/packed.h"
#include "ops/matmul/cpu/words.h"

namespace rooftune {
namespace {

// A level's dot products, as Dot::add<form>(sum, a, b) of vectors of words. Members:
//   G, T, Vector, kLanes
//   zero, load(p), broadcast(word)
//   load_sums(p), store(p, v); write(p, v, alpha, beta)   *p = alpha * v + beta * *p
//   form(a_unsigned, b_unsigned)            kForms of them
//   flips(form)                             what the words of A are exclusive-ored with
//   correction(form)                        times the sum of a column of B: where the sums begin

// Bytes as pairs of 16-bit numbers.
#if ROOFTUNE_KERNEL_ISA == 2
struct IntegerVectors {
  using T = std::int32_t;
  using Vector = __m512i;
  static constexpr Index kLanes = 16;
  static Vector zero() { return _mm512_setzero_si512(); }
  static Vector load(const void* p) { return _mm512_loadu_si512(p); }
  static Vector load_sums(const T* p) { return load(p); }
  static void store(void* p, Vector v) { _mm512_storeu_si512(p, v); }
  static Vector broadcast(Word word) { return _mm512_set1_epi32(static_cast<int>(word)); }
  static Vector plus(Vector a, Vector b) { return _mm512_add_epi32(a, b); }
  static Vector times(Vector a, Vector b) { return _mm512_mullo_epi32(a, b); }
  static Vector pairs(Vector a, Vector b) { return _mm512_madd_epi16(a, b); }
};
#elif ROOFTUNE_KERNEL_ISA == 1
struct IntegerVectors {
  using T = std::int32_t;
  using Vector = __m256i;
  static constexpr Index kLanes = 8;
  static Vector zero() { return _mm256_setzero_si256(); }
  static Vector load(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
  static void store(void* p, Vector v) { _mm256_storeu_si256(static_cast<__m256i*>(p), v); }
  static Vector broadcast(Word word) { return _mm256_set1_epi32(static_cast<int>(word)); }
  static Vector plus(Vector a, Vector b) { return _mm256_add_epi32(a, b); }
  static Vector times(Vector a, Vector b) { return _mm256_mullo_epi32(a, b); }
  static Vector pairs(Vector a, Vector b) { return _mm256_madd_epi16(a, b); }
};
#else
struct IntegerVectors {
  using T = std::int32_t;
  typedef std::uint32_t Vector __attribute__((vector_size(16)));
  typedef std::int32_t Signed __attribute__((vector_size(16)));
  static constexpr Index kLanes = 4;
  static Vector zero() { return Vector{}; }
  static Vector load(const void* p) {
    Vector v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
  }
  static void store(void* p, Vector v) { __builtin_memcpy(p, &v, sizeof v); }
  static Vector broadcast(Word word) { return word - Vector{}; }
  static Vector plus(Vector a, Vector b) { return a + b; }
  static Vector times(Vector a, Vector b) { return a * b; }
  static Vector pairs(Vector a, Vector b) {
    const auto low = [](Vector v) { return Vector(Signed(v << 16) >> 16); };
    const auto high = [](Vector v) { return Vector(Signed(v) >> 16); };
    return low(a) * low(b) + high(a) * high(b);
  }
};
#endif

struct BytePairDot : IntegerVectors {
  using G = BytePairs;
  static constexpr int kForms = 1;
  static int form(bool, bool) { return 0; }
  static Word flips(int) { return 0; }
  static std::int32_t correction(int) { return 0; }
  template <int>
  static Vector add(Vector sum, Vector a, Vector b) {
    return plus(sum, pairs(a, b));
  }
};

#ifdef __AVX512VNNI__
// VPDPBUSD multiplies bytes without a sign by bytes with one. Where both have one or neither has,
// A is moved by 128, which adds 128 times the sum of a column of B, or takes it away.
struct ByteQuadDot : IntegerVectors {
  using G = ByteQuads;
  static constexpr int kForms = 4;
  static int form(bool a_unsigned, bool b_unsigned) {
    return (a_unsigned ? 1 : 0) + (b_unsigned ? 2 : 0);
  }
  static Word flips(int form) { return form == 0 || form == 3 ? 0x80808080u : 0; }
  static std::int32_t correction(int form) { return form == 0 ? -128 : form == 3 ? 128 : 0; }
  template <int kForm>
  static Vector add(Vector sum, Vector a, Vector b) {
    // Form 0 has made A unsigned, form 3 signed.
    return kForm == 0 || kForm == 1 ? _mm512_dpbusd_epi32(sum, a, b)
                                    : _mm512_dpbusd_epi32(sum, b, a);
  }
};
#endif

#ifdef __AVX512BF16__
template <class Grouping>
struct Bf16Dot {
  using G = Grouping;
  using T = float;
  using Vector = __m512;
  static constexpr Index kLanes = 16;
  static constexpr int kForms = 1;
  static Vector zero() { return _mm512_setzero_ps(); }
  static __m512i load(const void* p) { return _mm512_loadu_si512(p); }
  static Vector load_sums(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, Vector v) { _mm512_storeu_ps(p, v); }
  static Vector plus(Vector a, Vector b) { return _mm512_add_ps(a, b); }
  static __m512i broadcast(Word word) { return _mm512_set1_epi32(static_cast<int>(word)); }
  static int form(bool, bool) { return 0; }
  static Word flips(int) { return 0; }
  static float correction(int) { return 0; }
  template <int>
  static Vector add(Vector sum, __m512i a, __m512i b) {
    return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh&>(a), reinterpret_cast<__m512bh&>(b));
  }
};
#endif

template <class Dot>
void write_dot(float* c, typename Dot::Vector v, float alpha, float beta) {
  using S = Simd<float>;
  auto value = S::mul(S::broadcast(alpha), v);
  if (beta != 0) value = S::fma(S::broadcast(beta), S::load(c), value);
  S::store(c, value);
}
template <class Dot>
void write_dot(std::int32_t* c, typename Dot::Vector v, std::int32_t alpha, std::int32_t beta) {
  if (alpha != 1) v = Dot::times(v, Dot::broadcast(static_cast<Word>(alpha)));
  if (beta != 0) {
    v = Dot::plus(v, Dot::times(Dot::load(c), Dot::broadcast(static_cast<Word>(beta))));
  }
  Dot::store(c, v);
}

template <class Dot, int kTileRows, int kVectors>
struct DotMicro {
  using G = typename Dot::G;
  using E = typename G::E;
  using T = typename Dot::T;
  using A = Word;
  using B = Word;
  static constexpr Index kRows = kTileRows, kCols = kVectors * Dot::kLanes;
  static constexpr Index kPanelsTogether = 1;
  static constexpr bool kExactEdges = false;
  struct Scope {};

  static constexpr Index groups(Index terms) { return ceil_div(terms, Index{G::kGroup}); }
  static constexpr Index a_elements(Index terms) { return kRows * groups(terms); }
  // The last row of a panel of B: what the sums of its columns begin with.
  static constexpr Index b_elements(Index terms) { return kCols * (groups(terms) + 1); }

  template <class Out>
  static void pack_a(const Product<E, Out>& p, Index first, Index count, Index terms, A* to) {
    pack_words<G, 0, kRows>(p.a + first * p.a_row, p.a_row, p.a_col, count, terms, groups(terms),
                            p.a_unsigned, to, kRows);
    const Word flips = Dot::flips(Dot::form(p.a_unsigned, p.b_unsigned));
    if (flips == 0) return;
    for (Index i = 0; i < a_elements(terms); ++i) to[i] ^= flips;
  }
  template <class Out>
  static void pack_b(const Product<E, Out>& p, Index first, Index count, Index terms, B* to) {
    pack_words<G, 0, kCols>(p.b + first * p.b_col, p.b_col, p.b_row, count, terms, groups(terms),
                            p.b_unsigned, to, kCols);
    const auto correction = Dot::correction(Dot::form(p.a_unsigned, p.b_unsigned));
    Word* const begin = to + kCols * groups(terms);
    for (Index j = 0; j < kCols; ++j) begin[j] = 0;
    if (correction == 0) return;
    for (Index g = 0; g < groups(terms); ++g) {
      for (Index j = 0; j < kCols; ++j) {
        const Word word = to[g * kCols + j];
        for (int t = 0; t < G::kGroup; ++t) {
          const Word byte = word >> (8 * t) & 0xffu;
          begin[j] += p.b_unsigned ? byte : static_cast<Word>(static_cast<std::int8_t>(byte));
        }
      }
    }
    for (Index j = 0; j < kCols; ++j) begin[j] *= static_cast<Word>(correction);
  }

  template <int kForm>
  static void tile(Index terms, const A* a, const B* b, T* c, Index c_row, T alpha, T beta) {
    constexpr Index kLanes = Dot::kLanes;
    const Index count = groups(terms);
    typename Dot::Vector sum[kRows][kVectors];
#pragma GCC unroll 32
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        if constexpr (Dot::kForms > 1) {
          sum[i][v] = Dot::load(b + count * kCols + v * kLanes);
        } else {
          sum[i][v] = Dot::zero();
        }
      }
    }
    FetchC<T, kRows, kCols> fetch_c(c, c_row, count);
    for (Index g = count; g > 0; --g) {
      fetch_c(g);
      decltype(Dot::load(b)) vb[kVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) vb[v] = Dot::load(b + v * kLanes);
#pragma GCC unroll 32
      for (int i = 0; i < kRows; ++i) {
        const auto va = Dot::broadcast(a[i]);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          sum[i][v] = Dot::template add<kForm>(sum[i][v], va, vb[v]);
        }
      }
      a += kRows;
      b += kCols;
    }
#pragma GCC unroll 32
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        write_dot<Dot>(c + i * c_row + v * kLanes, sum[i][v], alpha, beta);
      }
    }
  }

  template <class Out>
  static void multiply(const Product<E, Out>& p, Index terms, const A* a, const B* b, T* c,
                       Index c_row, T alpha, T beta) {
    if constexpr (Dot::kForms == 1) {
      tile<0>(terms, a, b, c, c_row, alpha, beta);
    } else {
      switch (Dot::form(p.a_unsigned, p.b_unsigned)) {
        case 0:
          return tile<0>(terms, a, b, c, c_row, alpha, beta);
        case 1:
          return tile<1>(terms, a, b, c, c_row, alpha, beta);
        case 2:
          return tile<2>(terms, a, b, c, c_row, alpha, beta);
        default:
          return tile<3>(terms, a, b, c, c_row, alpha, beta);
      }
    }
  }
};

template <class Dot, int kRows, int kVectors, Blocking kBlocking>
KernelOutcome packed_dot(const void* raw, CpuContext& context) {
  const GemmArgs& args = *static_cast<const GemmArgs*>(raw);
  return with_output_type<typename Dot::G::E>(args, [&]<class Out>() {
    return run_packed<DotMicro<Dot, kRows, kVectors>, Out>(args, kBlocking, context);
  });
}

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CPU_PACKED_DOT_INL_H_
