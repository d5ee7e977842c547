// A few vectors times a large matrix whose columns lie side by side: the matrix is read from
// memory once, a few of its rows at a time from end to end, so that it arrives as long streams.
#ifndef ROOFTUNE_OPS_MATMUL_CPU_SKINNY_COLS_INL_H_
#define ROOFTUNE_OPS_MATMUL_CPU_SKINNY_COLS_INL_H_

#include "ops/matmul/cpu/in_place.h"
#include "ops/matmul/cpu/skinny_rows-inl.h"

namespace rooftune {
namespace {

// The product turned so that the few vectors are its rows, and columns of B have unit stride.
template <class T>
Product<T> with_few_rows(const Product<T>& p) {
  if (p.m > kMaxSkinny) return transposed(p);
  if (p.n > kMaxSkinny) return p;
  return p.b_col == 1 ? p : transposed(p);
}

template <class Table, TileShape kShape>
KernelOutcome skinny_cols(const void* raw, CpuContext& context) {
  using T = typename Table::T;
  const GemmArgs& args = *static_cast<const GemmArgs*>(raw);
  const Product<T> first = with_few_rows(product_of<T>(args, 0));
  const Team team = team_for(work(args), context);
  // The vectors are copied, term after term: read where they lie, a stride that is a power of two
  // would put all of them into one set of the first-level cache.
  const Index group = batch_group(args.batch, first.m * first.k);
  T* const copies = reinterpret_cast<T*>(
      context.scratch(static_cast<std::size_t>(group * first.m * first.k) * sizeof(T)));
  if (copies == nullptr) return KernelOutcome::out_of_memory;
  const Index copy_parts = ceil_div(first.k, 1024);
  const Index strip = kShape.vectors * Simd<T>::kWidth;
  const Index strips = ceil_div(first.n, strip);
  const Index parts =
      team.threads() == 1
          ? 1
          : lesser(ceil_div(strips, 4),
                   ceil_div(lesser(4 * Index{team.threads()},
                                   static_cast<Index>(work(args) / kWorthThreads) + 1),
                            args.batch));
  for (Index batch0 = 0; batch0 < args.batch; batch0 += group) {
    const Index batches = lesser(group, args.batch - batch0);
    team.run(batches * copy_parts, [&](Index task, int) {
      const Index batch = task / copy_parts;
      const Product<T> p = with_few_rows(product_of<T>(args, batch0 + batch));
      const Index end = part_begin(p.k, copy_parts, task % copy_parts + 1);
      T* to = copies + batch * p.m * p.k;
      for (Index q = part_begin(p.k, copy_parts, task % copy_parts); q < end; ++q) {
        for (Index i = 0; i < p.m; ++i) to[q * p.m + i] = load_one(p.a + i * p.a_row + q * p.a_col);
      }
    });
    team.run(batches * parts, [&](Index task, int) {
      const Index batch = task / parts;
      Product<T> p = with_few_rows(product_of<T>(args, batch0 + batch));
      p.a = copies + batch * p.m * p.k;
      p.a_row = 1;
      p.a_col = p.m;
      const Index j = part_begin(strips, parts, task % parts) * strip;
      const Index end = lesser(p.n, part_begin(strips, parts, task % parts + 1) * strip);
      multiply_in_place<Table>(part_of(p, 0, p.m, j, end - j, 0, p.k), kShape);
    });
  }
  return KernelOutcome::done;
}

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CPU_SKINNY_COLS_INL_H_
