// Products of small matrices, one or a batch: no scratch memory, no task for a single one, and one
// thread for a whole matrix.
#ifndef ROOFTUNE_OPS_MATMUL_CPU_TINY_INL_H_
#define ROOFTUNE_OPS_MATMUL_CPU_TINY_INL_H_

#include "ops/matmul/cpu/in_place.h"
#include "ops/matmul/cpu/legality.h"
#include "ops/matmul/cpu/turn.h"

namespace rooftune {
namespace {

// B has no columns side by side: a strip of it, a tile wide, is copied so that it has.
template <class Table, TileShape kShape>
[[gnu::noinline]] void multiply_copy(const Product<typename Table::T>& p) {
  using T = typename Table::T;
  using S = Simd<T>;
  constexpr Index kCols = kShape.vectors * S::kWidth;
  alignas(64) T strip[kCols * kMaxTiny];
  for (Index j = 0; j < p.n; j += kCols) {
    const Index cols = lesser(kCols, p.n - j);
    auto part = part_of(p, 0, p.m, j, cols, 0, p.k);
    if (p.b_row == 1) {
      turn<S>(part.b, p.b_col, cols, p.k, strip, kCols);
    } else {
      for (Index c = 0; c < cols; ++c) {
        for (Index q = 0; q < p.k; ++q) {
          strip[q * kCols + c] = load_one(part.b + q * p.b_row + c * p.b_col);
        }
      }
    }
    part.b = strip;
    part.b_row = kCols;
    part.b_col = 1;
    multiply_in_place<Table>(part, kShape);
  }
}

// The product is one tile.
template <class Table, TileShape kShape>
bool is_one_tile(const Product<typename Table::T>& p) {
  constexpr Index kCols = kShape.vectors * Simd<typename Table::T>::kWidth;
  return p.b_col == 1 && p.c_col == 1 && p.m <= kShape.rows && p.n <= kCols;
}

template <class Table, TileShape kShape>
void multiply_tiny(const Product<typename Table::T>& whole) {
  using T = typename Table::T;
  constexpr Index kWidth = Simd<T>::kWidth;
  if (is_one_tile<Table, kShape>(whole)) {
    const Product<T>& p = whole;
    const Index vectors = ceil_div(p.n, kWidth);
    const Index tail = p.n - (vectors - 1) * kWidth;
    const Tile<T> tile = {p.k, p.a,     p.a_row, p.a_col, p.b,  p.b_row,
                          p.c, p.c_row, p.alpha, p.beta,  tail, 0};
    Table::find(p.m, vectors, tail != kWidth, false)(tile);
    return;
  }
  const auto p = with_unit_columns(whole);
  if (p.b_col == 1) {
    multiply_in_place<Table>(p, kShape);
  } else {
    multiply_copy<Table, kShape>(with_unit_output(whole));
  }
}

// The same for operands that are narrower than their sums.
template <class Table, TileShape kShape, class Out>
[[gnu::noinline]] void multiply_tiny_widened(const Product<typename Table::E, Out>& whole) {
  using T = typename Table::T;
  using Widened = WidenedRows<Table>;
  alignas(64) T rows[Widened::elements(kMaxTiny, kMaxTiny, kShape)];
  const auto p = with_unit_columns(whole);
  if (p.b_col == 1) {
    Widened::multiply(p, kShape, p.m, rows);
    return;
  }
  alignas(64) T strip[kShape.vectors * Simd<T>::kWidth * kMaxTiny];
  const auto turned = with_unit_output(whole);
  Widened::multiply(turned, kShape, turned.m, rows, strip);
}

template <class Table, TileShape kShape, class Out>
KernelOutcome run_tiny(const GemmArgs& args, CpuContext& context) {
  using E = typename Table::E;
  const auto multiply = [&](Index batch) {
    if constexpr (__is_same(E, typename Table::T)) {
      multiply_tiny<Table, kShape>(product_of<E>(args, batch));
    } else {
      multiply_tiny_widened<Table, kShape>(product_of<E, Out>(args, batch));
    }
  };
  if (args.batch == 1) {
    multiply(0);
    return KernelOutcome::done;
  }
  const Team team = team_for(work(args), context);
  // As many for each thread as for the others.
  const Index threads = team.threads();
  const Index worth = static_cast<Index>(work(args) / kWorthThreads) + 1;
  const Index groups =
      threads == 1 ? 1 : lesser(args.batch, lesser(8 * threads, round_up(worth, threads)));
  team.run(groups, [&](Index group, int) {
    const Index end = part_begin(args.batch, groups, group + 1);
    for (Index batch = part_begin(args.batch, groups, group); batch < end; ++batch) {
      multiply(batch);
    }
  });
  return KernelOutcome::done;
}

template <class Table, TileShape kShape>
KernelOutcome tiny(const void* raw, CpuContext& context) {
  const GemmArgs& args = *static_cast<const GemmArgs*>(raw);
  return with_output_type<typename Table::E>(
      args, [&]<class Out>() { return run_tiny<Table, kShape, Out>(args, context); });
}

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CPU_TINY_INL_H_
