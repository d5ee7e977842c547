#include "throughput/roofline.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace rooftune {
namespace {

// 1024^3 in f32, the figures that SYSTEM section 6 gives.
const RooflineInput kSquare{2'146'435'072.0, 12'582'912.0, 9.044321e12, 3.198829e11, 3626e-9};

TEST(Roofline, LimitIsPinned) { EXPECT_EQ(std::llround(*limit_s(kSquare, 0.8) * 1e9), 300'281); }

TEST(Roofline, TheSlowerOfComputeAndMemoryBinds) {
  EXPECT_DOUBLE_EQ(*ideal_time_s({100, 10, 10, 10, 0}), 10);
  EXPECT_DOUBLE_EQ(*ideal_time_s({10, 100, 10, 10, 0}), 10);
  EXPECT_DOUBLE_EQ(*limit_s({10, 100, 10, 10, 0.5}, 0.5), 20.5);
}

TEST(Roofline, AUselessPeakGivesNoLimit) {
  for (const double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    RooflineInput input = kSquare;
    input.peak_ops_per_s = bad;
    EXPECT_FALSE(limit_s(input, 0.8)) << bad;
    input = kSquare;
    input.peak_bytes_per_s = bad;
    EXPECT_FALSE(limit_s(input, 0.8)) << bad;
    EXPECT_FALSE(limit_s(kSquare, bad)) << bad;
  }
  EXPECT_FALSE(limit_s(kSquare, 1.5));
  EXPECT_FALSE(limit_s({0, 0, 1, 1, 0}, 0.8));
}

TEST(Roofline, HugeProblemsStayPositiveAndGrow) {
  double last = 0;
  for (const double n : {16384.0, 32769.0, 100000.0, 1e9}) {
    RooflineInput input = kSquare;
    input.ops = n * n * (2 * n - 1);
    input.bytes = 12 * n * n;
    const double ideal = *ideal_time_s(input);
    EXPECT_GT(ideal, last);
    last = ideal;
  }
}

TEST(Roofline, OnlyASampleWellBelowTheIdealBreaksIt) {
  const RooflineInput input{100, 1, 10, 10, 0};  // ideal: 10 s
  EXPECT_TRUE(breaks_roofline(9.4, input));
  EXPECT_FALSE(breaks_roofline(9.6, input));
  EXPECT_FALSE(breaks_roofline(0, input));
  EXPECT_FALSE(breaks_roofline(std::nan(""), input));
  EXPECT_FALSE(breaks_roofline(1, {100, 1, 0, 10, 0}));
}

}  // namespace
}  // namespace rooftune
