// Matrix-vector products as sums of columns: for a matrix whose rows lie side by side.
#ifndef ROOFTUNE_OPS_MATMUL_CPU_GEMV_COLS_INL_H_
#define ROOFTUNE_OPS_MATMUL_CPU_GEMV_COLS_INL_H_

#include "ops/matmul/cpu/mat_vec.h"

namespace rooftune {
namespace {

template <class S, class E, class Out>
KernelOutcome run_gemv_cols(const GemmArgs& args, CpuContext& context) {
  const MatVec<E, Out> first = mat_vec_by_unit_rows<E, Out>(args, 0);
  const Team team = team_for(work(args), context);
  // A part is a stretch of every column. Short stretches make poor streams, so there are no more
  // parts than threads.
  const Index parts = mat_vec_parts(args, first.rows, 256, 1, team);
  team.run(args.batch * parts, [&](Index task, int) {
    const MatVec<E, Out> v = mat_vec_by_unit_rows<E, Out>(args, task / parts);
    // Parts begin at multiples of a cache line.
    constexpr Index kLine = 64 / sizeof(E);
    const Index lines = ceil_div(v.rows, kLine);
    const Index i = part_begin(lines, parts, task % parts) * kLine;
    const Index end = lesser(v.rows, part_begin(lines, parts, task % parts + 1) * kLine);
    mat_vec_by_columns<S>(part_of(v, i, end - i, 0, v.terms));
  });
  return KernelOutcome::done;
}

template <class S, class E = typename S::Element>
KernelOutcome gemv_cols(const void* raw, CpuContext& context) {
  const GemmArgs& args = *static_cast<const GemmArgs*>(raw);
  return with_output_type<E>(args,
                             [&]<class Out>() { return run_gemv_cols<S, E, Out>(args, context); });
}

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CPU_GEMV_COLS_INL_H_
