// Register tiles with only one operand packed: strips of B, a tile wide, are packed by the thread
// that needs them; A is read where it lies, or from a plain copy of a few of its rows.
//
// C is cut into rectangles that the threads take as they become free. No thread waits for another
// before the end: what is packed twice costs less than meeting between the blocks.
#ifndef ROOFTUNE_OPS_MATMUL_CPU_STRIP_INL_H_
#define ROOFTUNE_OPS_MATMUL_CPU_STRIP_INL_H_

#include "ops/matmul/cpu/in_place.h"
#include "ops/matmul/cpu/pack.h"

namespace rooftune {
namespace {

// In elements, for f32; f64 halves kc.
struct StripBlocking {
  int mc;  // rows of A in one task: mc * kc stays in the second-level cache
  int kc;  // terms of a strip: with the rows of one tile it stays in the first-level cache
  int nc;  // columns of B in one task
};

// Bytes of a stride at which the rows of A share few sets of a cache: a copy is read instead.
inline constexpr Index kBadStride = 512;

template <class Table, TileShape kShape, StripBlocking kBlocking>
struct Strip {
  using T = typename Table::T;
  using S = Simd<T>;
  static constexpr Index kCols = kShape.vectors * S::kWidth;
  static constexpr Index kScale = static_cast<Index>(sizeof(T) / sizeof(float));
  static constexpr Index kLine = static_cast<Index>(64 / sizeof(T));

  // Elements of scratch memory for one thread: a strip, and a copy of A.
  static Index strip_elements(const KBlocks& blocks) { return round_up(kCols * blocks.size, 1024); }
  static Index copy_row(const KBlocks& blocks) {
    return (ceil_div(blocks.size, kLine) | 1) * kLine;
  }

  static bool wants_copy(const Product<T>& p) {
    if (p.a_row == 1) return false;
    if (p.a_col != 1) return true;
    return p.a_row * static_cast<Index>(sizeof(T)) % kBadStride == 0 && p.n > kCols;
  }

  static void copy_rows(const Product<T>& p, T* to, Index to_row) {
    if (p.a_col == 1) {
      for (Index i = 0; i < p.m; ++i) {
        const T* from = p.a + i * p.a_row;
        T* row = to + i * to_row;
        Index q = 0;
        for (; q + S::kWidth <= p.k; q += S::kWidth) S::store(row + q, S::load(from + q));
        if (q < p.k) {
          const auto mask = S::mask(p.k - q);
          S::store(row + q, mask, S::load(from + q, mask));
        }
      }
      return;
    }
    for (Index i = 0; i < p.m; ++i) {
      for (Index q = 0; q < p.k; ++q) {
        to[i * to_row + q] = load_one(p.a + i * p.a_row + q * p.a_col);
      }
    }
  }

  static void run(const Product<T>& p, const KBlocks& blocks, bool copy, T* memory) {
    T* const strip = memory;
    T* const rows = memory + strip_elements(blocks);
    const Index row = copy_row(blocks);
    for (Index p0 = 0; p0 < p.k; p0 += blocks.size) {
      const Index terms = lesser(blocks.size, p.k - p0);
      if (copy) copy_rows(part_of(p, 0, p.m, 0, p.n, p0, terms), rows, row);
      for (Index j = 0; j < p.n; j += kCols) {
        const Index cols = lesser(kCols, p.n - j);
        Product<T> part = part_of(p, 0, p.m, j, cols, p0, terms);
        pack_panel<S, kCols>(part.b, p.b_col, p.b_row, cols, terms, strip);
        part.b = strip;
        part.b_row = kCols;
        part.b_col = 1;
        if (copy) {
          part.a = rows;
          part.a_row = row;
          part.a_col = 1;
        }
        part.beta = block_beta(p, p0);
        multiply_in_place<Table>(part, kShape);
      }
    }
  }
};

template <class Table, TileShape kShape, StripBlocking kBlocking>
KernelOutcome strip(const void* raw, CpuContext& context) {
  using P = Strip<Table, kShape, kBlocking>;
  using T = typename Table::T;
  const GemmArgs& args = *static_cast<const GemmArgs*>(raw);
  const Product<T> first = with_unit_output(product_of<T>(args, 0));
  const Team team = team_for(work(args), context);
  const Index threads = team.threads();
  const KBlocks blocks = k_blocks(first.k, kBlocking.kc / P::kScale);
  const bool copy = P::wants_copy(first);
  // Rectangles: as large as the caches allow, but some for every thread.
  const Index strips = ceil_div(first.n, P::kCols);
  const Index tiles = ceil_div(first.m, kShape.rows);
  const Index mc =
      blocks.count == 1 ? kBlocking.mc * (kBlocking.kc / P::kScale) / first.k : Index{kBlocking.mc};
  Index row_parts = lesser(tiles, ceil_div(first.m, mc));
  Index col_parts = ceil_div(first.n, kBlocking.nc);
  const Index wanted = threads == 1 ? 1 : ceil_div(4 * threads, args.batch);
  if (row_parts * col_parts < wanted) {
    // Cutting columns packs nothing twice, and cutting rows copies nothing twice.
    if (first.n >= first.m) {
      col_parts = lesser(strips, ceil_div(wanted, row_parts));
    } else {
      row_parts = lesser(tiles, ceil_div(wanted, col_parts));
    }
  }
  const Index most_rows = ceil_div(first.m, row_parts);
  const Index each =
      P::strip_elements(blocks) + (copy ? round_up(most_rows * P::copy_row(blocks), 1024) : 0);
  T* const memory =
      reinterpret_cast<T*>(context.scratch(static_cast<std::size_t>(each * threads) * sizeof(T)));
  if (memory == nullptr) return KernelOutcome::out_of_memory;
  const Index parts = row_parts * col_parts;
  team.run(args.batch * parts, [&](Index task, int worker) {
    const Product<T> p = with_unit_output(product_of<T>(args, task / parts));
    const Index row_part = task % parts % row_parts;
    const Index col_part = task % parts / row_parts;
    const Index i = part_begin(p.m, row_parts, row_part);
    const Index i_end = part_begin(p.m, row_parts, row_part + 1);
    const Index j = part_begin(strips, col_parts, col_part) * P::kCols;
    const Index j_end = lesser(p.n, part_begin(strips, col_parts, col_part + 1) * P::kCols);
    P::run(part_of(p, i, i_end - i, j, j_end - j, 0, p.k), blocks, copy, memory + worker * each);
  });
  return KernelOutcome::done;
}

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CPU_STRIP_INL_H_
