// The sums of a few neighbouring outputs whose terms follow each other without a gap, as in a list
// of points: x y z x y z ... The whole is read as one stream; which lane belongs to which output
// repeats after a few vectors.
#ifndef ROOFTUNE_OPS_REDUCE_CPU_WRAP_SUM_H_
#define ROOFTUNE_OPS_REDUCE_CPU_WRAP_SUM_H_

#include "ops/reduce/cpu/stream.h"
#include "ops/reduce/cpu/units.h"

namespace rooftune {
namespace {

// kVectors * S::kWidth must be a multiple of `outputs`.
template <class S, int kVectors>
void wrapped_sums(const SumArgs& args, const typename S::Element* in, Index outputs, Index begin,
                  Index end, double* sums) {
  using T = typename S::Element;
  using Lanes = Stream<S, kVectors>;
  Lanes stream;
  const auto block = [&](double* folded) {
    T lanes[Lanes::kLanes];
    for (int v = 0; v < kVectors; ++v) S::store(lanes + v * S::kWidth, stream.vectors()[v]);
    for (Index i = 0; i < outputs; ++i) folded[i] = double{lanes[i]};
    for (Index from = outputs; from < Lanes::kLanes; from += outputs) {
      for (Index i = 0; i < outputs; ++i) folded[i] += double{lanes[from + i]};
    }
  };
  double memory[Pairwise::kLevels * Lanes::kLanes];
  double folded[Lanes::kLanes];
  Pairwise total(memory, outputs);
  for_each_run(args, begin, end, [&](Index offset, Index count, Index) {
    stream.add(in + offset, count * outputs, [&] {
      block(folded);
      total.add(folded);
      stream.clear();
    });
  });
  block(folded);
  total.add(folded);
  total.total(sums);
}

template <class S>
struct ByWraps {
  using Element = typename S::Element;
  static Index units(const SumArgs& args) { return tiles(args, kMostOutputs); }
  static Unit unit(const SumArgs& args, Index index) { return tile(args, kMostOutputs, index); }
  static void sums(const SumArgs& args, const Element* in, Index outputs, Index begin, Index end,
                   double* sums) {
    // The smallest number of vectors that are whole terms is outputs / gcd(outputs, kWidth); where
    // that is few, a multiple of it keeps more additions in flight.
    Index period = outputs;
    for (Index width = S::kWidth; width > 1 && period % 2 == 0; width /= 2) period /= 2;
    switch (period) {
      case 3:
      case 6:
        return wrapped_sums<S, 6>(args, in, outputs, begin, end, sums);
      case 5:
        return wrapped_sums<S, 5>(args, in, outputs, begin, end, sums);
      case 7:
        return wrapped_sums<S, 7>(args, in, outputs, begin, end, sums);
      default:  // 1, 2, 4, 8
        return wrapped_sums<S, 8>(args, in, outputs, begin, end, sums);
    }
  }
};

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_REDUCE_CPU_WRAP_SUM_H_
