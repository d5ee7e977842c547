// Register tiles without packing: for operands that the caches hold anyway.
#ifndef ROOFTUNE_OPS_MATMUL_CPU_TILE_INL_H_
#define ROOFTUNE_OPS_MATMUL_CPU_TILE_INL_H_

#include "ops/matmul/cpu/in_place.h"

namespace rooftune {
namespace {

// Tasks of a product on several threads: blocks of whole tiles, about four a thread, so that a
// thread that was late does not hold up the others.
template <class Table, TileShape kShape, class Out>
KernelOutcome run_tile(const GemmArgs& args, CpuContext& context) {
  using E = typename Table::E;
  using T = typename Table::T;
  using Widened = WidenedRows<Table>;
  constexpr bool kWiden = !__is_same(E, T);
  const Team team = team_for(work(args), context);
  const Product<E, Out> first = with_unit_columns(product_of<E, Out>(args, 0));
  const Index rows = kWiden ? Widened::rows(first.m, first.k, kShape) : 0;
  const Index each = round_up(Widened::elements(rows, first.k, kShape), 1024);
  T* memory = nullptr;
  if (kWiden) {
    memory = reinterpret_cast<T*>(
        context.scratch(static_cast<std::size_t>(each * team.threads()) * sizeof(T)));
    if (memory == nullptr) return KernelOutcome::out_of_memory;
  }
  const auto multiply = [&](const Product<E, Out>& p, int worker) {
    if constexpr (kWiden) {
      Widened::multiply(p, kShape, lesser(rows, p.m), memory + worker * each);
    } else {
      multiply_in_place<Table>(p, kShape);
    }
  };
  if (team.context == nullptr) {
    for (Index batch = 0; batch < args.batch; ++batch) {
      multiply(with_unit_columns(product_of<E, Out>(args, batch)), 0);
    }
    return KernelOutcome::done;
  }
  const Index strip = kShape.vectors * Simd<T>::kWidth;
  const Index strips = ceil_div(first.n, strip);
  const Index row_tiles = ceil_div(first.m, kShape.rows);
  const Index wanted =
      lesser(4 * Index{team.threads()}, static_cast<Index>(work(args) / kWorthThreads));
  const Index wanted_here = ceil_div(wanted, args.batch);
  // Columns are cut first: a block of columns reads its part of B only once.
  const Index column_parts = lesser(strips, wanted_here);
  const Index row_parts = lesser(row_tiles, ceil_div(wanted_here, column_parts));
  const Index parts = column_parts * row_parts;
  team.run(args.batch * parts, [&](Index task, int worker) {
    const Product<E, Out> p = with_unit_columns(product_of<E, Out>(args, task / parts));
    const Index column_part = task % parts / row_parts;
    const Index row_part = task % row_parts;
    const Index j = part_begin(strips, column_parts, column_part) * strip;
    const Index j_end = lesser(p.n, part_begin(strips, column_parts, column_part + 1) * strip);
    const Index i = part_begin(p.m, row_parts, row_part);
    const Index i_end = part_begin(p.m, row_parts, row_part + 1);
    multiply(part_of(p, i, i_end - i, j, j_end - j, 0, p.k), worker);
  });
  return KernelOutcome::done;
}

template <class Table, TileShape kShape>
KernelOutcome tile(const void* raw, CpuContext& context) {
  const GemmArgs& args = *static_cast<const GemmArgs*>(raw);
  return with_output_type<typename Table::E>(
      args, [&]<class Out>() { return run_tile<Table, kShape, Out>(args, context); });
}

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CPU_TILE_INL_H_
