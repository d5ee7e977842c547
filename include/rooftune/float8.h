// The 8-bit floating-point types, for storage: arithmetic is done in f32 and wider. Both are those
// of the OCP specification "8-bit Floating Point" (OFP8).
#ifndef ROOFTUNE_FLOAT8_H_
#define ROOFTUNE_FLOAT8_H_

#include <bit>
#include <cstdint>

#include "rooftune/dtype.h"
#include "rooftune/float16.h"

namespace rooftune {

namespace detail {

// The byte, without its sign, that is nearest to a number with `fraction` bits behind the point and
// this bias of the exponent; ties go to even. What is beyond `largest`, Inf too, becomes that.
constexpr std::uint8_t round_to_byte(float size, int fraction, int bias, std::uint8_t largest) {
  constexpr int kF32Bias = 127, kF32Fraction = 23;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(size);
  const auto power = [](int exponent) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(kF32Bias + exponent) << kF32Fraction);
  };
  std::uint32_t rounded = 0;
  if (size < power(1 - bias)) {
    // Subnormal: a multiple of the least number. The scaling is exact.
    const float scaled = size * power(fraction + bias - 1);
    rounded = static_cast<std::uint32_t>(scaled);
    const float rest = scaled - static_cast<float>(rounded);
    if (rest > 0.5f || (rest == 0.5f && (rounded & 1) != 0)) ++rounded;
  } else {
    const int dropped = kF32Fraction - fraction;
    const std::uint32_t half = 1u << (dropped - 1);
    const std::uint32_t rebased =
        bits - (static_cast<std::uint32_t>(kF32Bias - bias) << kF32Fraction);
    rounded = (rebased + half - 1 + (rebased >> dropped & 1)) >> dropped;
  }
  return static_cast<std::uint8_t>(rounded < largest ? rounded : largest);
}

}  // namespace detail

// 4 bits of exponent, 3 of fraction: up to 448, no infinities, one NaN (0x7f) of either sign.
// Trivial: a default-initialised one has no value, an array of them may be copied as bytes.
// Compares as the float that it converts to.
struct Float8E4M3 {
  static constexpr DType rooftune_dtype = DType::f8e4m3;

  std::uint8_t bits;

  Float8E4M3() = default;
  // Rounds to nearest, ties to even, also among subnormals, and saturates: what rounds to more than
  // 448, Inf too, becomes 448. A NaN becomes the NaN and keeps its sign.
  constexpr explicit Float8E4M3(float value) : bits(round(std::bit_cast<std::uint32_t>(value))) {}
  static constexpr Float8E4M3 from_bits(std::uint8_t bits) {
    Float8E4M3 made(0.0f);
    made.bits = bits;
    return made;
  }
  // Exact, so that it may happen unasked.
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr operator float() const {
    const std::uint32_t sign = std::uint32_t{bits & 0x80u} << 24;
    if ((bits & 0x7f) == 0x7f) return std::bit_cast<float>(sign | 0x7fff'ffffu);
    // As an f32 its exponent is 120 too small, and its subnormals are subnormal as well.
    const float size = std::bit_cast<float>(std::uint32_t{bits & 0x7fu} << 20) * 0x1p120f;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(size));
  }

 private:
  static constexpr std::uint8_t round(std::uint32_t f32) {
    const std::uint32_t size = f32 & 0x7fff'ffff;
    const std::uint8_t magnitude =
        size > 0x7f80'0000 ? 0x7f : detail::round_to_byte(std::bit_cast<float>(size), 3, 7, 0x7e);
    return static_cast<std::uint8_t>((f32 >> 24 & 0x80) | magnitude);
  }
};

// 5 bits of exponent, 2 of fraction: the upper half of an f16, with its infinities and NaNs.
// Trivial and compared as Float8E4M3 is.
struct Float8E5M2 {
  static constexpr DType rooftune_dtype = DType::f8e5m2;

  std::uint8_t bits;

  Float8E5M2() = default;
  // As Float8E4M3: saturates at 57344, Inf too, as processors convert to either type.
  constexpr explicit Float8E5M2(float value) : bits(round(std::bit_cast<std::uint32_t>(value))) {}
  static constexpr Float8E5M2 from_bits(std::uint8_t bits) {
    Float8E5M2 made(0.0f);
    made.bits = bits;
    return made;
  }
  // Exact, so that it may happen unasked.
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr operator float() const {
    return Float16::from_bits(static_cast<std::uint16_t>(bits << 8));
  }

 private:
  static constexpr std::uint8_t round(std::uint32_t f32) {
    const std::uint32_t size = f32 & 0x7fff'ffff;
    const std::uint8_t magnitude =
        size > 0x7f80'0000 ? 0x7f : detail::round_to_byte(std::bit_cast<float>(size), 2, 15, 0x7b);
    return static_cast<std::uint8_t>((f32 >> 24 & 0x80) | magnitude);
  }
};

}  // namespace rooftune

#endif  // ROOFTUNE_FLOAT8_H_
