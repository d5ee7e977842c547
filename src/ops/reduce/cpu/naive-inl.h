// The fallback: plain loops that accept every problem. Sums are made in f64 whatever the type is.
#ifndef ROOFTUNE_OPS_REDUCE_CPU_NAIVE_INL_H_
#define ROOFTUNE_OPS_REDUCE_CPU_NAIVE_INL_H_

#include "ops/reduce/cpu/units.h"

namespace rooftune {
namespace {

// Independent sums, enough to hide the latency of an addition.
inline constexpr int kNaiveLanes = 4;

template <class T>
double naive_sum(const SumArgs& args, const T* in, Index begin, Index end) {
  double memory[Pairwise::kLevels];
  Pairwise total(memory, 1);
  double lanes[kNaiveLanes] = {};
  Index room = kBlockAdds;
  const auto close_block = [&] {
    double block = (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
    total.add(&block);
    for (double& lane : lanes) lane = 0;
    room = kBlockAdds;
  };
  for_each_run(args, begin, end, [&](Index offset, Index count, Index step) {
    const T* p = in + offset;
    while (count > 0) {
      const Index rounds = lesser(room, count / kNaiveLanes);
      for (Index i = 0; i < rounds; ++i, p += kNaiveLanes * step) {
        for (Index lane = 0; lane < kNaiveLanes; ++lane) {
          lanes[lane] += double{load_one(p + lane * step)};
        }
      }
      count -= rounds * kNaiveLanes;
      room -= rounds;
      if (room > 0 && count > 0) {
        const Index rest = lesser(count, kNaiveLanes);
        for (Index lane = 0; lane < rest; ++lane) lanes[lane] += double{load_one(p + lane * step)};
        p += rest * step;
        count -= rest;
        --room;
      }
      if (room == 0) close_block();
    }
  });
  close_block();
  double sum = 0;
  total.total(&sum);
  return sum;
}

template <class T>
struct ByPlainLoops {
  using Element = T;
  static Index units(const SumArgs& args) { return args.outputs; }
  static Unit unit(const SumArgs& args, Index index) { return single_output(args, index); }
  static void sums(const SumArgs& args, const T* in, Index, Index begin, Index end, double* sums) {
    sums[0] = naive_sum(args, in, begin, end);
  }
};

template <class T>
KernelOutcome naive(const void* args, CpuContext& context) {
  return whole<ByPlainLoops<T>>(args, context);
}

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_REDUCE_CPU_NAIVE_INL_H_
