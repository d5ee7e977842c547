// Matrix-vector products cut along the sum: for few rows and a long sum. Every thread makes a
// partial result of its terms; these are added in the order of the terms.
#ifndef ROOFTUNE_OPS_MATMUL_CPU_GEMV_SPLIT_K_INL_H_
#define ROOFTUNE_OPS_MATMUL_CPU_GEMV_SPLIT_K_INL_H_

#include "ops/matmul/cpu/mat_vec.h"

namespace rooftune {
namespace {

template <class S, class E, class Out>
KernelOutcome run_gemv_split_k(const GemmArgs& args, CpuContext& context) {
  using T = typename S::Element;
  const Team team = team_for(work(args), context);
  const MatVec<E, Out> first = mat_vec_of<E, Out>(args, 0);
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
      const MatVec<E, Out> whole = mat_vec_of<E, Out>(args, batch0 + task / parts);
      const Index p = part_begin(whole.terms, parts, task % parts);
      const Index end = part_begin(whole.terms, parts, task % parts + 1);
      T* const sums = memory + task * each;
      MatVec<E, T> v = {whole.rows,
                        end - p,
                        whole.m + p * whole.step,
                        whole.row,
                        whole.step,
                        whole.x + p * whole.x_step,
                        whole.x_step,
                        sums,
                        1,
                        T(1),
                        T(0),
                        whole.m_unsigned,
                        whole.x_unsigned};
      if (!by_rows) {
        mat_vec_by_columns<S>(v);
        return;
      }
      v.x = unit_vector(v, reinterpret_cast<E*>(sums + v.rows));
      v.x_step = 1;
      mat_vec_by_rows<FmaDots<S, E>>(v);
    });
    for (Index batch = 0; batch < batches; ++batch) {
      const MatVec<E, Out> v = mat_vec_of<E, Out>(args, batch0 + batch);
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

template <class S, class E = typename S::Element>
KernelOutcome gemv_split_k(const void* raw, CpuContext& context) {
  const GemmArgs& args = *static_cast<const GemmArgs*>(raw);
  return with_output_type<E>(
      args, [&]<class Out>() { return run_gemv_split_k<S, E, Out>(args, context); });
}

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CPU_GEMV_SPLIT_K_INL_H_
