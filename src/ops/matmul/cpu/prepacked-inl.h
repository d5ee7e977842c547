// Products with a packed right operand on the plain vector units. Numbers of 16 bits are widened as
// they are loaded.
#ifndef ROOFTUNE_OPS_MATMUL_CPU_PREPACKED_INL_H_
#define ROOFTUNE_OPS_MATMUL_CPU_PREPACKED_INL_H_

#include <utility>

#include "ops/matmul/cpu/pack.h"
#include "ops/matmul/cpu/prepacked.h"
#include "ops/matmul/cpu/register_tile.h"

namespace rooftune {
namespace {

// to[p * rows + r] = from[r * row + p * step], in the type of the sums.
template <class S, class E>
void pack_tile(const E* from, Index row, Index step, Index rows, Index terms,
               typename S::Element* to) {
  using T = typename S::Element;
  using From = Elements<S, E>;
  constexpr Index kWidth = S::kWidth;
  Index r = 0;
  if (step == 1) {
    // Stretches of a few rows are widened where they lie side by side, then turned.
    using Sq = Square<T>;
    constexpr Index kSide = Sq::kSide;
    constexpr Index kStretch = 256;
    T wide[kSide][kStretch];
    for (; r + kSide <= rows; r += kSide) {
      for (Index p0 = 0; p0 < terms; p0 += kStretch) {
        const Index count = lesser(kStretch, terms - p0);
        for (Index i = 0; i < kSide; ++i) {
          const E* source = from + (r + i) * row + p0;
          Index p = 0;
          for (; p + kWidth <= count; p += kWidth) S::store(wide[i] + p, From::load(source + p));
          if (p < count) {
            const auto mask = S::mask(count - p);
            S::store(wide[i] + p, mask, From::load(source + p, mask));
          }
        }
        T* target = to + p0 * rows + r;
        Index p = 0;
        for (; p + kSide <= count; p += kSide) {
          typename Sq::Vector v[kSide];
#pragma GCC unroll 4
          for (Index i = 0; i < kSide; ++i) __builtin_memcpy(&v[i], wide[i] + p, 16);
          Sq::turn(v);
#pragma GCC unroll 4
          for (Index i = 0; i < kSide; ++i) __builtin_memcpy(target + (p + i) * rows, &v[i], 16);
        }
        for (; p < count; ++p) {
          for (Index i = 0; i < kSide; ++i) target[p * rows + i] = wide[i][p];
        }
      }
    }
  }
  for (; r < rows; ++r) {
    const E* source = from + r * row;
    for (Index p = 0; p < terms; ++p) to[p * rows + r] = to_sum(load_one(source + p * step));
  }
}

template <class S, class Element, int kTileRows, int kVectors>
struct PanelMicro {
  using E = Element;
  using T = typename S::Element;
  using A = T;
  using B = E;
  static constexpr Index kRows = kTileRows, kCols = kVectors * S::kWidth;
  static constexpr bool kWhole = false;
  struct Scope {};

  static constexpr Index a_elements(Index terms) { return kRows * terms; }
  static constexpr Index a_offset(Index rows, Index term) { return rows * term; }
  static constexpr Index b_offset(Index term) { return kCols * term; }

  template <class Out>
  static void pack_a(const Product<E, Out>& p, Index first, Index rows, Index term, Index terms,
                     A* to) {
    pack_tile<S>(p.a + first * p.a_row + term * p.a_col, p.a_row, p.a_col, rows, terms, to);
  }

  // A few rows alone would wait for each addition: they have several sums of each element.
  template <int kR>
  static void tile(const Tile<T>& t, const B* b) {
    constexpr int kApart = kR * kVectors >= 8 ? 1 : kR == 1 ? 4 : 2;
    using From = Elements<S, E>;
    typename S::Vector sum[kApart][kR][kVectors];
#pragma GCC unroll 4
    for (int u = 0; u < kApart; ++u) {
#pragma GCC unroll 32
      for (int i = 0; i < kR; ++i) {
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) sum[u][i][v] = S::zero();
      }
    }
    const T* a = t.a;
    const auto term = [&](auto& into) __attribute__((always_inline)) {
      typename S::Vector vb[kVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) vb[v] = From::load(b + v * S::kWidth);
        // Past the end this is a hint for an address that nothing reads.
#pragma GCC unroll 4
      for (Index at = 0; at < kCols * Index{sizeof(B)}; at += 64) {
        prefetch(reinterpret_cast<const std::byte*>(b) + kPanelAhead + at);
      }
#pragma GCC unroll 32
      for (int i = 0; i < kR; ++i) {
        const auto va = S::broadcast(a[i]);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) into[i][v] = S::fma(va, vb[v], into[i][v]);
      }
      a += kR;
      b += kCols;
    };
    Index p = t.k;
    for (; p >= kApart; p -= kApart) {
#pragma GCC unroll 4
      for (int u = 0; u < kApart; ++u) term(sum[u]);
    }
    for (; p > 0; --p) term(sum[0]);
#pragma GCC unroll 4
    for (int u = 1; u < kApart; ++u) {
#pragma GCC unroll 32
      for (int i = 0; i < kR; ++i) {
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) sum[0][i][v] = S::add(sum[0][i][v], sum[u][i][v]);
      }
    }
    write_tile<S, kR, kVectors, false>(sum[0], t);
  }

  using TileOfRows = void (*)(const Tile<T>&, const B*);
  template <int... kR>
  static constexpr ByRows<TileOfRows, kTileRows> tiles(std::integer_sequence<int, kR...>) {
    return {{&tile<kR + 1>...}};
  }

  template <class Out>
  static void multiply(const Product<E, Out>&, Index rows, Index terms, const A* a, const B* b,
                       const B*, T* c, Index c_row, T alpha, T beta) {
    static constexpr auto kTiles = tiles(std::make_integer_sequence<int, kTileRows>());
    Tile<T> t;
    t.k = terms;
    t.a = a;
    t.c = c;
    t.c_row = c_row;
    t.alpha = alpha;
    t.beta = beta;
    kTiles.fn[rows - 1](t, b);
  }
};

template <class S, int kRows, int kVectors, PanelBlocking kBlocking, class E = typename S::Element>
KernelOutcome prepacked(const void* raw, CpuContext& context) {
  const GemmArgs& args = *static_cast<const GemmArgs*>(raw);
  return with_output_type<E>(args, [&]<class Out>() {
    return run_prepacked<PanelMicro<S, E, kRows, kVectors>, Out, kBlocking>(args, context);
  });
}

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CPU_PREPACKED_INL_H_
