// Many outputs of a few terms each that lie side by side: no block ever fills, so each output is a
// few vectors and one fold, and the next one starts while the fold is still under way.
#ifndef ROOFTUNE_OPS_REDUCE_CPU_SHORT_ROWS_INL_H_
#define ROOFTUNE_OPS_REDUCE_CPU_SHORT_ROWS_INL_H_

#include "ops/reduce/cpu/legality.h"
#include "ops/reduce/cpu/pairwise.h"
#include "ops/reduce/cpu/walk.h"

namespace rooftune {
namespace {

template <class S>
KernelOutcome short_rows(const void* raw, CpuContext& context) {
  using T = typename S::Element;
  static_assert(kMostShortTerms / S::kWidth <= kBlockAdds);
  const SumArgs& args = *static_cast<const SumArgs*>(raw);
  const Index whole = args.terms / S::kWidth * S::kWidth;
  const auto mask = S::mask(args.terms - whole);
  share_out(context, args.outputs, args.terms, [&](Index begin, Index end, Index) {
    Cursor at(args.keep_rank, args.keep_extent, args.in_keep, args.out_keep, begin);
    for (Index i = begin; i < end; ++i, at.next()) {
      const T* in = static_cast<const T*>(args.in) + at.in;
      auto sums = S::zero();
      for (Index term = 0; term < whole; term += S::kWidth) sums = S::add(sums, S::load(in + term));
      if (whole < args.terms) sums = S::add(sums, S::load(in + whole, mask));
      store_one(static_cast<T*>(args.out) + at.out, S::sum(sums));
    }
  });
  return KernelOutcome::done;
}

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_REDUCE_CPU_SHORT_ROWS_INL_H_
