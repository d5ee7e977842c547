// Adds partial sums in pairs, so that the error grows with the logarithm of their number.
#ifndef ROOFTUNE_OPS_REDUCE_CPU_PAIRWISE_H_
#define ROOFTUNE_OPS_REDUCE_CPU_PAIRWISE_H_

#include "ops/simd.h"

namespace rooftune {
namespace {

// How exact a sum is. Every kernel adds at most kBlockAdds terms to a number of the element type
// before that number joins a pairwise sum in f64. With the few additions that fold the lanes of a
// block (fewer than 32 lanes times accumulators in a tree), the result differs from the exact sum
// by at most
//   (kBlockAdds + 16) * eps(type) / 2 * sum |x|
// for f32, and as much plus log2(terms) * eps / 2 * sum |x| for f64: however many terms there are.
// In practice roundings cancel and the error is near the square root of that.
inline constexpr Index kBlockAdds = 128;

// A counter in base two whose digits are sums: digit i is there when bit i of the count is set,
// and holds 2^i blocks. Many sums side by side, one a lane.
class Pairwise {
 public:
  // Enough for every sum that ends within a year; what is beyond stays right, only less exact.
  static constexpr int kLevels = 40;

  // `memory` holds kLevels * lanes numbers, or as many levels as levels_for() says.
  Pairwise(double* memory, Index lanes, int levels = kLevels)
      : memory_(memory), lanes_(lanes), levels_(levels) {}

  static int levels_for(Index blocks) {
    int levels = 1;
    for (; blocks > 1 && levels < kLevels; blocks /= 2) ++levels;
    return levels;
  }

  Index blocks() const { return count_; }

  // `block` has a number for each lane and is changed.
  void add(double* block) {
    int level = 0;
    for (; level + 1 < levels_ && (count_ >> level & 1) != 0; ++level) {
      const double* digit = memory_ + level * lanes_;
      for (Index i = 0; i < lanes_; ++i) block[i] += digit[i];
    }
    double* digit = memory_ + level * lanes_;
    const bool overflows = level + 1 == levels_ && (count_ >> level) != 0;
    for (Index i = 0; i < lanes_; ++i) digit[i] = overflows ? digit[i] + block[i] : block[i];
    ++count_;
  }

  // The sums of all blocks.
  void total(double* sums) const {
    for (Index i = 0; i < lanes_; ++i) sums[i] = 0;
    for (int level = 0; level < levels_; ++level) {
      const bool there = level + 1 == levels_ ? (count_ >> level) != 0 : (count_ >> level & 1) != 0;
      if (!there) continue;
      const double* digit = memory_ + level * lanes_;
      for (Index i = 0; i < lanes_; ++i) sums[i] += digit[i];
    }
  }

 private:
  double* memory_;
  Index lanes_;
  int levels_;
  Index count_ = 0;
};

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_REDUCE_CPU_PAIRWISE_H_
