// The sums of neighbouring outputs whose terms lie side by side: one lane each.
#ifndef ROOFTUNE_OPS_REDUCE_CPU_COLUMN_SUM_H_
#define ROOFTUNE_OPS_REDUCE_CPU_COLUMN_SUM_H_

#include "ops/reduce/cpu/units.h"

namespace rooftune {
namespace {

// Additions in flight that keep the adders busy: 4 cycles of latency, two a cycle.
inline constexpr int kColumnChains = 8;

// Writes the sums of the terms [begin, end) of `columns` outputs from `in` on, which lie side by
// side, to sums[0], sums[1], ... They need kVectors vectors; kMasked when the last is not full.
// Narrow tiles add several terms at a time, to have as many additions in flight as wide ones.
template <class S, int kVectors, bool kMasked>
void column_tile(const SumArgs& args, const typename S::Element* in, Index columns, Index begin,
                 Index end, double* sums) {
  using T = typename S::Element;
  using Vector = typename S::Vector;
  constexpr int kTerms = kColumnChains / kVectors;
  constexpr Index kLanes = kVectors * S::kWidth;
  const auto mask = S::mask(columns - (kVectors - 1) * S::kWidth);
  const auto load = [&](const T* p, int v) {
    return kMasked && v == kVectors - 1 ? S::load(p + v * S::kWidth, mask)
                                        : S::load(p + v * S::kWidth);
  };

  double memory[Pairwise::kLevels * kLanes];
  Pairwise total(memory, kLanes);
  Vector chains[kTerms][kVectors];
  Index room = kBlockAdds;
  const auto clear = [&] {
    for (auto& chain : chains) {
      for (auto& sum : chain) sum = S::zero();
    }
    room = kBlockAdds;
  };
  const auto block = [&](double* lanes) {
    T block_lanes[kLanes];
    for (int half = kTerms / 2; half > 0; half /= 2) {
      for (int u = 0; u < half; ++u) {
        for (int v = 0; v < kVectors; ++v) chains[u][v] = S::add(chains[u][v], chains[u + half][v]);
      }
    }
    for (int v = 0; v < kVectors; ++v) S::store(block_lanes + v * S::kWidth, chains[0][v]);
    for (Index i = 0; i < kLanes; ++i) lanes[i] = double{block_lanes[i]};
  };

  double lanes[kLanes];
  clear();
  for_each_run(args, begin, end, [&](Index offset, Index count, Index step) {
    const T* p = in + offset;
    while (count > 0) {
      const Index rounds = lesser(room, count / kTerms);
      for (Index i = 0; i < rounds; ++i, p += kTerms * step) {
        for (int u = 0; u < kTerms; ++u) {
          for (int v = 0; v < kVectors; ++v) {
            chains[u][v] = S::add(chains[u][v], load(p + u * step, v));
          }
        }
      }
      count -= rounds * kTerms;
      room -= rounds;
      if (room > 0 && count > 0) {
        // Fewer than kTerms are left.
        for (int u = 0; u + 1 < kTerms && u < count; ++u) {
          for (int v = 0; v < kVectors; ++v) {
            chains[u][v] = S::add(chains[u][v], load(p + u * step, v));
          }
        }
        count = 0;
        --room;
      }
      if (room == 0) {
        block(lanes);
        total.add(lanes);
        clear();
      }
    }
  });
  block(lanes);
  if (total.blocks() > 0) {
    total.add(lanes);
    total.total(lanes);
  }
  for (Index i = 0; i < columns; ++i) sums[i] = lanes[i];
}

// The same for any number of columns up to kColumnChains vectors.
template <class S>
void column_sums(const SumArgs& args, const typename S::Element* in, Index columns, Index begin,
                 Index end, double* sums) {
  const Index vectors = ceil_div(columns, S::kWidth);
  const bool masked = columns % S::kWidth != 0;
  const auto run = [&]<int kVectors>() {
    if (masked) {
      column_tile<S, kVectors, true>(args, in, columns, begin, end, sums);
    } else {
      column_tile<S, kVectors, false>(args, in, columns, begin, end, sums);
    }
  };
  switch (vectors) {
    case 1:
      return run.template operator()<1>();
    case 2:
      return run.template operator()<2>();
    case 3:
      return run.template operator()<3>();
    case 4:
      return run.template operator()<4>();
    case 5:
      return run.template operator()<5>();
    case 6:
      return run.template operator()<6>();
    case 7:
      return run.template operator()<7>();
    default:
      return run.template operator()<8>();
  }
}

template <class S>
struct ByColumns {
  using Element = typename S::Element;
  static constexpr Index kWidth = Index{kColumnChains} * S::kWidth;
  static_assert(kWidth <= kMostOutputs);
  static Index units(const SumArgs& args) { return tiles(args, kWidth); }
  static Unit unit(const SumArgs& args, Index index) { return tile(args, kWidth, index); }
  static void sums(const SumArgs& args, const Element* in, Index outputs, Index begin, Index end,
                   double* sums) {
    column_sums<S>(args, in, outputs, begin, end, sums);
  }
};

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_REDUCE_CPU_COLUMN_SUM_H_
