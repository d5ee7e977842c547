// A long sum cut into one stretch a thread: for results that are too small to share out. Every
// stretch is a product into a buffer; the buffers are added in the order of the stretches.
#ifndef ROOFTUNE_OPS_MATMUL_CPU_SPLIT_K_INL_H_
#define ROOFTUNE_OPS_MATMUL_CPU_SPLIT_K_INL_H_

#include "ops/matmul/cpu/in_place.h"
#include "ops/matmul/cpu/packed.h"

namespace rooftune {
namespace {

// multiply(stretch, memory) with `bytes` of memory for each; turn(product) gives a product the
// orientation that multiply needs.
template <class E, class Out, class Turn, class Multiply>
KernelOutcome in_stretches(const GemmArgs& args, CpuContext& context, const Team& team, Index parts,
                           std::size_t bytes, Turn&& turn, Multiply&& multiply) {
  using T = Sum<E>;
  const std::size_t partial_bytes =
      (static_cast<std::size_t>(args.m * args.n) * sizeof(T) + 4095) / 4096 * 4096;
  std::byte* const memory =
      context.scratch((bytes + partial_bytes) * static_cast<std::size_t>(parts));
  if (memory == nullptr) return KernelOutcome::out_of_memory;
  const auto partial = [&](Index part) {
    return reinterpret_cast<T*>(memory + static_cast<std::size_t>(part) * partial_bytes);
  };
  std::byte* const rest = memory + static_cast<std::size_t>(parts) * partial_bytes;
  for (Index batch = 0; batch < args.batch; ++batch) {
    const Product<E, Out> whole = turn(product_of<E, Out>(args, batch));
    team.run(parts, [&](Index part, int) {
      const Index p = part_begin(whole.k, parts, part);
      Product<E, T> stretch = {whole.m,
                               whole.n,
                               part_begin(whole.k, parts, part + 1) - p,
                               whole.a + p * whole.a_col,
                               whole.a_row,
                               whole.a_col,
                               whole.b + p * whole.b_row,
                               whole.b_row,
                               whole.b_col,
                               partial(part),
                               whole.n,
                               1,
                               T(1),
                               T(0),
                               whole.a_unsigned,
                               whole.b_unsigned};
      multiply(stretch, rest + static_cast<std::size_t>(part) * bytes);
    });
    const Index row_parts = lesser(whole.m, team.threads());
    team.run(row_parts, [&](Index task, int) {
      const Index end = part_begin(whole.m, row_parts, task + 1);
      for (Index i = part_begin(whole.m, row_parts, task); i < end; ++i) {
        T* sums = partial(0) + i * whole.n;
        for (Index part = 1; part < parts; ++part) {
          const T* more = partial(part) + i * whole.n;
          for (Index j = 0; j < whole.n; ++j) sums[j] = added(sums[j], more[j]);
        }
        update_block<Simd<T>>(sums, 0, 1, whole.n, whole.alpha, whole.beta,
                              whole.c + i * whole.c_row, 0, whole.c_col);
      }
    });
  }
  return KernelOutcome::done;
}

// Stretches packed, whatever the layout is.
template <class M, class Out>
KernelOutcome run_split_k(const GemmArgs& args, const Blocking& blocking, CpuContext& context) {
  using E = typename M::E;
  using T = typename M::T;
  using P = Packed<M, T>;
  const Team team = team_for(work(args), context);
  const Product<E, Out> first = with_unit_output(product_of<E, Out>(args, 0));
  const Index parts = lesser(first.k, team.threads());
  const typename P::Plan plan = P::plan(first.m, first.n, ceil_div(first.k, parts), blocking);
  return in_stretches<E, Out>(
      args, context, team, parts, plan.bytes(),
      [](const Product<E, Out>& p) { return with_unit_output(p); },
      [&](const Product<E, T>& stretch, std::byte* memory) {
        P::run(stretch, plan, Team{}, memory);
      });
}

// On the units of any Micro.
template <class M, Blocking kBlocking>
KernelOutcome split_k_on(const void* raw, CpuContext& context) {
  const GemmArgs& args = *static_cast<const GemmArgs*>(raw);
  return with_output_type<typename M::E>(
      args, [&]<class Out>() { return run_split_k<M, Out>(args, kBlocking, context); });
}

template <class S, int kRows, int kVectors, Blocking kBlocking, class E = typename S::Element>
KernelOutcome split_k(const void* raw, CpuContext& context) {
  const GemmArgs& args = *static_cast<const GemmArgs*>(raw);
  return with_output_type<E>(args, [&]<class Out>() {
    return run_split_k<VectorMicro<S, E, kRows, kVectors>, Out>(args, kBlocking, context);
  });
}

// Stretches by tiles that read both operands where they lie: a sum so long that its operands come
// from memory once leaves no time for copies of them.
template <class Table, TileShape kShape>
KernelOutcome split_k_in_place(const void* raw, CpuContext& context) {
  using T = typename Table::T;
  const GemmArgs& args = *static_cast<const GemmArgs*>(raw);
  const Team team = team_for(work(args), context);
  return in_stretches<T, T>(
      args, context, team, lesser(args.k, team.threads()), 0,
      [](const Product<T>& p) { return with_unit_columns(p); },
      [](const Product<T>& stretch, std::byte*) { multiply_in_place<Table>(stretch, kShape); });
}

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CPU_SPLIT_K_INL_H_
