#include "rooftune/float8.h"

#include <cmath>
#include <limits>
#include <type_traits>

#include "gtest/gtest.h"

namespace rooftune {
namespace {

// What differs between the two formats.
template <class T>
struct Format;
template <>
struct Format<Float8E4M3> {
  static constexpr std::uint8_t kLargest = 0x7e;  // the byte of the largest number
  static constexpr float kMost = 448, kLeast = 0x1p-9f;
  static constexpr bool kHasInfinity = false;
};
template <>
struct Format<Float8E5M2> {
  static constexpr std::uint8_t kLargest = 0x7b;
  static constexpr float kMost = 57344, kLeast = 0x1p-16f;
  static constexpr bool kHasInfinity = true;
};

template <class T>
class Float8Test : public testing::Test {};
using Types = testing::Types<Float8E4M3, Float8E5M2>;
TYPED_TEST_SUITE(Float8Test, Types);

TYPED_TEST(Float8Test, IsAStorageType) {
  static_assert(sizeof(TypeParam) == 1 && std::is_trivial_v<TypeParam>);
  static_assert(std::is_standard_layout_v<TypeParam>);
  static_assert(size_of(dtype_of<TypeParam>) == 1);
  static_assert(float(TypeParam(1.5f)) == 1.5f && float(TypeParam(-0.375f)) == -0.375f);
  static_assert(TypeParam::from_bits(0x12).bits == 0x12);
  static_assert(!std::is_convertible_v<float, TypeParam>);  // it may lose digits
  EXPECT_EQ(TypeParam{}.bits, 0);
}

TEST(Float8, HasTheTypesOfItsNames) {
  static_assert(dtype_of<Float8E4M3> == DType::f8e4m3 && dtype_of<Float8E5M2> == DType::f8e5m2);
  EXPECT_EQ(Float8E4M3(1.0f).bits, 0x38);
  EXPECT_EQ(Float8E4M3(-448.0f).bits, 0xfe);
  EXPECT_EQ(Float8E4M3(0x1p-9f).bits, 0x01);
  EXPECT_EQ(Float8E4M3(0x1p-6f).bits, 0x08);
  EXPECT_EQ(Float8E5M2(1.0f).bits, 0x3c);
  EXPECT_EQ(Float8E5M2(-57344.0f).bits, 0xfb);
  EXPECT_EQ(Float8E5M2(0x1p-16f).bits, 0x01);
  EXPECT_EQ(Float8E5M2(0x1p-14f).bits, 0x04);
}

TYPED_TEST(Float8Test, EveryValueSurvives) {
  using F = Format<TypeParam>;
  for (int i = 0; i <= 0xff; ++i) {
    const auto value = TypeParam::from_bits(static_cast<std::uint8_t>(i));
    const float wide = value;
    const int size = i & 0x7f;
    const bool infinite = F::kHasInfinity && size == F::kLargest + 1;
    ASSERT_EQ(std::isinf(wide), infinite) << i;
    ASSERT_EQ(std::isnan(wide), size > F::kLargest && !infinite) << i;
    ASSERT_EQ(std::signbit(wide), i >= 0x80) << i;
    const int expected = size <= F::kLargest ? i : infinite ? i - 1 : i | 0x7f;
    ASSERT_EQ(TypeParam(wide).bits, expected) << i;
  }
  EXPECT_EQ(float(TypeParam::from_bits(F::kLargest)), F::kMost);
  EXPECT_EQ(float(TypeParam::from_bits(1)), F::kLeast);
}

// Between each two neighbours: the middle goes to the even one, all else to the nearer one.
TYPED_TEST(Float8Test, RoundsToNearestTiesToEven) {
  using F = Format<TypeParam>;
  for (const int sign : {0, 0x80}) {
    for (int i = sign; i < sign + F::kLargest; ++i) {
      const float low = TypeParam::from_bits(static_cast<std::uint8_t>(i));
      const float high = TypeParam::from_bits(static_cast<std::uint8_t>(i + 1));
      const float middle = (low + high) / 2;
      ASSERT_EQ(TypeParam(middle).bits, i % 2 == 0 ? i : i + 1) << i;
      ASSERT_EQ(TypeParam(std::nextafter(middle, low)).bits, i) << i;
      ASSERT_EQ(TypeParam(std::nextafter(middle, high)).bits, i + 1) << i;
    }
  }
}

TYPED_TEST(Float8Test, SaturatesAndKeepsNan) {
  using F = Format<TypeParam>;
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float large :
       {F::kMost, F::kMost * 1.5f, std::numeric_limits<float>::max(), infinity}) {
    EXPECT_EQ(TypeParam(large).bits, F::kLargest) << large;
    EXPECT_EQ(TypeParam(-large).bits, F::kLargest | 0x80) << large;
  }
  for (const float small : {F::kLeast / 2, 0x1p-126f, std::numeric_limits<float>::denorm_min()}) {
    EXPECT_EQ(TypeParam(small).bits, 0) << small;
    EXPECT_EQ(TypeParam(-small).bits, 0x80) << small;
  }
  EXPECT_TRUE(std::isnan(float(TypeParam(std::nanf("")))));
  EXPECT_TRUE(std::signbit(float(TypeParam(-std::nanf("")))));
}

}  // namespace
}  // namespace rooftune
