// Walking through layouts one index at a time, for tests.
#ifndef ROOFTUNE_BASE_LAYOUT_FOR_TEST_H_
#define ROOFTUNE_BASE_LAYOUT_FOR_TEST_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "rooftune/tensor.h"

namespace rooftune {

// Calls visit(index) for every index of the extents, the last axis fastest.
inline void for_each_index(std::span<const std::int64_t> extents,
                           const std::function<void(const std::vector<std::int64_t>&)>& visit) {
  std::vector<std::int64_t> index(extents.size(), 0);
  for (const std::int64_t extent : extents) {
    if (extent == 0) return;
  }
  while (true) {
    visit(index);
    std::size_t axis = extents.size();
    while (axis > 0 && ++index[axis - 1] == extents[axis - 1]) index[--axis] = 0;
    if (axis == 0) return;
  }
}

inline std::int64_t offset_of(const Layout& layout, const std::vector<std::int64_t>& index) {
  std::int64_t offset = 0;
  for (std::size_t axis = 0; axis < index.size(); ++axis)
    offset += index[axis] * layout.strides[axis];
  return offset;
}

}  // namespace rooftune

#endif  // ROOFTUNE_BASE_LAYOUT_FOR_TEST_H_
