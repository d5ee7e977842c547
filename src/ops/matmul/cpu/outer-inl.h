// Outer products (k = 1): every element of C is written once, at the rate of memory.
#ifndef ROOFTUNE_OPS_MATMUL_CPU_OUTER_INL_H_
#define ROOFTUNE_OPS_MATMUL_CPU_OUTER_INL_H_

#include "ops/matmul/cpu/product.h"

namespace rooftune {
namespace {

template <class S, class E, class Out>
KernelOutcome run_outer(const GemmArgs& args, CpuContext& context) {
  using T = typename S::Element;
  using From = Elements<S, E>;
  using To = Elements<S, Out>;
  const Team team = team_for(work(args), context);
  const auto turned = [&](Index batch) {
    const Product<E, Out> p = product_of<E, Out>(args, batch);
    return p.c_col != 1 && p.c_row == 1 ? transposed(p) : p;
  };
  const Product<E, Out> first = turned(0);
  // Stretches of a row, so that a strided b is gathered into a buffer that stays near.
  constexpr Index kStretch = 1024;
  const Index col_parts = ceil_div(first.n, kStretch);
  const Index row_parts =
      team.threads() == 1 ? 1 : lesser(first.m, ceil_div(4 * Index{team.threads()}, args.batch));
  const Index parts = row_parts * col_parts;
  team.run(args.batch * parts, [&](Index task, int) {
    const Product<E, Out> p = turned(task / parts);
    const Index j = task % parts % col_parts * kStretch;
    const Index cols = lesser(kStretch, p.n - j);
    const Index row_part = task % parts / col_parts;
    const Index end = part_begin(p.m, row_parts, row_part + 1);
    E gathered[kStretch];
    const E* b = p.b + j * p.b_col;
    if (p.b_col != 1) {
      for (Index c = 0; c < cols; ++c) gathered[c] = load_one(b + c * p.b_col);
      b = gathered;
    }
    for (Index i = part_begin(p.m, row_parts, row_part); i < end; ++i) {
      const T a = to_sum(load_one(p.a + i * p.a_row));
      Out* c = p.c + i * p.c_row + j * p.c_col;
      if (p.c_col != 1) {
        for (Index q = 0; q < cols; ++q) {
          update_one(c + q * p.c_col, p.alpha, p.beta, T(a * to_sum(load_one(b + q))));
        }
        continue;
      }
      const auto va = S::broadcast(a);
      const auto alpha = S::broadcast(p.alpha);
      const auto beta = S::broadcast(p.beta);
      for (Index q = 0; q < cols; q += S::kWidth) {
        const auto mask = S::mask(lesser(S::kWidth, cols - q));
        auto value = S::mul(alpha, S::mul(va, From::load(b + q, mask)));
        if (p.beta != T(0)) value = S::fma(beta, To::load(c + q, mask), value);
        To::store(c + q, mask, value);
      }
    }
  });
  return KernelOutcome::done;
}

template <class S, class E = typename S::Element>
KernelOutcome outer(const void* raw, CpuContext& context) {
  const GemmArgs& args = *static_cast<const GemmArgs*>(raw);
  return with_output_type<E>(args,
                             [&]<class Out>() { return run_outer<S, E, Out>(args, context); });
}

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CPU_OUTER_INL_H_
