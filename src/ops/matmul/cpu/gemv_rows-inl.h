// Matrix-vector products as dot products of rows: for a matrix whose terms lie side by side.
#ifndef ROOFTUNE_OPS_MATMUL_CPU_GEMV_ROWS_INL_H_
#define ROOFTUNE_OPS_MATMUL_CPU_GEMV_ROWS_INL_H_

#include "ops/matmul/cpu/mat_vec.h"

namespace rooftune {
namespace {

template <class S>
KernelOutcome gemv_rows(const void* raw, CpuContext& context) {
  using T = typename S::Element;
  const GemmArgs& args = *static_cast<const GemmArgs*>(raw);
  const MatVec<T> first = mat_vec_of<T>(args, 0);
  const Team team = team_for(work(args), context);
  const Index parts = mat_vec_parts(args, first.rows, 4, 4, team);
  const bool copy = first.x_step != 1;
  const Index group = copy ? batch_group(args.batch, first.terms) : args.batch;
  T* copies = nullptr;  // of x, one a product
  if (copy) {
    copies = reinterpret_cast<T*>(
        context.scratch(static_cast<std::size_t>(group * first.terms) * sizeof(T)));
    if (copies == nullptr) return KernelOutcome::out_of_memory;
  }
  for (Index batch0 = 0; batch0 < args.batch; batch0 += group) {
    const Index batches = lesser(group, args.batch - batch0);
    if (copy) {
      team.run(batches, [&](Index batch, int) {
        unit_vector(mat_vec_of<T>(args, batch0 + batch), copies + batch * first.terms);
      });
    }
    team.run(batches * parts, [&](Index task, int) {
      const Index batch = task / parts;
      MatVec<T> v = mat_vec_of<T>(args, batch0 + batch);
      if (copy) v.x = copies + batch * v.terms;
      const Index i = part_begin(v.rows, parts, task % parts);
      const Index rows = part_begin(v.rows, parts, task % parts + 1) - i;
      mat_vec_by_rows<S>(part_of(v, i, rows, 0, v.terms));
    });
  }
  return KernelOutcome::done;
}

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CPU_GEMV_ROWS_INL_H_
