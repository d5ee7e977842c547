// A few vectors times a large matrix whose columns lie side by side: the matrix is read from
// memory once, a few of its rows at a time from end to end, so that it arrives as long streams.
#ifndef ROOFTUNE_OPS_MATMUL_CPU_SKINNY_COLS_INL_H_
#define ROOFTUNE_OPS_MATMUL_CPU_SKINNY_COLS_INL_H_

#include "ops/matmul/cpu/in_place.h"
#include "ops/matmul/cpu/skinny_rows-inl.h"

namespace rooftune {
namespace {

// The product turned so that the few vectors are its rows, and columns of B have unit stride.
template <class E, class Out>
Product<E, Out> with_few_rows(const Product<E, Out>& p) {
  if (p.m > kMaxSkinny) return transposed(p);
  if (p.n > kMaxSkinny) return p;
  return p.b_col == 1 ? p : transposed(p);
}

template <class Table, TileShape kShape, class Out>
KernelOutcome run_skinny_cols(const GemmArgs& args, CpuContext& context) {
  using E = typename Table::E;
  using T = typename Table::T;
  // Partial sums must not be rounded to an output that is narrower: they are kept apart.
  constexpr bool kNarrow = !__is_same(Out, T);
  const auto product = [&](Index batch) { return with_few_rows(product_of<E, Out>(args, batch)); };
  const Product<E, Out> first = product(0);
  const Team team = team_for(work(args), context);
  // The vectors are copied, term after term: read where they lie, a stride that is a power of two
  // would put all of them into one set of the first-level cache.
  const Index copy_elements = first.m * first.k;
  const Index sum_elements = kNarrow ? first.m * first.n : 0;
  const Index group = batch_group(args.batch, copy_elements + sum_elements);
  T* const copies = reinterpret_cast<T*>(context.scratch(
      static_cast<std::size_t>(group * (copy_elements + sum_elements)) * sizeof(T)));
  if (copies == nullptr) return KernelOutcome::out_of_memory;
  T* const sums = copies + group * copy_elements;
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
      const Product<E, Out> p = product(batch0 + batch);
      const Index end = part_begin(p.k, copy_parts, task % copy_parts + 1);
      T* to = copies + batch * p.m * p.k;
      for (Index q = part_begin(p.k, copy_parts, task % copy_parts); q < end; ++q) {
        for (Index i = 0; i < p.m; ++i) {
          to[q * p.m + i] = to_sum(load_one(p.a + i * p.a_row + q * p.a_col));
        }
      }
    });
    team.run(batches * parts, [&](Index task, int) {
      const Index batch = task / parts;
      const Product<E, Out> whole = product(batch0 + batch);
      const Index j = part_begin(strips, parts, task % parts) * strip;
      const Index end = lesser(whole.n, part_begin(strips, parts, task % parts + 1) * strip);
      const Product<E, Out> p = part_of(whole, 0, whole.m, j, end - j, 0, whole.k);
      const T* a = copies + batch * p.m * p.k;
      if constexpr (kNarrow) {
        T* c = sums + batch * sum_elements + j;
        multiply_in_place<Table>(with_wide(p, a, 1, p.m, c, whole.n), kShape);
        update_block<Simd<T>>(c, whole.n, p.m, p.n, p.alpha, p.beta, p.c, p.c_row, p.c_col);
      } else {
        auto wide = with_wide(p, a, 1, p.m, p.c, p.c_row);
        wide.c_col = p.c_col;
        wide.alpha = p.alpha;
        wide.beta = p.beta;
        multiply_in_place<Table>(wide, kShape);
      }
    });
  }
  return KernelOutcome::done;
}

template <class Table, TileShape kShape>
KernelOutcome skinny_cols(const void* raw, CpuContext& context) {
  const GemmArgs& args = *static_cast<const GemmArgs*>(raw);
  return with_output_type<typename Table::E>(
      args, [&]<class Out>() { return run_skinny_cols<Table, kShape, Out>(args, context); });
}

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CPU_SKINNY_COLS_INL_H_
