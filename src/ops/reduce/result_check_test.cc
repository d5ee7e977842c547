#include "ops/reduce/result_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "device/fake/fake_client.h"
#include "ops/reduce/problem.h"
#include "ops/reduce/reference.h"
#include "ops/reduce/sum_for_test.h"

namespace rooftune {
namespace {

// Rows of a matrix added up; outputs lie `gap` apart, forwards or backwards.
struct Problem {
  explicit Problem(std::int64_t gap) {
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = float(i % 13) - 5.5f;
    const Layout input = make_layout({kRows, kCols}, dense(2));
    Layout output;
    output.rank = 1;
    output.extents = {kRows};
    output.strides = {gap};
    float* const first = memory.data() + (gap < 0 ? -gap * (kRows - 1) : 0);
    const std::vector<int> axes = {1};
    auto made = make_sum_args({in.data(), DType::f32, input}, {first, DType::f32, output}, axes);
    EXPECT_TRUE(made) << made.error().text;
    args = *made;
  }
  std::unique_ptr<ResultCheck> check(std::uint64_t most_bytes = 1 << 20) {
    auto made = make_sum_result_check(client, args, {}, most_bytes);
    EXPECT_TRUE(made) << made.error().text;
    return made ? *std::move(made) : nullptr;
  }
  float& output(std::int64_t index) {
    float* at = nullptr;
    for_each_output(args, [&](std::int64_t i, std::int64_t offset) {
      if (i == index) at = static_cast<float*>(args.out) + offset;
    });
    return *at;
  }
  void compute() {
    for (std::int64_t i = 0; i < kRows; ++i) {
      double sum = 0;
      for (std::int64_t j = 0; j < kCols; ++j) sum += in[std::size_t(i * kCols + j)];
      output(i) = float(sum);
    }
  }
  static constexpr std::int64_t kRows = 6, kCols = 50;
  std::vector<float> in = std::vector<float>(kRows * kCols);
  std::vector<float> memory = std::vector<float>(64, 99.f);
  SumArgs args;
  FakeClient client;
};

class SumResultCheckOf : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Gaps, SumResultCheckOf, testing::Values(1, 3, -2));

TEST_P(SumResultCheckOf, ARightResultIsRightAndNothingElseIsTouched) {
  Problem problem(GetParam());
  const auto check = problem.check();
  ASSERT_NE(check, nullptr);
  problem.compute();
  const auto found = check->check({});
  ASSERT_TRUE(found) << found.error().text;
  EXPECT_TRUE(found->conclusive);
  EXPECT_TRUE(found->right()) << found->error;
  EXPECT_EQ(std::count(problem.memory.begin(), problem.memory.end(), 99.f), 64 - Problem::kRows);
}

TEST_P(SumResultCheckOf, AWrongElementIsFound) {
  Problem problem(GetParam());
  const auto check = problem.check();
  ASSERT_NE(check, nullptr);
  problem.compute();
  problem.output(4) += 0.5f;
  const auto found = check->check({});
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->right());
}

TEST_P(SumResultCheckOf, AnElementThatIsLeftOutIsFoundAlsoWhereItWasRightBefore) {
  Problem problem(GetParam());
  problem.compute();
  const auto check = problem.check();
  ASSERT_NE(check, nullptr);
  const float left = problem.output(2);
  EXPECT_TRUE(std::isnan(left));
  problem.compute();
  problem.output(2) = left;
  const auto found = check->check({});
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->complete);
  EXPECT_FALSE(found->right());
  ASSERT_TRUE(check->restore({}));
  EXPECT_TRUE(std::isnan(problem.output(0)));
}

TEST(SumResultCheck, OfZerosSaysNothing) {
  Problem problem(1);
  std::fill(problem.in.begin(), problem.in.end(), 0.f);
  const auto check = problem.check();
  ASSERT_NE(check, nullptr);
  problem.compute();
  const auto found = check->check({});
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->conclusive);
}

TEST(SumResultCheck, TakesNoMoreMemoryThanItMay) {
  Problem problem(1);
  const auto made = make_sum_result_check(problem.client, problem.args, {}, 16);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().kind, ErrorKind::out_of_memory);
  EXPECT_EQ(std::count(problem.memory.begin(), problem.memory.end(), 99.f), 64);
}

}  // namespace
}  // namespace rooftune
