// The 16-bit floating-point types, for storage: arithmetic is done in f32 and wider.
#ifndef ROOFTUNE_FLOAT16_H_
#define ROOFTUNE_FLOAT16_H_

#include <bit>
#include <cstdint>

#include "rooftune/dtype.h"

namespace rooftune {

// bfloat16: the upper half of an f32. Trivial: a default-initialised one has no value, an array of
// them may be copied as bytes. Compares as the float that it converts to.
struct BFloat16 {
  static constexpr DType rooftune_dtype = DType::bf16;

  std::uint16_t bits;  // 1 sign, 8 exponent, 7 fraction

  BFloat16() = default;
  // Rounds to nearest, ties to even. Too large becomes an infinity; a NaN becomes a quiet NaN that
  // keeps its sign and the leading bits of its payload.
  constexpr explicit BFloat16(float value) : bits(round(std::bit_cast<std::uint32_t>(value))) {}
  static constexpr BFloat16 from_bits(std::uint16_t bits) {
    BFloat16 made(0.0f);
    made.bits = bits;
    return made;
  }
  // Exact, so that it may happen unasked.
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr operator float() const { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

 private:
  static constexpr std::uint16_t round(std::uint32_t f32) {
    // Rounding could carry the payload of a NaN away, to an infinity or to zero.
    if ((f32 & 0x7fff'ffff) > 0x7f80'0000) return static_cast<std::uint16_t>(f32 >> 16 | 0x40);
    return static_cast<std::uint16_t>((f32 + 0x7fff + (f32 >> 16 & 1)) >> 16);
  }
};

// IEEE 754 binary16. Trivial and compared as BFloat16 is.
struct Float16 {
  static constexpr DType rooftune_dtype = DType::f16;

  std::uint16_t bits;  // 1 sign, 5 exponent, 10 fraction

  Float16() = default;
  // Rounds to nearest, ties to even, also among subnormals. From 65520 on becomes an infinity; a
  // NaN becomes a quiet NaN that keeps its sign and the leading bits of its payload.
  constexpr explicit Float16(float value) : bits(round(std::bit_cast<std::uint32_t>(value))) {}
  static constexpr Float16 from_bits(std::uint16_t bits) {
    Float16 made(0.0f);
    made.bits = bits;
    return made;
  }
  // Exact, so that it may happen unasked.
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr operator float() const {
    const std::uint32_t sign = std::uint32_t{bits & 0x8000u} << 16;
    const std::uint32_t exponent = bits >> 10 & 0x1f;
    const std::uint32_t fraction = bits & 0x3ff;
    std::uint32_t magnitude = 0;
    if (exponent == 0) {
      magnitude = std::bit_cast<std::uint32_t>(static_cast<float>(fraction) * 0x1p-24f);
    } else if (exponent == 0x1f) {
      magnitude = 0x7f80'0000 | fraction << 13;
    } else {
      magnitude = (exponent + kBiasDifference) << 23 | fraction << 13;
    }
    return std::bit_cast<float>(sign | magnitude);
  }

 private:
  static constexpr std::uint32_t kBiasDifference = 127 - 15;

  static constexpr std::uint16_t round(std::uint32_t f32) {
    const std::uint32_t sign = f32 >> 16 & 0x8000;
    const std::uint32_t magnitude = f32 & 0x7fff'ffff;
    std::uint32_t rounded = 0;
    if (magnitude > 0x7f80'0000) {
      rounded = 0x7e00 | (magnitude >> 13 & 0x1ff);
    } else if (magnitude >= std::bit_cast<std::uint32_t>(65520.0f)) {
      rounded = 0x7c00;
    } else if (magnitude >= std::bit_cast<std::uint32_t>(0x1p-14f)) {
      rounded = (magnitude - (kBiasDifference << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13;
    } else if (magnitude >= std::bit_cast<std::uint32_t>(0x1p-25f)) {
      // In units of 2^-24, the least subnormal. The exponent here is 102 to 112.
      const std::uint32_t shift = 126 - (magnitude >> 23);
      const std::uint32_t significand = (magnitude & 0x7f'ffff) | 0x80'0000;
      const std::uint32_t even = significand >> shift & 1;
      rounded = (significand + (1u << (shift - 1)) - 1 + even) >> shift;
    }
    return static_cast<std::uint16_t>(sign | rounded);
  }
};

}  // namespace rooftune

#endif  // ROOFTUNE_FLOAT16_H_
