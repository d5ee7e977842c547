#include "rooftune/dtype.h"

namespace rooftune {

std::string_view to_string(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return "f64";
    case DType::f32:
      return "f32";
    case DType::f16:
      return "f16";
    case DType::bf16:
      return "bf16";
    case DType::i32:
      return "i32";
    case DType::i8:
      return "i8";
    case DType::f8e4m3:
      return "f8e4m3";
    case DType::f8e5m2:
      return "f8e5m2";
    case DType::u8:
      return "u8";
  }
  return "unknown";
}

std::optional<DType> parse_dtype(std::string_view name) {
  for (int i = 0; i <= int(DType::u8); ++i) {
    if (to_string(DType(i)) == name) return DType(i);
  }
  return std::nullopt;
}

}  // namespace rooftune
