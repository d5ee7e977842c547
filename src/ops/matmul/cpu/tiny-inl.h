// Products of small matrices, one or a batch: no scratch memory, no task for a single one, and one
// thread for a whole matrix.
#ifndef ROOFTUNE_OPS_MATMUL_CPU_TINY_INL_H_
#define ROOFTUNE_OPS_MATMUL_CPU_TINY_INL_H_

#include "ops/matmul/cpu/in_place.h"
#include "ops/matmul/cpu/legality.h"

namespace rooftune {
namespace {

// B with its columns side by side, where neither operand can be read a vector at a time.
template <class Table>
[[gnu::noinline]] void multiply_copy(Product<typename Table::T> p, const TileShape& shape) {
  alignas(64) typename Table::T copy[kMaxTinyCopy];
  for (Index q = 0; q < p.k; ++q) {
    for (Index j = 0; j < p.n; ++j) {
      copy[q * p.n + j] = load_one(p.b + q * p.b_row + j * p.b_col);
    }
  }
  p.b = copy;
  p.b_row = p.n;
  p.b_col = 1;
  multiply_in_place<Table>(p, shape);
}

template <class Table>
void multiply_tiny(const Product<typename Table::T>& whole, const TileShape& shape) {
  const auto p = with_unit_columns(whole);
  if (p.b_col == 1) {
    multiply_in_place<Table>(p, shape);
  } else {
    multiply_copy<Table>(p, shape);
  }
}

template <class Table, TileShape kShape>
KernelOutcome tiny(const void* raw, CpuContext& context) {
  using T = typename Table::T;
  const GemmArgs& args = *static_cast<const GemmArgs*>(raw);
  if (args.batch == 1) {
    multiply_tiny<Table>(product_of<T>(args, 0), kShape);
    return KernelOutcome::done;
  }
  const Team team = team_for(work(args), context);
  const Index groups =
      team.threads() == 1
          ? 1
          : lesser(args.batch, lesser(8 * Index{team.threads()},
                                      static_cast<Index>(work(args) / kWorthThreads) + 1));
  team.run(groups, [&](Index group, int) {
    const Index end = part_begin(args.batch, groups, group + 1);
    for (Index batch = part_begin(args.batch, groups, group); batch < end; ++batch) {
      multiply_tiny<Table>(product_of<T>(args, batch), kShape);
    }
  });
  return KernelOutcome::done;
}

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CPU_TINY_INL_H_
