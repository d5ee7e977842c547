// A long sum cut into one stretch a thread: for results that are too small to share out. Every
// stretch is a packed product into a buffer; the buffers are added in the order of the stretches.
#ifndef ROOFTUNE_OPS_MATMUL_CPU_SPLIT_K_INL_H_
#define ROOFTUNE_OPS_MATMUL_CPU_SPLIT_K_INL_H_

#include "ops/matmul/cpu/packed-inl.h"

namespace rooftune {
namespace {

template <class S, int kRows, int kVectors, Blocking kBlocking>
KernelOutcome split_k(const void* raw, CpuContext& context) {
  using P = Packed<S, kRows, kVectors>;
  using T = typename S::Element;
  const GemmArgs& args = *static_cast<const GemmArgs*>(raw);
  const Team team = team_for(work(args), context);
  const Product<T> first = with_unit_output(product_of<T>(args, 0));
  const Index parts = lesser(first.k, team.threads());
  const typename P::Plan plan = P::plan(first.m, first.n, ceil_div(first.k, parts), kBlocking);
  const std::size_t packed_bytes = plan.a_bytes + plan.b_bytes;
  const std::size_t partial_bytes =
      (static_cast<std::size_t>(first.m * first.n) * sizeof(T) + 4095) / 4096 * 4096;
  std::byte* const memory =
      context.scratch((packed_bytes + partial_bytes) * static_cast<std::size_t>(parts));
  if (memory == nullptr) return KernelOutcome::out_of_memory;
  const auto partial = [&](Index part) {
    return reinterpret_cast<T*>(memory + static_cast<std::size_t>(part) * partial_bytes);
  };
  std::byte* const panels = memory + static_cast<std::size_t>(parts) * partial_bytes;
  for (Index batch = 0; batch < args.batch; ++batch) {
    const Product<T> whole = with_unit_output(product_of<T>(args, batch));
    team.run(parts, [&](Index part, int) {
      const Index p = part_begin(whole.k, parts, part);
      Product<T> stretch =
          part_of(whole, 0, whole.m, 0, whole.n, p, part_begin(whole.k, parts, part + 1) - p);
      stretch.c = partial(part);
      stretch.c_row = whole.n;
      stretch.c_col = 1;
      stretch.alpha = T(1);
      stretch.beta = T(0);
      P::run(stretch, plan, Team{}, panels + static_cast<std::size_t>(part) * packed_bytes);
    });
    const Index row_parts = lesser(whole.m, team.threads());
    team.run(row_parts, [&](Index task, int) {
      const Index end = part_begin(whole.m, row_parts, task + 1);
      for (Index i = part_begin(whole.m, row_parts, task); i < end; ++i) {
        T* sums = partial(0) + i * whole.n;
        for (Index part = 1; part < parts; ++part) {
          const T* more = partial(part) + i * whole.n;
          for (Index j = 0; j < whole.n; ++j) sums[j] += more[j];
        }
        update_block<S>(sums, 0, 1, whole.n, whole.alpha, whole.beta, whole.c + i * whole.c_row, 0,
                        whole.c_col);
      }
    });
  }
  return KernelOutcome::done;
}

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CPU_SPLIT_K_INL_H_
