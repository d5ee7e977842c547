#include "base/overlap.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <random>
#include <set>
#include <vector>

#include "base/layout_for_test.h"

namespace rooftune {
namespace {

// Memory that is never touched: only addresses matter.
ConstView at(std::int64_t byte, DType dtype, const Layout& layout) {
  static std::vector<std::byte> memory(1 << 16);
  return {memory.data() + (1 << 15) + byte, dtype, layout};
}

Layout strided(std::vector<std::int64_t> extents, std::vector<std::int64_t> strides) {
  Layout layout;
  layout.rank = static_cast<int>(extents.size());
  std::copy(extents.begin(), extents.end(), layout.extents.begin());
  std::copy(strides.begin(), strides.end(), layout.strides.begin());
  return layout;
}

TEST(Overlap, NeighboursDoNotOverlap) {
  const Layout row = strided({10}, {1});
  EXPECT_TRUE(may_overlap(at(0, DType::f32, row), at(36, DType::f32, row)));
  EXPECT_FALSE(may_overlap(at(0, DType::f32, row), at(40, DType::f32, row)));
  EXPECT_FALSE(may_overlap(at(40, DType::f32, row), at(0, DType::f32, row)));
  EXPECT_TRUE(may_overlap(at(39, DType::f32, row), at(0, DType::f32, row)));
}

TEST(Overlap, ColumnsOfOneMatrix) {
  // [100, 7]: six columns and the seventh.
  const Layout six = strided({100, 6}, {7, 1});
  const Layout column = strided({100}, {7});
  EXPECT_FALSE(may_overlap(at(0, DType::f64, six), at(6 * 8, DType::f64, column)));
  EXPECT_TRUE(may_overlap(at(0, DType::f64, six), at(5 * 8, DType::f64, column)));
  // One byte off the column, it reaches into the next row's first element.
  EXPECT_TRUE(may_overlap(at(0, DType::f64, six), at(6 * 8 + 1, DType::f64, column)));
}

TEST(Overlap, NothingOverlapsNothing) {
  EXPECT_FALSE(
      may_overlap(at(0, DType::f32, strided({0}, {1})), at(0, DType::f32, strided({5}, {1}))));
  EXPECT_TRUE(may_overlap(at(0, DType::f32, Layout{}), at(3, DType::f32, Layout{})));
  EXPECT_FALSE(may_overlap(at(0, DType::f32, Layout{}), at(4, DType::f32, Layout{})));
}

TEST(Overlap, HugeLayoutsNeitherOverflowNorTakeForever) {
  const std::int64_t huge = std::int64_t{1} << 40;
  const Layout a = strided({huge, 1000}, {1001, 1});
  EXPECT_TRUE(may_overlap(at(0, DType::f32, a), at(0, DType::f32, a)));
  EXPECT_FALSE(may_overlap(at(0, DType::f32, a), at(4000, DType::f32, strided({huge}, {1001}))));
  EXPECT_FALSE(may_overlap(at(0, DType::f64, strided({1 << 20}, {1 << 30})),
                           at(-8, DType::f64, strided({1 << 20}, {-(1 << 30)}))));
}

TEST(Overlap, AgreesWithTryingAllElements) {
  std::mt19937_64 random(11);
  int overlapping = 0;
  for (int round = 0; round < 3000; ++round) {
    const auto make = [&] {
      const std::size_t rank = random() % 4;
      std::vector<std::int64_t> extents(rank), strides(rank);
      for (auto& extent : extents) extent = static_cast<std::int64_t>(random() % 5);
      for (auto& stride : strides) stride = static_cast<std::int64_t>(random() % 41) - 20;
      return strided(extents, strides);
    };
    const DType a_type = random() % 2 == 0 ? DType::f32 : DType::f64;
    const DType b_type = random() % 2 == 0 ? DType::f32 : DType::f64;
    const ConstView a = at(static_cast<std::int64_t>(random() % 200), a_type, make());
    const ConstView b = at(static_cast<std::int64_t>(random() % 200), b_type, make());
    std::set<const std::byte*> bytes;
    const auto visit_bytes = [](const ConstView& view, auto visit) {
      for_each_index(view.layout.shape(), [&](const std::vector<std::int64_t>& index) {
        for (std::int64_t i = 0; i < size_of(view.dtype); ++i) {
          visit(static_cast<const std::byte*>(view.data) +
                offset_of(view.layout, index) * size_of(view.dtype) + i);
        }
      });
    };
    visit_bytes(a, [&](const std::byte* byte) { bytes.insert(byte); });
    bool expected = false;
    visit_bytes(b, [&](const std::byte* byte) { expected |= bytes.contains(byte); });
    overlapping += expected ? 1 : 0;
    ASSERT_EQ(may_overlap(a, b), expected) << a.to_string() << " and " << b.to_string();
    ASSERT_EQ(may_overlap(b, a), expected);
  }
  EXPECT_GT(overlapping, 300);
  EXPECT_LT(overlapping, 2700);
}

}  // namespace
}  // namespace rooftune
