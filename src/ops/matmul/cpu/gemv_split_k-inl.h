// Matrix-vector products cut along the sum: for few rows and a long sum. Every thread makes a
// partial result of its terms; these are added in the order of the terms.
#ifndef ROOFTUNE_OPS_MATMUL_CPU_GEMV_SPLIT_K_INL_H_
#define ROOFTUNE_OPS_MATMUL_CPU_GEMV_SPLIT_K_INL_H_

#include "ops/matmul/cpu/mat_vec.h"

namespace rooftune {
namespace {

template <class S>
KernelOutcome gemv_split_k(const void* raw, CpuContext& context) {
  using T = typename S::Element;
  const GemmArgs& args = *static_cast<const GemmArgs*>(raw);
  const Team team = team_for(work(args), context);
  const MatVec<T> first = mat_vec_of<T>(args, 0);
  const bool by_rows = first.step == 1;
  // Depends on the number of threads alone, as the order of the additions does.
  const Index parts = lesser(first.terms, team.threads());
  const Index copy = by_rows && first.x_step != 1 ? ceil_div(first.terms, parts) : 0;
  const Index each = round_up(first.rows + copy, Index{64 / sizeof(T)});
  const Index group = batch_group(args.batch, parts * each);
  T* const memory = reinterpret_cast<T*>(
      context.scratch(static_cast<std::size_t>(group * parts * each) * sizeof(T)));
  if (memory == nullptr) return KernelOutcome::out_of_memory;
  for (Index batch0 = 0; batch0 < args.batch; batch0 += group) {
    const Index batches = lesser(group, args.batch - batch0);
    team.run(batches * parts, [&](Index task, int) {
      const MatVec<T> whole = mat_vec_of<T>(args, batch0 + task / parts);
      const Index p = part_begin(whole.terms, parts, task % parts);
      const Index end = part_begin(whole.terms, parts, task % parts + 1);
      MatVec<T> v = part_of(whole, 0, whole.rows, p, end - p);
      v.y = memory + task * each;
      v.y_step = 1;
      v.alpha = T(1);
      v.beta = T(0);
      if (!by_rows) {
        mat_vec_by_columns<S>(v);
        return;
      }
      v.x = unit_vector(v, v.y + v.rows);
      v.x_step = 1;
      mat_vec_by_rows<S>(v);
    });
    for (Index batch = 0; batch < batches; ++batch) {
      const MatVec<T> v = mat_vec_of<T>(args, batch0 + batch);
      const T* partial = memory + batch * parts * each;
      for (Index i = 0; i < v.rows; ++i) {
        double sum = 0;
        for (Index part = 0; part < parts; ++part) sum += double{partial[part * each + i]};
        update_one(v.y + i * v.y_step, v.alpha, v.beta, static_cast<T>(sum));
      }
    }
  }
  return KernelOutcome::done;
}

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CPU_GEMV_SPLIT_K_INL_H_
