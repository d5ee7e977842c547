#include "throughput/memory_curve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace rooftune {
namespace {

constexpr double kKiB = 1 << 10, kMiB = 1 << 20;

Capabilities with_caches(std::vector<std::uint64_t> reach) {
  Capabilities capabilities;
  capabilities.last_level_cache_bytes = reach.empty() ? 0 : reach.back();
  capabilities.cache_reach_bytes = std::move(reach);
  return capabilities;
}

// Of two threads with 48 kB and 1.25 MB each, and 48 MB for both.
TEST(MemoryCurve, PointsLieOnBothSidesOfTheEdgeOfEachCache) {
  const auto points = curve_points(with_caches({96 << 10, 2560 << 10, 48 << 20}), false);
  EXPECT_EQ(points, (std::vector<double>{12 * kKiB, 72 * kKiB, 104 * kKiB, 1280 * kKiB, 2048 * kKiB,
                                         3072 * kKiB, 12 * kMiB, 24 * kMiB, 64 * kMiB}));
}

TEST(MemoryCurve, AscendsWithoutWideGapsToBeyondTheLastCache) {
  const std::vector<std::vector<std::uint64_t>> machines = {
      {},
      {50 << 20},
      {32 << 10},
      {32 << 10, 33 << 10, 34 << 10},
      {3 << 20, 128 << 20, 512 << 20},
      {64 << 10, 1 << 20, std::uint64_t{2} << 30}};
  for (const auto& reach : machines) {
    for (const bool host : {true, false}) {
      Capabilities capabilities = with_caches(reach);
      capabilities.host_memory = host;
      const auto points = curve_points(capabilities, false);
      ASSERT_GE(points.size(), 2u);
      EXPECT_LE(points.size(), host ? 14u : 16u) << "each costs launches";
      for (std::size_t i = 1; i < points.size(); ++i) {
        EXPECT_GT(points[i], points[i - 1]);
        EXPECT_LE(points[i], (host ? 14 : 6) * points[i - 1]);
      }
      const auto all = curve_points(capabilities, true);
      EXPECT_TRUE(std::equal(points.begin(), points.end(), all.begin()));
      if (host) {
        EXPECT_LE(points.back(), 64 * kMiB) << "memory that has to be provided first";
        EXPECT_LE(all.back(), 256 * kMiB);
      } else if (!reach.empty()) {
        EXPECT_GE(points.back(), 8 * double(reach.back()));
      }
    }
  }
}

TEST(MemoryCurve, TheLastCacheAloneIsAnEdgeToo) {
  Capabilities capabilities;
  capabilities.last_level_cache_bytes = 8 << 20;
  const auto points = curve_points(capabilities, false);
  EXPECT_TRUE(std::ranges::count(points, 4 * kMiB) == 1);
  EXPECT_TRUE(std::ranges::count(points, 10 * kMiB) == 1);
  EXPECT_EQ(points.back(), 16 * kMiB);
}

TEST(MemoryCurve, BetweenPointsOnALogarithmicScale) {
  EXPECT_DOUBLE_EQ(between_points(1e3, 400, 4e3, 100, 2e3), 200);
  EXPECT_DOUBLE_EQ(between_points(1e3, 400, 4e3, 100, 1e3), 400);
  EXPECT_DOUBLE_EQ(between_points(1e3, 400, 4e3, 100, 4e3), 100);
}

}  // namespace
}  // namespace rooftune
