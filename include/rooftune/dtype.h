// Element types.
#ifndef ROOFTUNE_DTYPE_H_
#define ROOFTUNE_DTYPE_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace rooftune {

enum class DType : std::uint8_t { f64, f32, f16, bf16, i32, i8, u8, f8e4m3, f8e5m2 };

// Bytes of one element.
constexpr std::int64_t size_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 8;
    case DType::f32:
    case DType::i32:
      return 4;
    case DType::f16:
    case DType::bf16:
      return 2;
    case DType::i8:
    case DType::u8:
    case DType::f8e4m3:
    case DType::f8e5m2:
      return 1;
  }
  return 0;
}

// "f32", "bf16", ...: the names used in CSV files, keys and JSON.
std::string_view to_string(DType dtype);

// The inverse of to_string; nothing for an unknown name.
std::optional<DType> parse_dtype(std::string_view name);

// The DType of a C++ type: dtype_of<float> is DType::f32. The 16-bit types are in float16.h, the
// 8-bit ones in float8.h.
template <class T>
inline constexpr DType dtype_of = T::rooftune_dtype;
template <>
inline constexpr DType dtype_of<double> = DType::f64;
template <>
inline constexpr DType dtype_of<float> = DType::f32;
template <>
inline constexpr DType dtype_of<std::int32_t> = DType::i32;
template <>
inline constexpr DType dtype_of<std::int8_t> = DType::i8;
template <>
inline constexpr DType dtype_of<std::uint8_t> = DType::u8;

}  // namespace rooftune

#endif  // ROOFTUNE_DTYPE_H_
