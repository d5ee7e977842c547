#include "device/cuda/matrix_units.h"

namespace rooftune {

std::vector<MatrixUnit> matrix_units_of(int capability) {
  std::vector<MatrixUnit> units = {
      {"mma", DType::f16, DType::f16, DType::f32, 16, 8, 16},
      {"mma", DType::bf16, DType::bf16, DType::f32, 16, 8, 16},
      {"mma_tf32", DType::f32, DType::f32, DType::f32, 16, 8, 8},
      {"mma", DType::f64, DType::f64, DType::f64, 8, 8, 4},
  };
  const auto add_each_pair = [&](const char* name, DType one, DType two, DType sum, int m, int n,
                                 int k) {
    for (const DType lhs : {one, two}) {
      for (const DType rhs : {one, two}) units.push_back({name, lhs, rhs, sum, m, n, k});
    }
  };
  add_each_pair("mma", DType::i8, DType::u8, DType::i32, 16, 8, 32);
  if (capability >= 89) {
    add_each_pair("mma", DType::f8e4m3, DType::f8e5m2, DType::f32, 16, 8, 32);
  }
  if (capability == 90) {
    units.push_back({"wgmma", DType::f16, DType::f16, DType::f32, 64, 256, 16});
    units.push_back({"wgmma", DType::bf16, DType::bf16, DType::f32, 64, 256, 16});
    units.push_back({"wgmma_tf32", DType::f32, DType::f32, DType::f32, 64, 256, 8});
    add_each_pair("wgmma", DType::i8, DType::u8, DType::i32, 64, 256, 32);
    add_each_pair("wgmma", DType::f8e4m3, DType::f8e5m2, DType::f32, 64, 256, 32);
  }
  return units;
}

}  // namespace rooftune
