// One sum whose terms lie side by side.
#ifndef ROOFTUNE_OPS_REDUCE_CPU_ROW_SUM_H_
#define ROOFTUNE_OPS_REDUCE_CPU_ROW_SUM_H_

#include "ops/reduce/cpu/stream.h"
#include "ops/reduce/cpu/units.h"

namespace rooftune {
namespace {

template <class S, int kVectors>
double row_sum(const SumArgs& args, const typename S::Element* in, Index begin, Index end) {
  static_assert((kVectors & (kVectors - 1)) == 0, "block() folds halves");
  using Lanes = Stream<S, kVectors>;
  Lanes stream;
  const auto block = [&] {
    typename S::Vector sums[kVectors];
    for (int v = 0; v < kVectors; ++v) sums[v] = stream.vectors()[v];
    for (int half = kVectors / 2; half > 0; half /= 2) {
      for (int v = 0; v < half; ++v) sums[v] = S::add(sums[v], sums[v + half]);
    }
    return double{S::sum(sums[0])};
  };
  double memory[Pairwise::kLevels];
  Pairwise total(memory, 1);
  for_each_run(args, begin, end, [&](Index offset, Index count, Index) {
    stream.add(in + offset, count, [&] {
      double sum = block();
      total.add(&sum);
      stream.clear();
    });
  });
  double sum = block();
  if (total.blocks() == 0) return sum;
  total.add(&sum);
  total.total(&sum);
  return sum;
}

template <class S, int kVectors>
struct ByRows {
  using Element = typename S::Element;
  static Index units(const SumArgs& args) { return args.outputs; }
  static Unit unit(const SumArgs& args, Index index) { return single_output(args, index); }
  static void sums(const SumArgs& args, const Element* in, Index, Index begin, Index end,
                   double* sums) {
    sums[0] = row_sum<S, kVectors>(args, in, begin, end);
  }
};

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_REDUCE_CPU_ROW_SUM_H_
