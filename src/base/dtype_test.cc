#include "rooftune/dtype.h"

#include <set>

#include "gtest/gtest.h"

namespace rooftune {
namespace {

TEST(DType, NamesGoBothWays) {
  std::set<std::string_view> names;
  for (DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i32, DType::i8,
                      DType::f8e4m3, DType::f8e5m2, DType::u8}) {
    EXPECT_TRUE(names.insert(to_string(dtype)).second);
    EXPECT_EQ(parse_dtype(to_string(dtype)), dtype);
  }
  EXPECT_EQ(to_string(DType::bf16), "bf16");
  EXPECT_EQ(parse_dtype("f8e4m3"), DType::f8e4m3);
}

TEST(DType, OnlyExactNamesParse) {
  for (const char* name : {"", "F32", "f32 ", " f32", "f3", "float", "unknown", "f8", "i64"}) {
    EXPECT_EQ(parse_dtype(name), std::nullopt) << name;
  }
  EXPECT_EQ(parse_dtype(std::string_view("f32\0", 4)), std::nullopt);
}

TEST(DType, SizesAndCppTypes) {
  static_assert(size_of(DType::f64) == 8 && size_of(DType::f32) == 4 && size_of(DType::i32) == 4);
  static_assert(size_of(DType::f16) == 2 && size_of(DType::bf16) == 2 && size_of(DType::i8) == 1);
  static_assert(size_of(DType::f8e4m3) == 1 && size_of(DType::f8e5m2) == 1);
  static_assert(dtype_of<float> == DType::f32 && dtype_of<double> == DType::f64);
  EXPECT_EQ(size_of(DType(99)), 0);
  EXPECT_EQ(to_string(DType(99)), "unknown");
}

}  // namespace
}  // namespace rooftune
