// The two 16-bit floating-point types as they are stored: for filling and reading operands. There
// is no arithmetic here; convert to float for that.
#ifndef ROOFTUNE_FLOAT16_H_
#define ROOFTUNE_FLOAT16_H_

#include <bit>
#include <cstdint>

#include "rooftune/dtype.h"

namespace rooftune {

// bfloat16: the upper half of an IEEE binary32.
struct BFloat16 {
  static constexpr DType rooftune_dtype = DType::bf16;
  std::uint16_t bits = 0;

  constexpr BFloat16() = default;
  // To the nearest, ties to even; overflow gives Inf; a NaN stays one, made quiet.
  constexpr explicit BFloat16(float value) {
    const auto word = std::bit_cast<std::uint32_t>(value);
    bits = (word & 0x7fffffffu) > 0x7f800000u
               ? static_cast<std::uint16_t>(word >> 16 | 0x40u)
               : static_cast<std::uint16_t>((word + 0x7fffu + (word >> 16 & 1u)) >> 16);
  }
  constexpr explicit operator float() const {  // exact
    return std::bit_cast<float>(std::uint32_t{bits} << 16);
  }
};

// IEEE binary16.
struct Float16 {
  static constexpr DType rooftune_dtype = DType::f16;
  std::uint16_t bits = 0;

  constexpr Float16() = default;
  // To the nearest, ties to even; overflow gives Inf; a NaN stays one, made quiet.
  constexpr explicit Float16(float value) {
    const auto word = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = word >> 16 & 0x8000u, size = word & 0x7fffffffu;
    std::uint32_t half = 0;
    if (size > 0x7f800000u) {
      half = 0x7e00u | (size >> 13 & 0x3ffu);
    } else if (size >= 0x477ff000u) {  // 65520: half way between the largest number and the next
      half = 0x7c00u;
    } else if (size < 0x38800000u) {  // below 2^-14: a subnormal
      // The last digit of 0.5 + 2^-24 in binary32 is the last one of a subnormal.
      half = std::bit_cast<std::uint32_t>(std::bit_cast<float>(size) + 0.5f) - 0x3f000000u;
    } else {
      half = (size - 0x38000000u + 0xfffu + (size >> 13 & 1u)) >> 13;
    }
    bits = static_cast<std::uint16_t>(sign | half);
  }
  constexpr explicit operator float() const {  // exact
    const std::uint32_t sign = std::uint32_t{bits & 0x8000u} << 16, size = bits & 0x7fffu;
    if (size >= 0x7c00u) {
      const std::uint32_t payload = (size & 0x3ffu) << 13;
      return std::bit_cast<float>(sign | 0x7f800000u | payload | (payload != 0 ? 0x400000u : 0u));
    }
    const float magnitude = std::bit_cast<float>(size << 13) * 0x1p112f;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
  }
};

}  // namespace rooftune

#endif  // ROOFTUNE_FLOAT16_H_
