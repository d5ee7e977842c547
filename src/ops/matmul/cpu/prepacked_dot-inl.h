// Products with a packed right operand on dot-product instructions.
#ifndef ROOFTUNE_OPS_MATMUL_CPU_PREPACKED_DOT_INL_H_
#define ROOFTUNE_OPS_MATMUL_CPU_PREPACKED_DOT_INL_H_

#include <utility>

#include "ops/matmul/cpu/packed_dot-inl.h"
#include "ops/matmul/cpu/prepacked.h"

namespace rooftune {
namespace {

// Dot: as in packed_dot-inl.h.
template <class Dot, int kTileRows, int kVectors>
struct PanelDotMicro {
  using G = typename Dot::G;
  using E = typename G::E;
  using T = typename Dot::T;
  using A = Word;
  using B = Word;
  static constexpr Index kRows = kTileRows, kCols = kVectors * Dot::kLanes;
  static constexpr Index kGroup = G::kGroup;
  static constexpr bool kWhole = false;
  struct Scope {};

  static constexpr Index a_elements(Index terms) { return kRows * ceil_div(terms, kGroup); }
  static constexpr Index a_offset(Index rows, Index term) { return rows * (term / kGroup); }
  static constexpr Index b_offset(Index term) { return kCols * (term / kGroup); }

  // Words of a stretch of each row, turned.
  template <class Out>
  static void pack_a(const Product<E, Out>& p, Index first, Index rows, Index term, Index terms,
                     A* to) {
    constexpr Index kStretch = 256;
    Word words[kStretch];
    const Word flips = Dot::flips(Dot::form(p.a_unsigned, p.b_unsigned));
    for (Index r = 0; r < rows; ++r) {
      const E* from = p.a + (first + r) * p.a_row + term * p.a_col;
      for (Index p0 = 0; p0 < terms; p0 += kStretch * kGroup) {
        const Index count = lesser(kStretch * kGroup, terms - p0);
        row_of_words<G, 0>(from + p0 * p.a_col, p.a_col, count, p.a_unsigned, words);
        Word* target = to + p0 / kGroup * rows + r;
        for (Index g = 0; g < ceil_div(count, kGroup); ++g) target[g * rows] = words[g] ^ flips;
      }
    }
  }

  struct Part {
    Index groups;
    const A* a;
    const B* b;
    const B* start;
    T correction;
    T* c;
    Index c_row;
    T alpha, beta;
  };

  // A few rows alone would wait for each addition: they have several sums of each element.
  template <int kForm, int kR>
  static void tile(const Part& part) {
    constexpr Index kLanes = Dot::kLanes;
    constexpr int kApart = kR * kVectors >= 8 ? 1 : kR == 1 ? 4 : 2;
    typename Dot::Vector sum[kApart][kR][kVectors];
#pragma GCC unroll 4
    for (int u = 0; u < kApart; ++u) {
#pragma GCC unroll 32
      for (int i = 0; i < kR; ++i) {
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) sum[u][i][v] = Dot::zero();
      }
    }
    if constexpr (Dot::kForms > 1) {
      if (part.start != nullptr && part.correction != 0) {
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          const auto first = Dot::times(Dot::load(part.start + v * kLanes),
                                        Dot::broadcast(static_cast<Word>(part.correction)));
#pragma GCC unroll 32
          for (int i = 0; i < kR; ++i) sum[0][i][v] = first;
        }
      }
    }
    const A* a = part.a;
    const B* b = part.b;
    const auto group = [&](auto& into) __attribute__((always_inline)) {
      decltype(Dot::load(b)) vb[kVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        vb[v] = Dot::load(b + v * kLanes);
        // Past the end this is a hint for an address that nothing reads.
        prefetch(reinterpret_cast<const std::byte*>(b + v * kLanes) + kPanelAhead);
      }
#pragma GCC unroll 32
      for (int i = 0; i < kR; ++i) {
        const auto va = Dot::broadcast(a[i]);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          into[i][v] = Dot::template add<kForm>(into[i][v], va, vb[v]);
        }
      }
      a += kR;
      b += kCols;
    };
    Index g = part.groups;
    for (; g >= kApart; g -= kApart) {
#pragma GCC unroll 4
      for (int u = 0; u < kApart; ++u) group(sum[u]);
    }
    for (; g > 0; --g) group(sum[0]);
#pragma GCC unroll 4
    for (int u = 1; u < kApart; ++u) {
#pragma GCC unroll 32
      for (int i = 0; i < kR; ++i) {
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) sum[0][i][v] = Dot::plus(sum[0][i][v], sum[u][i][v]);
      }
    }
#pragma GCC unroll 32
    for (int i = 0; i < kR; ++i) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        write_dot<Dot>(part.c + i * part.c_row + v * kLanes, sum[0][i][v], part.alpha, part.beta);
      }
    }
  }

  using TileOfRows = void (*)(const Part&);
  template <int kForm, int... kR>
  static constexpr ByRows<TileOfRows, kTileRows> tiles(std::integer_sequence<int, kR...>) {
    return {{&tile<kForm, kR + 1>...}};
  }
  template <int kForm>
  static void multiply_as(Index rows, const Part& part) {
    static constexpr auto kTiles = tiles<kForm>(std::make_integer_sequence<int, kTileRows>());
    kTiles.fn[rows - 1](part);
  }

  template <class Out>
  static void multiply(const Product<E, Out>& p, Index rows, Index terms, const A* a, const B* b,
                       const B* start, T* c, Index c_row, T alpha, T beta) {
    const int form = Dot::form(p.a_unsigned, p.b_unsigned);
    const Part part = {
        ceil_div(terms, kGroup), a, b, start, Dot::correction(form), c, c_row, alpha, beta};
    if constexpr (Dot::kForms == 1) {
      multiply_as<0>(rows, part);
    } else {
      // Forms 0 and 1 multiply by signed bytes of B, the others by those without a sign.
      form < 2 ? multiply_as<0>(rows, part) : multiply_as<3>(rows, part);
    }
  }
};

template <class Dot, int kRows, int kVectors, PanelBlocking kBlocking>
KernelOutcome prepacked_dot(const void* raw, CpuContext& context) {
  const GemmArgs& args = *static_cast<const GemmArgs*>(raw);
  return with_output_type<typename Dot::G::E>(args, [&]<class Out>() {
    return run_prepacked<PanelDotMicro<Dot, kRows, kVectors>, Out, kBlocking>(args, context);
  });
}

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CPU_PREPACKED_DOT_INL_H_
