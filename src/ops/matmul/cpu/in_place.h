// A whole product of register tiles that read A and B where they lie.
#ifndef ROOFTUNE_OPS_MATMUL_CPU_IN_PLACE_H_
#define ROOFTUNE_OPS_MATMUL_CPU_IN_PLACE_H_

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
void multiply_in_place(const Product<typename Table::T>& p, const TileShape& shape) {
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
    Tile<T> tile;
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

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CPU_IN_PLACE_H_
