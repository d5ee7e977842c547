// Matrix-vector products as dot products of rows: for a matrix whose terms lie side by side.
#ifndef ROOFTUNE_OPS_MATMUL_CPU_GEMV_ROWS_INL_H_
#define ROOFTUNE_OPS_MATMUL_CPU_GEMV_ROWS_INL_H_

#include "ops/matmul/cpu/mat_vec.h"

namespace rooftune {
namespace {

template <class Dots, class Out>
KernelOutcome run_gemv_rows(const GemmArgs& args, CpuContext& context) {
  using E = typename Dots::E;
  const MatVec<E, Out> first = mat_vec_of<E, Out>(args, 0);
  const Team team = team_for(work(args), context);
  const Index parts = mat_vec_parts(args, first.rows, 4, 4, team);
  const bool copy = first.x_step != 1;
  const Index group = copy ? batch_group(args.batch, first.terms) : args.batch;
  E* copies = nullptr;  // of x, one a product
  if (copy) {
    copies = reinterpret_cast<E*>(
        context.scratch(static_cast<std::size_t>(group * first.terms) * sizeof(E)));
    if (copies == nullptr) return KernelOutcome::out_of_memory;
  }
  for (Index batch0 = 0; batch0 < args.batch; batch0 += group) {
    const Index batches = lesser(group, args.batch - batch0);
    if (copy) {
      team.run(batches, [&](Index batch, int) {
        unit_vector(mat_vec_of<E, Out>(args, batch0 + batch), copies + batch * first.terms);
      });
    }
    team.run(batches * parts, [&](Index task, int) {
      const Index batch = task / parts;
      MatVec<E, Out> v = mat_vec_of<E, Out>(args, batch0 + batch);
      if (copy) v.x = copies + batch * v.terms;
      const Index i = part_begin(v.rows, parts, task % parts);
      const Index rows = part_begin(v.rows, parts, task % parts + 1) - i;
      mat_vec_by_rows<Dots>(part_of(v, i, rows, 0, v.terms));
    });
  }
  return KernelOutcome::done;
}

template <class Dots>
KernelOutcome gemv_rows(const void* raw, CpuContext& context) {
  const GemmArgs& args = *static_cast<const GemmArgs*>(raw);
  return with_output_type<typename Dots::E>(
      args, [&]<class Out>() { return run_gemv_rows<Dots, Out>(args, context); });
}

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CPU_GEMV_ROWS_INL_H_
