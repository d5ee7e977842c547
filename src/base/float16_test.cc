#include "rooftune/float16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <type_traits>

namespace rooftune {
namespace {

template <class T>
class Float16Types : public ::testing::Test {};
using Types = ::testing::Types<BFloat16, Float16>;
TYPED_TEST_SUITE(Float16Types, Types);

TYPED_TEST(Float16Types, EveryValueSurvivesTheWayToFloatAndBack) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    TypeParam value;
    value.bits = static_cast<std::uint16_t>(bits);
    const float wide(value);
    const TypeParam back(wide);
    if (std::isnan(wide)) {
      ASSERT_TRUE(std::isnan(float(back))) << bits;
    } else {
      ASSERT_EQ(back.bits, bits);
    }
  }
}

// Every pair of neighbours: what lies between them goes to the nearer, the middle to the even one.
TYPED_TEST(Float16Types, RoundsToNearestEven) {
  constexpr std::uint16_t kInfinity = std::is_same_v<TypeParam, BFloat16> ? 0x7f80 : 0x7c00;
  for (std::uint16_t bits = 0; bits + 1 < kInfinity; ++bits) {
    TypeParam low, high;
    low.bits = bits;
    high.bits = static_cast<std::uint16_t>(bits + 1);
    const float a(low), b(high);
    const float middle = a + (b - a) / 2;
    ASSERT_EQ(TypeParam(middle).bits, bits % 2 == 0 ? low.bits : high.bits) << bits;
    ASSERT_EQ(TypeParam(std::nextafter(middle, a)).bits, low.bits) << bits;
    ASSERT_EQ(TypeParam(std::nextafter(middle, b)).bits, high.bits) << bits;
    ASSERT_EQ(TypeParam(-middle).bits, TypeParam(middle).bits | 0x8000) << bits;
  }
}

TYPED_TEST(Float16Types, OverflowIsInfinityAndNanStaysNan) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(float(TypeParam(std::numeric_limits<float>::max())), kInfinity);
  EXPECT_EQ(float(TypeParam(-kInfinity)), -kInfinity);
  // Payloads whose upper bits are all zero would become Inf if they were cut off.
  for (const std::uint32_t word : {0x7f800001u, 0x7fc00000u, 0xff800001u, 0x7fffffffu}) {
    EXPECT_TRUE(std::isnan(float(TypeParam(std::bit_cast<float>(word)))));
  }
}

TEST(Float16, KnownValues) {
  EXPECT_EQ(Float16(1.0f).bits, 0x3c00);
  EXPECT_EQ(Float16(65504.0f).bits, 0x7bff);
  EXPECT_EQ(Float16(65520.0f).bits, 0x7c00);
  EXPECT_EQ(Float16(0x1p-24f).bits, 1);
  EXPECT_EQ(Float16(0x1p-25f).bits, 0);
  EXPECT_EQ(BFloat16(1.0f).bits, 0x3f80);
  EXPECT_EQ(float(BFloat16(3.14159274f)), 3.140625f);
}

}  // namespace
}  // namespace rooftune
