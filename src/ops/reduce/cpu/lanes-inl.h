// A few neighbouring outputs at a time, one scalar lane each, at any strides: uses what is left of
// the cache lines that the terms of the first one brought in.
#ifndef ROOFTUNE_OPS_REDUCE_CPU_LANES_INL_H_
#define ROOFTUNE_OPS_REDUCE_CPU_LANES_INL_H_

#include "ops/reduce/cpu/units.h"

namespace rooftune {
namespace {

inline constexpr Index kScalarLanes = 16;

// kFull: all lanes are used, which lets the compiler unroll their loops.
template <class T, bool kFull>
void lane_sums(const SumArgs& args, const T* in, Index outputs, Index begin, Index end,
               double* sums) {
  const Index used = kFull ? kScalarLanes : outputs;
  const Index lane_step = args.in_keep[args.keep_rank - 1];
  double memory[Pairwise::kLevels * kScalarLanes];
  double folded[kScalarLanes] = {};
  Pairwise total(memory, kScalarLanes);
  T lanes[kScalarLanes] = {};
  Index room = kBlockAdds;
  const auto close_block = [&] {
    for (Index i = 0; i < kScalarLanes; ++i) folded[i] = double{lanes[i]};
    for (T& lane : lanes) lane = 0;
    total.add(folded);
    room = kBlockAdds;
  };
  for_each_run(args, begin, end, [&](Index offset, Index count, Index step) {
    const T* p = in + offset;
    while (count > 0) {
      const Index rounds = lesser(room, count);
      for (Index i = 0; i < rounds; ++i, p += step) {
        for (Index lane = 0; lane < used; ++lane) lanes[lane] += load_one(p + lane * lane_step);
      }
      count -= rounds;
      room -= rounds;
      if (room == 0) close_block();
    }
  });
  close_block();
  total.total(folded);
  for (Index i = 0; i < used; ++i) sums[i] = folded[i];
}

template <class T>
struct ByLanes {
  using Element = T;
  static Index units(const SumArgs& args) { return tiles(args, kScalarLanes); }
  static Unit unit(const SumArgs& args, Index index) { return tile(args, kScalarLanes, index); }
  static void sums(const SumArgs& args, const T* in, Index outputs, Index begin, Index end,
                   double* sums) {
    if (outputs == kScalarLanes) {
      lane_sums<T, true>(args, in, outputs, begin, end, sums);
    } else {
      lane_sums<T, false>(args, in, outputs, begin, end, sums);
    }
  }
};

template <class T>
KernelOutcome lanes(const void* args, CpuContext& context) {
  return whole<ByLanes<T>>(args, context);
}

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_REDUCE_CPU_LANES_INL_H_
