#include "base/overlap.h"

#include <array>
#include <cstdint>

namespace rooftune {
namespace {

__extension__ typedef __int128 Wide;

// The offsets 0, step, ..., step * (count - 1), in bytes; step > 0.
struct Comb {
  Wide step;
  Wide count;
};

// Sets of offsets whose sum, plus a constant, must avoid the window of one element's bytes. An
// offset of the other view counts negatively; turned round, it counts positively from its end.
class Search {
 public:
  void add(const Layout& layout, std::int64_t bytes, bool negative, Wide& constant) {
    for (int axis = 0; axis < layout.rank; ++axis) {
      const auto at = static_cast<std::size_t>(axis);
      Wide step = Wide(layout.strides[at]) * bytes;
      const Wide count = layout.extents[at];
      if (step == 0 || count == 1) continue;
      if (negative) step = -step;
      if (step < 0) {
        constant += step * (count - 1);
        step = -step;
      }
      insert({step, count});
    }
  }

  // Whether a sum of offsets lies in [lowest, highest].
  bool reaches(Wide lowest, Wide highest) {
    Wide total = 0;
    for (int i = used_; i-- > 0;) {
      total += combs_[static_cast<std::size_t>(i)].step *
               (combs_[static_cast<std::size_t>(i)].count - 1);
      below_[static_cast<std::size_t>(i)] = total;
    }
    return lowest <= total && from(0, lowest, highest);
  }

 private:
  // Descending steps; two axes with one step are one longer axis, because their offsets add up to
  // every multiple in between.
  void insert(Comb comb) {
    int at = used_;
    for (int i = 0; i < used_; ++i) {
      Comb& there = combs_[static_cast<std::size_t>(i)];
      if (there.step == comb.step) {
        there.count += comb.count - 1;
        return;
      }
      if (there.step < comb.step) {
        at = i;
        break;
      }
    }
    for (int i = used_; i > at; --i) {
      combs_[static_cast<std::size_t>(i)] = combs_[static_cast<std::size_t>(i - 1)];
    }
    combs_[static_cast<std::size_t>(at)] = comb;
    ++used_;
  }

  static Wide floor_div(Wide a, Wide b) { return a / b - (a % b < 0 ? 1 : 0); }

  // Only multiples of a step that the smaller steps can still bring into the window are tried: one
  // or two where layouts nest.
  bool from(int i, Wide lowest, Wide highest) {
    if (highest < 0) return false;
    if (i == used_) return lowest <= 0;
    if (++visited_ > kMostVisited) return true;
    const Comb& comb = combs_[static_cast<std::size_t>(i)];
    const Wide rest = i + 1 == used_ ? 0 : below_[static_cast<std::size_t>(i + 1)];
    Wide first = -floor_div(-(lowest - rest), comb.step);
    Wide last = floor_div(highest, comb.step);
    if (first < 0) first = 0;
    if (last > comb.count - 1) last = comb.count - 1;
    for (Wide multiple = first; multiple <= last; ++multiple) {
      if (from(i + 1, lowest - multiple * comb.step, highest - multiple * comb.step)) return true;
    }
    return false;
  }

  // Tens of microseconds at most; views as they occur need a dozen visits.
  static constexpr int kMostVisited = 4096;

  std::array<Comb, 2 * kMaxRank> combs_{};
  std::array<Wide, 2 * kMaxRank> below_{};  // the most that this comb and those after it add
  int used_ = 0;
  int visited_ = 0;
};

}  // namespace

bool may_overlap(const ConstView& a, const ConstView& b) {
  if (a.layout.elements() == 0 || b.layout.elements() == 0) return false;
  const std::int64_t a_bytes = size_of(a.dtype);
  const std::int64_t b_bytes = size_of(b.dtype);
  Wide constant = Wide(reinterpret_cast<std::uintptr_t>(a.data)) -
                  Wide(reinterpret_cast<std::uintptr_t>(b.data));
  Search search;
  search.add(a.layout, a_bytes, false, constant);
  search.add(b.layout, b_bytes, true, constant);
  // Elements at a distance d (of a from b) share a byte when -a_bytes < d < b_bytes.
  return search.reaches(-(a_bytes - 1) - constant, b_bytes - 1 - constant);
}

}  // namespace rooftune
