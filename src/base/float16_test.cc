#include "rooftune/float16.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "gtest/gtest.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace rooftune {
namespace {

[[maybe_unused]] std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }
float float_of(std::uint32_t bits) { return std::bit_cast<float>(bits); }

// What differs between the two formats.
template <class T>
struct Format;
template <>
struct Format<BFloat16> {
  static constexpr std::uint16_t kInfinity = 0x7f80, kQuiet = 0x40;
  static constexpr int kDropped = 16;              // bits of an f32's fraction
  static constexpr float kOverflow = 0x1.ffp127f;  // half a step beyond the largest finite one
  static constexpr double kLeast = 0x1p-133;       // subnormal
};
template <>
struct Format<Float16> {
  static constexpr std::uint16_t kInfinity = 0x7c00, kQuiet = 0x200;
  static constexpr int kDropped = 13;
  static constexpr float kOverflow = 65520;
  static constexpr double kLeast = 0x1p-24;
};

template <class T>
class Float16Test : public testing::Test {};
using Types = testing::Types<BFloat16, Float16>;
TYPED_TEST_SUITE(Float16Test, Types);

TYPED_TEST(Float16Test, IsAStorageType) {
  static_assert(sizeof(TypeParam) == 2 && std::is_trivial_v<TypeParam>);
  static_assert(std::is_standard_layout_v<TypeParam>);
  static_assert(size_of(dtype_of<TypeParam>) == 2);
  static_assert(float(TypeParam(1.5f)) == 1.5f && float(TypeParam(-0.375f)) == -0.375f);
  static_assert(TypeParam::from_bits(0x1234).bits == 0x1234);
  static_assert(!std::is_convertible_v<float, TypeParam>);  // it may lose digits
  EXPECT_EQ(TypeParam{}.bits, 0);
}

TEST(Float16, HasTheTypesOfItsNames) {
  static_assert(dtype_of<BFloat16> == DType::bf16 && dtype_of<Float16> == DType::f16);
  EXPECT_EQ(BFloat16(1.0f).bits, 0x3f80);
  EXPECT_EQ(BFloat16(-3.140625f).bits, 0xc049);
  EXPECT_EQ(Float16(1.0f).bits, 0x3c00);
  EXPECT_EQ(Float16(-65504.0f).bits, 0xfbff);
  EXPECT_EQ(Float16(0x1p-24f).bits, 0x0001);
  EXPECT_EQ(Float16(0x1.ff8p-15f).bits, 0x03ff);
}

TYPED_TEST(Float16Test, EveryValueSurvives) {
  using F = Format<TypeParam>;
  for (std::uint32_t i = 0; i <= 0xffff; ++i) {
    const auto value = TypeParam::from_bits(static_cast<std::uint16_t>(i));
    const float wide = value;
    const bool nan = (i & 0x7fff) > F::kInfinity;
    ASSERT_EQ(std::isnan(wide), nan) << i;
    ASSERT_EQ(std::signbit(wide), i >= 0x8000) << i;
    ASSERT_EQ(std::isinf(wide), (i & 0x7fff) == F::kInfinity) << i;
    // A signalling NaN comes back quiet, with the rest of its payload.
    ASSERT_EQ(TypeParam(wide).bits, nan ? i | F::kQuiet : i) << i;
  }
}

// Between each two neighbours: the middle goes to the even one, all else to the nearer one.
TYPED_TEST(Float16Test, RoundsToNearestTiesToEven) {
  using F = Format<TypeParam>;
  for (const std::uint16_t sign : {0x0000, 0x8000}) {
    for (std::uint16_t low = 0; low + 1 < F::kInfinity; ++low) {
      const auto below = static_cast<std::uint16_t>(sign | low);
      const auto above = static_cast<std::uint16_t>(below + 1);
      const float a = TypeParam::from_bits(below), b = TypeParam::from_bits(above);
      ASSERT_LT(std::fabs(a), std::fabs(b));
      const auto middle = static_cast<float>((double(a) + double(b)) / 2);
      ASSERT_EQ(double(middle), (double(a) + double(b)) / 2) << "exact in f32";
      ASSERT_EQ(TypeParam(middle).bits, low % 2 == 0 ? below : above) << low;
      ASSERT_EQ(TypeParam(std::nextafter(middle, a)).bits, below) << low;
      ASSERT_EQ(TypeParam(std::nextafter(middle, b)).bits, above) << low;
      ASSERT_EQ(TypeParam(std::nextafter(a, b)).bits, below) << low;
      ASSERT_EQ(TypeParam(std::nextafter(b, a)).bits, above) << low;
    }
  }
}

TYPED_TEST(Float16Test, OverflowsToInfinity) {
  using F = Format<TypeParam>;
  constexpr auto kLargest = static_cast<std::uint16_t>(F::kInfinity - 1);
  EXPECT_EQ(TypeParam(std::nextafter(F::kOverflow, 0.0f)).bits, kLargest);
  for (const float value :
       {F::kOverflow, std::numeric_limits<float>::max(), std::numeric_limits<float>::infinity()}) {
    EXPECT_EQ(TypeParam(value).bits, F::kInfinity);
    EXPECT_EQ(TypeParam(-value).bits, F::kInfinity | 0x8000);
  }
}

TYPED_TEST(Float16Test, UnderflowsToSignedZero) {
  using F = Format<TypeParam>;
  const auto half = static_cast<float>(F::kLeast / 2);
  EXPECT_EQ(TypeParam(half).bits, 0);
  EXPECT_EQ(TypeParam(-half).bits, 0x8000);
  EXPECT_EQ(TypeParam(std::nextafter(half, 1.0f)).bits, 1);
  EXPECT_EQ(TypeParam(std::nextafter(-half, -1.0f)).bits, 0x8001);
  EXPECT_EQ(TypeParam(std::numeric_limits<float>::denorm_min()).bits, 0);
  EXPECT_EQ(TypeParam(-0.0f).bits, 0x8000);
}

TYPED_TEST(Float16Test, NansStayQuietNans) {
  using F = Format<TypeParam>;
  for (const std::uint32_t sign : {0x0000'0000u, 0x8000'0000u}) {
    // Payloads that vanish, that would carry out of the fraction, that are cut.
    for (const std::uint32_t payload :
         {0x1u, 0x1fffu, 0x8000u, 0x2a'5555u, 0x40'0000u, 0x7f'ffffu}) {
      const std::uint32_t nan = sign | 0x7f80'0000 | payload;
      const TypeParam made(float_of(nan));
      EXPECT_TRUE(std::isnan(float(made))) << std::hex << nan;
      EXPECT_EQ(made.bits, sign >> 16 | F::kInfinity | F::kQuiet | payload >> F::kDropped)
          << std::hex << nan;
      EXPECT_FALSE(made == made);
    }
  }
}

#if defined(__x86_64__)
__attribute__((target("f16c"))) std::uint16_t processor_rounds(float value) {
  return static_cast<std::uint16_t>(
      _mm_extract_epi16(_mm_cvtps_ph(_mm_set_ss(value), _MM_FROUND_TO_NEAREST_INT), 0));
}

TEST(Float16, AgreesWithTheProcessor) {
  if (!__builtin_cpu_supports("f16c")) GTEST_SKIP() << "this processor has no F16C";
  // A step that shares no factor with 2^32 meets every exponent and every low bit.
  std::uint32_t bits = 0;
  for (int i = 0; i < 2'000'000; ++i, bits += 2'654'435'761u) {
    ASSERT_EQ(Float16(float_of(bits)).bits, processor_rounds(float_of(bits))) << std::hex << bits;
  }
  EXPECT_EQ(processor_rounds(float_of(bits_of(1.0f))), 0x3c00);
}
#endif

}  // namespace
}  // namespace rooftune
