// Whole rows of neighbouring outputs are added to a row of sums that stays in the first-level
// cache: for many outputs whose terms lie side by side. Memory is read in long stretches, several
// terms at a time, where narrow columns would jump from line to line.
#ifndef ROOFTUNE_OPS_REDUCE_CPU_SWEEP_INL_H_
#define ROOFTUNE_OPS_REDUCE_CPU_SWEEP_INL_H_

#include <cstddef>

#include "ops/reduce/cpu/units.h"

namespace rooftune {
namespace {

// Half of the smallest first-level cache in use; the terms that stream past need the rest.
inline constexpr Index kSweepBytes = 16384;
// Terms that are added up before they touch the row of sums.
inline constexpr int kSweepTerms = 4;

// sums[i] += the terms of column i in kTerms rows.
template <class S, int kTerms>
void add_rows(const typename S::Element* p, Index step, Index columns, typename S::Element* sums) {
  const auto fold = [&](auto load) {
    auto folded = load(Index{0});
    if constexpr (kTerms == kSweepTerms) {
      folded = S::add(S::add(folded, load(Index{1})), S::add(load(Index{2}), load(Index{3})));
    }
    return folded;
  };
  Index i = 0;
  for (; i + S::kWidth <= columns; i += S::kWidth) {
    const auto terms = fold([&](Index term) { return S::load(p + term * step + i); });
    S::store(sums + i, S::add(S::load(sums + i), terms));
  }
  if (i < columns) {
    const auto mask = S::mask(columns - i);
    const auto terms = fold([&](Index term) { return S::load(p + term * step + i, mask); });
    S::store(sums + i, mask, S::add(S::load(sums + i, mask), terms));
  }
}

template <class S>
struct Sweep {
  using T = typename S::Element;
  static constexpr Index kWidth = kSweepBytes / Index{sizeof(T)};

  // The memory of one worker: a row of sums, the same in f64, and the pairwise sums.
  struct Memory {
    T* sums;
    double* folded;
    double* digits;
  };

  static void sum(const SumArgs& args, const T* in, Index columns, const Memory& memory,
                  int levels) {
    Pairwise total(memory.digits, columns, levels);
    T* const sums = memory.sums;
    double* const folded = memory.folded;
    Index room = kBlockAdds;
    const auto clear = [&] {
      for (Index i = 0; i < columns; ++i) sums[i] = 0;
      room = kBlockAdds;
    };
    const auto block = [&] {
      for (Index i = 0; i < columns; ++i) folded[i] = double{sums[i]};
    };
    clear();
    for_each_run(args, 0, args.terms, [&](Index offset, Index count, Index step) {
      const T* p = in + offset;
      while (count > 0) {
        const Index terms = count >= kSweepTerms ? kSweepTerms : 1;
        if (terms == kSweepTerms) {
          add_rows<S, kSweepTerms>(p, step, columns, sums);
        } else {
          add_rows<S, 1>(p, step, columns, sums);
        }
        p += terms * step;
        count -= terms;
        if (--room == 0) {
          block();
          total.add(folded);
          clear();
        }
      }
    });
    block();
    if (total.blocks() == 0) return;
    total.add(folded);
    total.total(folded);
  }
};

template <class S>
KernelOutcome sweep(const void* raw, CpuContext& context) {
  using T = typename S::Element;
  using Kernel = Sweep<S>;
  const SumArgs& args = *static_cast<const SumArgs*>(raw);
  // As long a stretch as the cache allows, but shorter where threads would have nothing to do.
  const Index line = 64 / Index{sizeof(T)};
  const Index row = args.keep_extent[args.keep_rank - 1];
  const Index sharers = ceil_div(context.threads(), args.outputs / row);
  const Index width = lesser(Kernel::kWidth, lesser(row, round_up(ceil_div(row, sharers), line)));
  const Index room = round_up(width, line);
  const int levels = Pairwise::levels_for(args.terms / kBlockAdds + 1);
  const Index digits = room * levels;
  const Index bytes = (room + digits) * Index{sizeof(double)} + room * Index{sizeof(T)};
  std::byte* const scratch = context.scratch(static_cast<std::size_t>(bytes) *
                                             static_cast<std::size_t>(context.threads()));
  if (scratch == nullptr) return KernelOutcome::out_of_memory;
  const Index units = tiles(args, width);
  share_out(
      context, units, args.outputs / units * args.terms, [&](Index begin, Index end, Index worker) {
        double* const mine = reinterpret_cast<double*>(scratch + worker * bytes);
        const typename Kernel::Memory memory = {reinterpret_cast<T*>(mine + room + digits), mine,
                                                mine + room};
        for (Index index = begin; index < end; ++index) {
          const Unit unit = tile(args, width, index);
          Kernel::sum(args, static_cast<const T*>(args.in) + unit.in, unit.outputs, memory, levels);
          write_sums<T>(args, unit, memory.folded);
        }
      });
  return KernelOutcome::done;
}

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_REDUCE_CPU_SWEEP_INL_H_
