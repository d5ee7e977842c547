#include "ops/matmul/result_check.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "device/fake/fake_client.h"
#include "ops/matmul/problem.h"

namespace rooftune {
namespace {

constexpr std::int64_t kM = 6, kN = 5, kK = 7;

// A product on operands of its own; its right result by the definition.
struct Product {
  // Of C, in elements. The memory has room for every set of strides that tests use.
  explicit Product(std::int64_t row, std::int64_t col, double beta = 0) {
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    for (auto* values : {&a, &b, &memory}) {
      for (float& value : *values) value = normal(random);
    }
    float* first = memory.data() + (row < 0 ? -row * (kM - 1) : 0);
    MatmulOptions options;
    options.beta = beta;
    Layout out;
    out.rank = 2;
    out.extents = {kM, kN};
    out.strides = {row, col};
    MatmulProblem problem;
    const Status made = make_matmul_problem(view(a.data(), {kM, kK}), view(b.data(), {kK, kN}),
                                            View{first, DType::f32, out}, options, problem);
    EXPECT_TRUE(made) << made.error().text;
    gemm = problem.gemm;
    before = memory;
  }
  float& at(std::int64_t i, std::int64_t j) {
    return static_cast<float*>(gemm.c)[i * gemm.c_row + j * gemm.c_col];
  }
  // C = A B + beta * what was there at the beginning.
  void compute() {
    for (std::int64_t i = 0; i < gemm.m; ++i) {
      for (std::int64_t j = 0; j < gemm.n; ++j) {
        double sum = gemm.beta * before[std::size_t(&at(i, j) - memory.data())];
        for (std::int64_t p = 0; p < gemm.k; ++p) {
          sum += double(static_cast<const float*>(gemm.a)[i * gemm.a_row + p * gemm.a_col]) *
                 static_cast<const float*>(gemm.b)[p * gemm.b_row + j * gemm.b_col];
        }
        at(i, j) = float(sum);
      }
    }
  }
  std::unique_ptr<ResultCheck> check() {
    auto made = make_matmul_result_check(client, gemm, {}, 1 << 20, host_matrix_passes());
    EXPECT_TRUE(made) << made.error().text;
    return made ? *std::move(made) : nullptr;
  }
  // Everything but the elements of C is as it was.
  bool others_untouched() {
    std::vector<bool> ours(memory.size());
    for (std::int64_t i = 0; i < gemm.m; ++i) {
      for (std::int64_t j = 0; j < gemm.n; ++j) ours[std::size_t(&at(i, j) - memory.data())] = true;
    }
    for (std::size_t i = 0; i < memory.size(); ++i) {
      if (!ours[i] && memory[i] != before[i]) return false;
    }
    return true;
  }

  std::vector<float> a = std::vector<float>(kM * kK), b = std::vector<float>(kK * kN);
  std::vector<float> memory = std::vector<float>(400), before;
  GemmArgs gemm;
  FakeClient client;
};

class ResultCheckOf : public testing::TestWithParam<std::pair<std::int64_t, std::int64_t>> {};

TEST_P(ResultCheckOf, ARightResultIsRight) {
  for (const double beta : {0.0, 0.5}) {
    Product product(GetParam().first, GetParam().second, beta);
    const auto check = product.check();
    ASSERT_NE(check, nullptr);
    product.compute();
    const auto found = check->check({});
    ASSERT_TRUE(found) << found.error().text;
    EXPECT_TRUE(found->conclusive);
    EXPECT_TRUE(found->right()) << found->error;
    EXPECT_TRUE(product.others_untouched());
  }
}

TEST_P(ResultCheckOf, AWrongElementIsFound) {
  for (const double beta : {0.0, 0.5}) {
    Product product(GetParam().first, GetParam().second, beta);
    const auto check = product.check();
    ASSERT_NE(check, nullptr);
    product.compute();
    product.at(kM - 1, kN - 1) += 0.1f;
    const auto found = check->check({});
    ASSERT_TRUE(found);
    EXPECT_FALSE(found->right()) << beta;
  }
}

TEST_P(ResultCheckOf, AnElementThatIsLeftOutIsFoundAlsoWhereItWasRightBefore) {
  Product product(GetParam().first, GetParam().second);
  product.compute();
  const float right = product.at(2, 3);
  const auto check = product.check();
  ASSERT_NE(check, nullptr);
  const float left = product.at(2, 3);
  EXPECT_NE(left, right);
  product.compute();
  product.at(2, 3) = left;
  const auto found = check->check({});
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->right());
}

TEST_P(ResultCheckOf, RestoreGivesTheOutputBack) {
  Product product(GetParam().first, GetParam().second, 0.5);
  const auto check = product.check();
  ASSERT_NE(check, nullptr);
  for (std::int64_t i = 0; i < kM; ++i) {
    for (std::int64_t j = 0; j < kN; ++j) product.at(i, j) = -7;
  }
  ASSERT_TRUE(check->restore({}));
  EXPECT_EQ(product.memory, product.before);
}

INSTANTIATE_TEST_SUITE_P(Layouts, ResultCheckOf,
                         testing::Values(std::pair{5, 1}, std::pair{9, 1}, std::pair{1, 6},
                                         std::pair{1, 11}, std::pair{20, 2}, std::pair{-8, 1}));

TEST(ResultCheck, OfZerosSaysNothing) {
  Product product(kN, 1);
  std::fill(product.a.begin(), product.a.end(), 0.f);
  const auto check = product.check();
  ASSERT_NE(check, nullptr);
  product.compute();
  const auto found = check->check({});
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->conclusive);
}

TEST(ResultCheck, TakesNoMoreMemoryThanItMay) {
  Product product(kN, 1, 0.5);
  const auto made =
      make_matmul_result_check(product.client, product.gemm, {}, 16, host_matrix_passes());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().kind, ErrorKind::out_of_memory);
  EXPECT_EQ(product.memory, product.before);
}

}  // namespace
}  // namespace rooftune
