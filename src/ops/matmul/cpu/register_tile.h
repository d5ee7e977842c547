// The register tile: a few rows by a few vectors of C that stay in registers for the whole loop
// over k. Every term costs one broadcast a row and one load a vector.
#ifndef ROOFTUNE_OPS_MATMUL_CPU_REGISTER_TILE_H_
#define ROOFTUNE_OPS_MATMUL_CPU_REGISTER_TILE_H_

#include <utility>

#include "ops/matmul/cpu/product.h"

namespace rooftune {
namespace {

// A has the type of the sums; B is widened to it as it is loaded.
template <class E>
struct Tile {
  using T = Sum<E>;
  Index k;
  const T* a;
  Index a_row, a_col;
  const E* b;  // unit stride along the columns
  Index b_row;
  T* c;  // unit stride along the columns
  Index c_row;
  T alpha, beta;
  Index tail;   // columns in the last vector, 1 ... width; read only by masked tiles
  Index ahead;  // of b, in elements: what prefetching tiles fetch
};

template <class S, int kRows, int kVectors, bool kMasked, class E>
[[gnu::always_inline]] inline void write_tile(const typename S::Vector (&sum)[kRows][kVectors],
                                              const Tile<E>& t) {
  using T = typename S::Element;
  const auto mask = S::mask(kMasked ? t.tail : S::kWidth);
  const auto alpha = S::broadcast(t.alpha);
  T* c = t.c;
  if (t.beta == T(0)) {
#pragma GCC unroll 32
    for (int i = 0; i < kRows; ++i, c += t.c_row) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        T* at = c + v * S::kWidth;
        const auto value = S::mul(alpha, sum[i][v]);
        if (kMasked && v == kVectors - 1) {
          S::store(at, mask, value);
        } else {
          S::store(at, value);
        }
      }
    }
    return;
  }
  const auto beta = S::broadcast(t.beta);
#pragma GCC unroll 32
  for (int i = 0; i < kRows; ++i, c += t.c_row) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      T* at = c + v * S::kWidth;
      const auto value = S::mul(alpha, sum[i][v]);
      if (kMasked && v == kVectors - 1) {
        S::store(at, mask, S::fma(beta, S::load(at, mask), value));
      } else {
        S::store(at, S::fma(beta, S::load(at), value));
      }
    }
  }
}

// C is needed at the end of a tile only. Its rows are fetched one a term shortly before: all at
// once they would keep A and B waiting, and much earlier they would be gone again.
template <class T, int kRows, int kCols>
struct FetchC {
  static constexpr Index kAhead = 128;  // terms; a tile of fewer has its C in a near cache
  const T* c;
  Index row;
  Index stop;

  // Of a tile of `terms` terms, or steps of as many multiply-adds.
  FetchC(const T* to, Index to_row, Index terms)
      : c(to), row(to_row), stop(terms < kAhead ? terms : kAhead - kRows) {}

  // `left` terms are to come.
  [[gnu::always_inline]] void operator()(Index left) {
    if (static_cast<std::uint64_t>(left - stop - 1) < std::uint64_t{kRows}) {
      prefetch(c);
      prefetch(c + kCols - 1);
      c += row;
    }
  }
};

// Operands where they lie. Rows of A are addressed in groups of four from one pointer each, so
// that 28 rows do not need 28 registers.
template <class S, class E, int kRows, int kVectors, bool kMasked, bool kPrefetch>
void tile_in_place(const Tile<E>& t) {
  using T = typename S::Element;
  using From = Elements<S, E>;
  constexpr int kGroups = (kRows + 3) / 4;
  typename S::Vector sum[kRows][kVectors];
#pragma GCC unroll 32
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sum[i][v] = S::zero();
  }
  const auto mask = S::mask(kMasked ? t.tail : S::kWidth);
  const Index row = t.a_row;
  const Index row3 = 3 * row;
  const Index step = t.a_col;
  const Index b_row = t.b_row;
  [[maybe_unused]] const Index ahead = t.ahead;
  const E* b = t.b;
  const T* a[kGroups];
#pragma GCC unroll 8
  for (int g = 0; g < kGroups; ++g) a[g] = t.a + 4 * g * row;
  FetchC<T, kRows, kVectors * S::kWidth> fetch_c(t.c, t.c_row, t.k);
  for (Index p = t.k; p > 0; --p) {
    fetch_c(p);
    typename S::Vector vb[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      vb[v] = kMasked && v == kVectors - 1 ? From::load(b + v * S::kWidth, mask)
                                           : From::load(b + v * S::kWidth);
      // Past the end of B this is a hint for an address that nothing reads.
      if constexpr (kPrefetch) prefetch(b + ahead + v * S::kWidth);
    }
#pragma GCC unroll 32
    for (int i = 0; i < kRows; ++i) {
      const T* base = a[i / 4];
      const T* at = i % 4 == 0   ? base
                    : i % 4 == 1 ? base + row
                    : i % 4 == 2 ? base + 2 * row
                                 : base + row3;
      const auto va = S::broadcast(load_one(at));
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sum[i][v] = S::fma(va, vb[v], sum[i][v]);
    }
#pragma GCC unroll 8
    for (int g = 0; g < kGroups; ++g) a[g] += step;
    b += b_row;
  }
  write_tile<S, kRows, kVectors, kMasked>(sum, t);
}

// Both operands packed: A as k groups of kRows, B as k groups of kVectors vectors.
template <class S, int kRows, int kVectors>
void tile_packed(const Tile<typename S::Element>& t) {
  using T = typename S::Element;
  typename S::Vector sum[kRows][kVectors];
#pragma GCC unroll 32
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sum[i][v] = S::zero();
  }
  const T* a = t.a;
  const T* b = t.b;
  FetchC<T, kRows, kVectors * S::kWidth> fetch_c(t.c, t.c_row, t.k);
  for (Index p = t.k; p > 0; --p) {
    fetch_c(p);
    typename S::Vector vb[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) vb[v] = S::load(b + v * S::kWidth);
#pragma GCC unroll 32
    for (int i = 0; i < kRows; ++i) {
      const auto va = S::broadcast(load_one(a + i));
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sum[i][v] = S::fma(va, vb[v], sum[i][v]);
    }
    a += kRows;
    b += kVectors * S::kWidth;
  }
  write_tile<S, kRows, kVectors, false>(sum, t);
}

template <class E>
using TileFn = void (*)(const Tile<E>&);

// tile_in_place for 1 ... kRows rows: entry [r - 1] has r rows.
template <class E, int kRows>
struct TileColumn {
  TileFn<E> fn[kRows];
};
template <class S, class E, int kVectors, bool kMasked, bool kPrefetch, int... kRow>
constexpr TileColumn<E, sizeof...(kRow)> tile_column(std::integer_sequence<int, kRow...>) {
  return {{&tile_in_place<S, E, kRow + 1, kVectors, kMasked, kPrefetch>...}};
}

// Every tile up to kRows x kVectors, for tiles at the edges as well.
template <class S, int kRows, int kVectors, class Element = typename S::Element>
struct TileTable {
  using E = Element;
  using T = typename S::Element;
  using Wide = TileTable<S, kRows, kVectors>;  // of a B that has been widened
  template <int kV, bool kMasked, bool kPrefetch>
  static constexpr TileColumn<E, kRows> column =
      tile_column<S, E, kV, kMasked, kPrefetch>(std::make_integer_sequence<int, kRows>());

  static TileFn<E> find(Index rows, Index vectors, bool masked, bool prefetch) {
    return find_up_to<kVectors>(rows, vectors, masked, prefetch);
  }

 private:
  template <int kV>
  static TileFn<E> find_up_to(Index rows, Index vectors, bool masked, bool prefetch) {
    if constexpr (kV > 1) {
      if (vectors < kV) return find_up_to<kV - 1>(rows, vectors, masked, prefetch);
    }
    const Index r = rows - 1;
    return masked     ? column<kV, true, false>.fn[r]
           : prefetch ? column<kV, false, true>.fn[r]
                      : column<kV, false, false>.fn[r];
  }
};

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CPU_REGISTER_TILE_H_
