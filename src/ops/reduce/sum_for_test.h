// What the tests of sum share: memory between guard pages, layouts of every kind, a plain
// reference.
#ifndef ROOFTUNE_OPS_REDUCE_SUM_FOR_TEST_H_
#define ROOFTUNE_OPS_REDUCE_SUM_FOR_TEST_H_

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/layout_for_test.h"
#include "rooftune/tensor.h"

namespace rooftune {

// Pages that may not be touched, memory, and pages that may not be touched.
class GuardedMemory {
 public:
  explicit GuardedMemory(std::size_t bytes) {
    page_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    bytes_ = (bytes + page_ - 1) / page_ * page_;
    void* all = mmap(nullptr, bytes_ + 2 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) {
      ADD_FAILURE() << "no memory for the test";
      return;
    }
    begin_ = static_cast<std::byte*>(all) + page_;
    mprotect(begin_, bytes_, PROT_READ | PROT_WRITE);
  }
  ~GuardedMemory() {
    if (begin_ != nullptr) munmap(begin_ - page_, bytes_ + 2 * page_);
  }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  // The first or the last `bytes`.
  std::byte* at_begin() const { return begin_; }
  std::byte* at_end(std::size_t bytes) const { return begin_ + bytes_ - bytes; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t page_ = 0, bytes_ = 0;
  std::byte* begin_ = nullptr;
};

// A layout made by stepping through memory in any order of the axes.
struct LayoutChoice {
  std::vector<int> order;          // axes from the outermost in memory to the innermost
  std::vector<std::int64_t> step;  // of each axis, over the dense one; 0: broadcast
  std::vector<bool> backwards;     // the axis runs towards lower addresses
};

inline Layout make_layout(const std::vector<std::int64_t>& extents, const LayoutChoice& choice) {
  Layout layout;
  layout.rank = static_cast<int>(extents.size());
  std::int64_t stride = 1;
  for (std::size_t i = extents.size(); i-- > 0;) {
    const auto axis = static_cast<std::size_t>(choice.order[i]);
    layout.extents[axis] = extents[axis];
    layout.strides[axis] = choice.step[axis] * stride * (choice.backwards[axis] ? -1 : 1);
    if (choice.step[axis] != 0)
      stride *= choice.step[axis] * std::max<std::int64_t>(extents[axis], 1);
  }
  return layout;
}

inline LayoutChoice dense(std::size_t rank) {
  LayoutChoice choice;
  for (std::size_t axis = 0; axis < rank; ++axis) choice.order.push_back(static_cast<int>(axis));
  choice.step.assign(rank, 1);
  choice.backwards.assign(rank, false);
  return choice;
}

inline LayoutChoice random_choice(std::size_t rank, bool may_broadcast, std::mt19937_64& random) {
  LayoutChoice choice = dense(rank);
  std::shuffle(choice.order.begin(), choice.order.end(), random);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const auto draw = random() % 8;
    choice.step[axis] = draw == 0 && may_broadcast ? 0 : draw == 1 ? 2 : draw == 2 ? 3 : 1;
    choice.backwards[axis] = random() % 4 == 0;
  }
  return choice;
}

// The shape of the sum of `in` over the axes of the bit mask.
inline std::vector<std::int64_t> summed_shape(const Layout& in, unsigned axes, bool keep_axes) {
  std::vector<std::int64_t> shape;
  for (int axis = 0; axis < in.rank; ++axis) {
    const bool reduced = (axes >> axis & 1) != 0;
    if (reduced && keep_axes) shape.push_back(1);
    if (!reduced) shape.push_back(in.extents[static_cast<std::size_t>(axis)]);
  }
  return shape;
}

inline std::vector<int> axes_of_mask(unsigned mask) {
  std::vector<int> axes;
  for (int axis = 0; mask >> axis != 0; ++axis) {
    if ((mask >> axis & 1) != 0) axes.push_back(axis);
  }
  return axes;
}

// A plain sum in f64, straight from the definition: results in the order of the output's indices,
// the last axis fastest.
template <class T>
std::vector<double> reference_sum(const T* in, const Layout& layout, unsigned axes) {
  const std::vector<std::int64_t> shape = summed_shape(layout, axes, true);
  std::vector<std::int64_t> weight(shape.size(), 0);
  std::int64_t outputs = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    weight[axis] = (axes >> axis & 1) != 0 ? 0 : outputs;
    outputs *= shape[axis];
  }
  std::vector<double> sums(static_cast<std::size_t>(outputs), 0.0);
  for_each_index(layout.shape(), [&](const std::vector<std::int64_t>& index) {
    std::int64_t at = 0;
    for (std::size_t axis = 0; axis < index.size(); ++axis) at += index[axis] * weight[axis];
    T value;
    std::memcpy(&value,
                reinterpret_cast<const char*>(in) +
                    offset_of(layout, index) * static_cast<std::int64_t>(sizeof(T)),
                sizeof(T));
    sums[static_cast<std::size_t>(at)] += static_cast<double>(value);
  });
  return sums;
}

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_REDUCE_SUM_FOR_TEST_H_
