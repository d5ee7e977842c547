// The outer loops that techniques share. A technique is a type By with
//   Element
//   units(args)                             how many pieces the outputs are cut into
//   unit(args, index)                       which outputs one piece has: at most kMostOutputs
//   sums(args, in, outputs, begin, end, s)  adds the terms [begin, end) of the outputs whose first
//                                           terms start at `in`; s[0], s[1], ... are the results
// Neither the number of threads nor their timing may change the result of sums().
#ifndef ROOFTUNE_OPS_REDUCE_CPU_UNITS_H_
#define ROOFTUNE_OPS_REDUCE_CPU_UNITS_H_

#include "ops/reduce/cpu/pairwise.h"
#include "ops/reduce/cpu/walk.h"

namespace rooftune {
namespace {

inline constexpr Index kMostOutputs = 128;

struct Unit {
  Index in, out;  // offsets of the first output
  Index outputs;  // on the last kept axis
};

// Every output by itself.
inline Unit single_output(const SumArgs& args, Index index) {
  const Cursor at(args.keep_rank, args.keep_extent, args.in_keep, args.out_keep, index);
  return {at.in, at.out, 1};
}

// Up to `width` outputs that are neighbours on the last kept axis, which must be there.
inline Index tiles(const SumArgs& args, Index width) {
  const Index row = args.keep_extent[args.keep_rank - 1];
  return args.outputs / row * ceil_div(row, width);
}
inline Unit tile(const SumArgs& args, Index width, Index index) {
  const int last = args.keep_rank - 1;
  const Index row = args.keep_extent[last];
  const Index row_tiles = ceil_div(row, width);
  const Cursor at(last, args.keep_extent, args.in_keep, args.out_keep, index / row_tiles);
  const Index first = index % row_tiles * width;
  return {at.in + first * args.in_keep[last], at.out + first * args.out_keep[last],
          lesser(width, row - first)};
}

template <class T>
void write_sums(const SumArgs& args, const Unit& unit, const double* sums) {
  const Index step = args.keep_rank == 0 ? 0 : args.out_keep[args.keep_rank - 1];
  T* out = static_cast<T*>(args.out) + unit.out;
  for (Index i = 0; i < unit.outputs; ++i) store_one(out + i * step, static_cast<T>(sums[i]));
}

// Every unit is the work of one thread.
template <class By>
KernelOutcome whole(const void* raw, CpuContext& context) {
  using T = typename By::Element;
  const SumArgs& args = *static_cast<const SumArgs*>(raw);
  const Index units = By::units(args);
  share_out(context, units, args.outputs / units * args.terms, [&](Index begin, Index end, Index) {
    double sums[kMostOutputs];
    for (Index index = begin; index < end; ++index) {
      const Unit unit = By::unit(args, index);
      By::sums(args, static_cast<const T*>(args.in) + unit.in, unit.outputs, 0, args.terms, sums);
      write_sums<T>(args, unit, sums);
    }
  });
  return KernelOutcome::done;
}

// The terms of every unit are cut into one stretch a thread. The partial sums are added in the
// order of the stretches; so the number of threads decides the result, and nothing else.
template <class By>
KernelOutcome split(const void* raw, CpuContext& context) {
  using T = typename By::Element;
  const SumArgs& args = *static_cast<const SumArgs*>(raw);
  const Index units = By::units(args);
  const Index parts = lesser(args.terms, context.threads());
  double* const partial = reinterpret_cast<double*>(
      context.scratch(static_cast<std::size_t>(units * parts * kMostOutputs) * sizeof(double)));
  if (partial == nullptr) return KernelOutcome::out_of_memory;
  share_out(context, units * parts, args.outputs * args.terms / (units * parts),
            [&](Index begin, Index end, Index) {
              for (Index index = begin; index < end; ++index) {
                const Unit unit = By::unit(args, index / parts);
                const Index part = index % parts;
                By::sums(args, static_cast<const T*>(args.in) + unit.in, unit.outputs,
                         part_begin(args.terms, parts, part),
                         part_begin(args.terms, parts, part + 1), partial + index * kMostOutputs);
              }
            });
  for (Index index = 0; index < units; ++index) {
    const Unit unit = By::unit(args, index);
    double memory[Pairwise::kLevels * kMostOutputs];
    Pairwise total(memory, unit.outputs);
    for (Index part = 0; part < parts; ++part) {
      total.add(partial + (index * parts + part) * kMostOutputs);
    }
    double sums[kMostOutputs];
    total.total(sums);
    write_sums<T>(args, unit, sums);
  }
  return KernelOutcome::done;
}

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_REDUCE_CPU_UNITS_H_
