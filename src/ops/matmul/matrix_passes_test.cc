#include "ops/matmul/matrix_passes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "device/cpu/client.h"
#include "rooftune/float16.h"
#include "rooftune/float8.h"

namespace rooftune {
namespace {

struct Case {
  std::int64_t rows, cols;
  bool transposed;
  std::int64_t step = 1;  // between neighbours in memory
};

// A matrix of small integers, which every type holds, and both ways to apply it.
template <class T>
struct Applied {
  explicit Applied(const Case& one) {
    const std::int64_t rows = one.rows, cols = one.cols;
    std::mt19937 random(7);
    values.resize(std::size_t(rows * cols * one.step));
    for (T& value : values) value = T(float(int(random() % 7)));
    matrix.dtype = dtype_of();
    matrix.base = values.data();
    matrix.rows = rows;
    matrix.cols = cols;
    matrix.row_stride = one.step * (one.transposed ? 1 : cols);
    matrix.col_stride = one.step * (one.transposed ? rows : 1);
    in.resize(std::size_t(3 * cols));
    for (double& value : in) value = double(int(random() % 9)) - 4;
    // On top of what is there.
    std::vector<double> sums(std::size_t(3 * rows), 0.5);
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < cols; ++j) {
        const auto at = std::size_t(i * matrix.row_stride + j * matrix.col_stride);
        const double value = double(float(values[at]));
        sums[std::size_t(i)] += value * in[std::size_t(j)];
        sums[std::size_t(rows + i)] += value * in[std::size_t(cols + j)];
        sums[std::size_t(2 * rows + i)] += value * value * in[std::size_t(2 * cols + j)];
      }
    }
    wanted = std::move(sums);
  }
  static DType dtype_of() {
    if constexpr (std::is_same_v<T, float>) return DType::f32;
    if constexpr (std::is_same_v<T, double>) return DType::f64;
    if constexpr (std::is_same_v<T, BFloat16>) return DType::bf16;
    if constexpr (std::is_same_v<T, Float16>) return DType::f16;
    if constexpr (std::is_same_v<T, std::int8_t>) return DType::i8;
    if constexpr (std::is_same_v<T, std::uint8_t>) return DType::u8;
    if constexpr (std::is_same_v<T, std::int32_t>) return DType::i32;
    if constexpr (std::is_same_v<T, Float8E4M3>) return DType::f8e4m3;
    return DType::f8e5m2;
  }
  std::vector<double> got(Client* client) const {
    const auto passes = host_matrix_passes(client);
    std::vector<double> out(std::size_t(3 * matrix.rows), 0.5);
    EXPECT_TRUE(passes->apply(matrix, in.data(), 0, out.data(), 0));
    return out;
  }

  std::vector<T> values;
  MatrixBatch matrix;
  std::vector<double> in, wanted;
};

template <class T>
class HostMatrixPasses : public testing::Test {};
using Types = testing::Types<float, double, BFloat16, Float16, std::int8_t, std::uint8_t,
                             std::int32_t, Float8E4M3, Float8E5M2>;
TYPED_TEST_SUITE(HostMatrixPasses, Types);

TYPED_TEST(HostMatrixPasses, AreWhatTheDefinitionSaysAlsoOnSeveralThreads) {
  const auto client = CpuClient::make({.threads = 3, .isa = {}});
  ASSERT_TRUE(client);
  // Sums of integers are exact in every order. The last ones are large enough for several threads.
  for (const Case& one : {Case{1, 1, false}, Case{3, 7, false}, Case{5, 33, true}, Case{9, 8, true},
                          Case{1, 2100, false}, Case{2, 5, false, 3}, Case{530, 6, true},
                          Case{400, 700, false}, Case{700, 401, true}, Case{300, 400, true, 2}}) {
    const Applied<TypeParam> applied(one);
    EXPECT_EQ(applied.got(nullptr), applied.wanted) << one.rows << " x " << one.cols;
    EXPECT_EQ(applied.got(client->get()), applied.wanted) << one.rows << " x " << one.cols;
  }
}

}  // namespace
}  // namespace rooftune
