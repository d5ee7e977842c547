// A whole product of register tiles that read A and B where they lie.
#ifndef ROOFTUNE_OPS_MATMUL_CPU_IN_PLACE_H_
#define ROOFTUNE_OPS_MATMUL_CPU_IN_PLACE_H_

#include "ops/matmul/cpu/pack.h"
#include "ops/matmul/cpu/register_tile.h"

namespace rooftune {
namespace {

enum class Ahead {
  nothing,
  rows,   // of B, four ahead: for a strip that comes from the second-level cache
  strip,  // the strip after the next: for a B that comes from memory
};

struct TileShape {
  int rows, vectors;
  Ahead prefetch = Ahead::nothing;
  int terms = 512;  // of k that are summed in registers before they are added to C
};

// Runs on the calling thread. B must have unit stride along its columns; everything else is free.
// A strip of B (all terms, the vectors of one tile) stays in the first-level cache while the rows
// of A pass by. Rows are shared out evenly, so 16 rows with tiles of 14 are two tiles of 8.
template <class Table>
void multiply_in_place(const Product<typename Table::E, typename Table::T, typename Table::T>& p,
                       const TileShape& shape) {
  using T = typename Table::T;
  using S = Simd<T>;
  const Index strip = shape.vectors * S::kWidth;
  const Index row_tiles = ceil_div(p.m, shape.rows);
  const Index least_rows = row_tiles == 1 ? p.m : p.m / row_tiles;
  const Index larger_tiles = p.m - least_rows * row_tiles;  // have one row more
  const KBlocks blocks = k_blocks(p.k, shape.terms);
  T buffer[32 * 3 * S::kWidth];
  for (Index p0 = 0; p0 < p.k; p0 += blocks.size) {
    const T beta = block_beta(p, p0);
    Tile<typename Table::E> tile;
    tile.k = lesser(blocks.size, p.k - p0);
    tile.ahead = shape.prefetch == Ahead::rows ? 4 * p.b_row : 2 * strip;
    tile.a_row = p.a_row;
    tile.a_col = p.a_col;
    tile.b_row = p.b_row;
    const bool direct = p.c_col == 1;
    tile.c_row = direct ? p.c_row : strip;
    tile.alpha = direct ? p.alpha : T(1);
    tile.beta = direct ? beta : T(0);
    for (Index j = 0; j < p.n; j += strip) {
      const Index cols = lesser(strip, p.n - j);
      const Index vectors = ceil_div(cols, S::kWidth);
      tile.tail = cols - (vectors - 1) * S::kWidth;
      const bool masked = tile.tail != S::kWidth;
      tile.b = p.b + p0 * p.b_row + j;
      for (Index r = 0, i = 0; r < row_tiles; ++r) {
        const Index rows = least_rows + (r < larger_tiles ? 1 : 0);
        T* c = p.c + i * p.c_row + j * p.c_col;
        tile.a = p.a + i * p.a_row + p0 * p.a_col;
        tile.c = direct ? c : buffer;
        Table::find(rows, vectors, masked, shape.prefetch != Ahead::nothing)(tile);
        if (!direct) {
          update_block<S>(buffer, strip, rows, cols, p.alpha, beta, c, p.c_row, p.c_col);
        }
        i += rows;
      }
    }
  }
}

// A product with A and C elsewhere, in the type of the sums: those of A widened, C still without
// alpha and beta.
template <class E, class Out>
Product<E, Sum<E>, Sum<E>> with_wide(const Product<E, Out>& p, const Sum<E>* a, Index a_row,
                                     Index a_col, Sum<E>* c, Index c_row) {
  using T = Sum<E>;
  return {p.m, p.n, p.k, a, a_row, a_col, p.b, p.b_row, p.b_col, c, c_row, 1, T(1), T(0)};
}

// Operands that are narrower than their sums, on the calling thread: some rows of A at a time are
// widened into memory, B as the tiles load it.
template <class Table>
struct WidenedRows {
  using E = typename Table::E;
  using T = typename Table::T;
  using S = Simd<T>;

  // Elements between the copies of two rows: an odd number of cache lines, because powers of two
  // would share a few sets of a cache.
  static constexpr Index pitch(Index k) {
    constexpr Index kLine = 64 / sizeof(T);
    return (ceil_div(k, kLine) | 1) * kLine;
  }
  // Rows that are widened at a time: 256 KB, for the second-level cache.
  static Index rows(Index m, Index k, const TileShape& shape) {
    const Index most = 65536 / pitch(k) / shape.rows * shape.rows;
    return lesser(m, greater(most, shape.rows));
  }
  static constexpr Index elements(Index rows, Index k, const TileShape& shape) {
    return rows * (pitch(k) + shape.vectors * S::kWidth);
  }

  // Copies lie as A does: its rows, or its columns where those are side by side.
  static bool by_columns(Index row, Index col) { return col != 1 && row == 1; }
  static void widen(const E* from, Index row, Index col, Index rows, Index k, T* to) {
    if (by_columns(row, col)) {
      for (Index q = 0; q < k; ++q) widen_line(from + q * col, 1, rows, to + q * rows);
    } else {
      for (Index i = 0; i < rows; ++i) widen_line(from + i * row, col, k, to + i * pitch(k));
    }
  }
  static void widen_line(const E* from, Index step, Index count, T* to) {
    using From = Elements<S, E>;
    if (step != 1) {
      for (Index q = 0; q < count; ++q) to[q] = to_sum(load_one(from + q * step));
      return;
    }
    Index q = 0;
    for (; q + S::kWidth <= count; q += S::kWidth) S::store(to + q, From::load(from + q));
    if (q < count) {
      const auto mask = S::mask(count - q);
      S::store(to + q, mask, From::load(from + q, mask));
    }
  }

  // B has unit stride along its columns, or `strip` has room for a strip of it that is turned.
  template <class Out>
  static void multiply(const Product<E, Out>& p, const TileShape& shape, Index most_rows, T* memory,
                       T* strip = nullptr) {
    const Index width = shape.vectors * S::kWidth;
    T* const sums = memory + most_rows * pitch(p.k);
    const bool direct = __is_same(Out, T) && p.c_col == 1;
    for (Index i = 0; i < p.m; i += most_rows) {
      const Index rows = lesser(most_rows, p.m - i);
      widen(p.a + i * p.a_row, p.a_row, p.a_col, rows, p.k, memory);
      for (Index j = 0; j < p.n; j += width) {
        const Index cols = lesser(width, p.n - j);
        const Product<E, Out> part = part_of(p, i, rows, j, cols, 0, p.k);
        auto wide = by_columns(p.a_row, p.a_col)
                        ? with_wide(part, memory, 1, rows, sums, width)
                        : with_wide(part, memory, pitch(p.k), 1, sums, width);
        if constexpr (__is_same(Out, T)) {
          if (direct) {
            wide.c = part.c;
            wide.c_row = part.c_row;
            wide.alpha = part.alpha;
            wide.beta = part.beta;
          }
        }
        if (p.b_col == 1) {
          multiply_in_place<Table>(wide, shape);
        } else {
          widen_strip(part, strip, width);
          const Product<T> turned = {wide.m,     wide.n, wide.k,     wide.a,   wide.a_row,
                                     wide.a_col, strip,  width,      1,        wide.c,
                                     wide.c_row, 1,      wide.alpha, wide.beta};
          multiply_in_place<typename Table::Wide>(turned, shape);
        }
        if (!direct) {
          update_block<S>(sums, width, rows, cols, p.alpha, p.beta, part.c, p.c_row, p.c_col);
        }
      }
    }
  }

  template <class Out>
  static void widen_strip(const Product<E, Out>& p, T* strip, Index width) {
    if (p.b_row == 1) {
      turn_widened<S>(p.b, p.b_col, p.n, p.k, strip, width);
      return;
    }
    for (Index j = 0; j < p.n; ++j) {
      for (Index q = 0; q < p.k; ++q) {
        strip[q * width + j] = to_sum(load_one(p.b + q * p.b_row + j * p.b_col));
      }
    }
  }
};

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CPU_IN_PLACE_H_
