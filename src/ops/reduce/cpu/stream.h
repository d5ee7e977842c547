// Adds a stream of elements to a fixed number of vectors in turn.
#ifndef ROOFTUNE_OPS_REDUCE_CPU_STREAM_H_
#define ROOFTUNE_OPS_REDUCE_CPU_STREAM_H_

#include "ops/reduce/cpu/pairwise.h"

namespace rooftune {
namespace {

// Element i of every run that is added goes to lane i % (kVectors * S::kWidth), counted through
// the vectors.
template <class S, int kVectors>
class Stream {
 public:
  using T = typename S::Element;
  using Vector = typename S::Vector;
  static constexpr Index kLanes = Index{kVectors} * S::kWidth;

  Stream() { clear(); }

  // Calls close() when a block is full; it takes what vectors() hold and clears them.
  template <class Close>
  void add(const T* p, Index count, Close&& close) {
    while (count > 0) {
      const Index rounds = lesser(room_, count / kLanes);
      // A local copy: members are kept in memory while their address is known elsewhere.
      Vector sums[kVectors];
      for (int v = 0; v < kVectors; ++v) sums[v] = sums_[v];
      for (Index i = 0; i < rounds; ++i, p += kLanes) {
        for (int v = 0; v < kVectors; ++v) sums[v] = S::add(sums[v], S::load(p + v * S::kWidth));
      }
      count -= rounds * kLanes;
      room_ -= rounds;
      if (count > 0 && room_ > 0) {
        // Less than a round is left.
        for (int v = 0; v < kVectors && count > 0; ++v) {
          const Index lanes = lesser(count, S::kWidth);
          sums[v] = S::add(sums[v], lanes == S::kWidth ? S::load(p) : S::load(p, S::mask(lanes)));
          p += lanes;
          count -= lanes;
        }
        --room_;
      }
      for (int v = 0; v < kVectors; ++v) sums_[v] = sums[v];
      if (room_ == 0) close();
    }
  }

  const Vector* vectors() const { return sums_; }
  void clear() {
    for (auto& sum : sums_) sum = S::zero();
    room_ = kBlockAdds;
  }

 private:
  Vector sums_[kVectors];
  Index room_ = kBlockAdds;
};

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_REDUCE_CPU_STREAM_H_
