// How kernels walk the axes of a sum, and how they share the work out.
//
// As with every header that includes simd.h, all here is in an unnamed namespace: see there.
#ifndef ROOFTUNE_OPS_REDUCE_CPU_WALK_H_
#define ROOFTUNE_OPS_REDUCE_CPU_WALK_H_

#include "device/cpu/context.h"
#include "ops/reduce/sum_args.h"
#include "ops/simd.h"

namespace rooftune {
namespace {

// A position on some axes, the last one fastest, and the offsets that belong to it.
class Cursor {
 public:
  Cursor(int rank, const std::int64_t* extent, const std::int64_t* in_step,
         const std::int64_t* out_step, Index index)
      : rank_(rank), extent_(extent), in_step_(in_step), out_step_(out_step) {
    for (int axis = rank - 1; axis >= 0; --axis) {
      at_[axis] = axis == 0 ? index : index % extent[axis];
      if (axis != 0) index /= extent[axis];
      in += at_[axis] * in_step[axis];
      out += at_[axis] * out_step[axis];
    }
  }

  void next() {
    for (int axis = rank_ - 1; axis >= 0; --axis) {
      in += in_step_[axis];
      out += out_step_[axis];
      if (++at_[axis] < extent_[axis]) return;
      in -= extent_[axis] * in_step_[axis];
      out -= extent_[axis] * out_step_[axis];
      at_[axis] = 0;
    }
  }

  Index in = 0, out = 0;

 private:
  int rank_;
  const std::int64_t* extent_;
  const std::int64_t* in_step_;
  const std::int64_t* out_step_;
  Index at_[kMaxSumAxes];
};

// Calls run(offset, count, step) for the terms [begin, end) of the output at offset 0, each time
// with those that follow each other on the last reduced axis.
template <class Run>
void for_each_run(const SumArgs& args, Index begin, Index end, Run&& run) {
  const int last = args.reduce_rank - 1;
  if (last <= 0) {
    const Index step = last < 0 ? 0 : args.in_reduce[0];
    run(begin * step, end - begin, step);
    return;
  }
  const Index row = args.reduce_extent[last];
  const Index step = args.in_reduce[last];
  Cursor rows(last, args.reduce_extent, args.in_reduce, args.in_reduce, begin / row);
  Index at = begin % row;
  for (Index left = end - begin; left > 0; rows.next()) {
    const Index count = lesser(row - at, left);
    run(rows.in + at * step, count, step);
    left -= count;
    at = 0;
  }
}

// Terms below which waking another thread costs more than it saves: a few microseconds of one
// core's work at the rate of its second-level cache, for a fork and join of the same order.
inline constexpr Index kWorthThread = 32768;

// Cuts `units`, each of so many terms, into stretches and runs task(begin, end, worker) for each;
// 0 <= worker < context.threads(), and one worker runs one task at a time. How they are cut must
// not change a result.
template <class Task>
void share_out(CpuContext& context, Index units, Index terms_each, Task&& task) {
  const Index threads = context.threads();
  // More stretches than threads, so that one that was interrupted is not waited for by all.
  Index parts = lesser(units, 4 * threads);
  const double worth = static_cast<double>(units) * static_cast<double>(terms_each) / kWorthThread;
  if (worth < static_cast<double>(parts)) parts = static_cast<Index>(worth);
  if (threads == 1 || parts <= 1) {
    task(Index{0}, units, Index{0});
    return;
  }
  context.parallel_for(parts, [&](std::int64_t part, int worker) {
    task(part_begin(units, parts, part), part_begin(units, parts, part + 1), Index{worker});
  });
}

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_REDUCE_CPU_WALK_H_
