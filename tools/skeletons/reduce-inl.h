// TECHNIQUE: say in a line what it does that no other kernel does.
//
// This skeleton is a right and simple kernel: each output by itself, a vector of terms at a time
// where they lie side by side. Replace what is inside, keep what is said in comments.
#ifndef ROOFTUNE_OPS_REDUCE_CPU_GUARD_INL_H_
#define ROOFTUNE_OPS_REDUCE_CPU_GUARD_INL_H_

#include "ops/reduce/cpu/units.h"

namespace rooftune {
// Unnamed: the file is compiled once for each instruction set (see matmul/cpu/simd.h).
namespace {

// The sum of up to kBlockAdds vectors of terms, `step` elements apart: short enough to be exact,
// in the element's type, before it joins a pairwise sum in f64.
template <class S, class T>
double TECHNIQUE_block(const T* p, Index count, Index step) {
  if (step != 1) {
    T sum = 0;
    for (Index i = 0; i < count; ++i) sum += load_one(p + i * step);
    return double{sum};
  }
  auto sum = S::zero();
  for (Index i = 0; i < count; i += S::kWidth) {
    // A load through a mask touches only the elements that are there.
    sum = S::add(sum, S::load(p + i, S::mask(lesser(S::kWidth, count - i))));
  }
  return double{S::sum(sum)};
}

// What units.h wants to know of a technique.
template <class S>
struct ByCAMEL {
  using Element = typename S::Element;
  static Index units(const SumArgs& args) { return args.outputs; }
  static Unit unit(const SumArgs& args, Index index) { return single_output(args, index); }
  static void sums(const SumArgs& args, const Element* in, Index, Index begin, Index end,
                   double* sums) {
    double memory[Pairwise::kLevels];
    Pairwise total(memory, 1);
    for_each_run(args, begin, end, [&](Index offset, Index count, Index step) {
      const Index most = step == 1 ? kBlockAdds * S::kWidth : kBlockAdds;
      for (Index i = 0; i < count; i += most) {
        double block = TECHNIQUE_block<S>(in + offset + i * step, lesser(most, count - i), step);
        total.add(&block);
      }
    });
    total.total(sums);
  }
};

template <class S>
KernelOutcome TECHNIQUE(const void* args, CpuContext& context) {
  return whole<ByCAMEL<S>>(args, context);
}

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_REDUCE_CPU_GUARD_INL_H_
