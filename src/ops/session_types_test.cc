// Products of every type and policy from a session's face to the kernels and back.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/temp_folder_for_test.h"
#include "ops/matmul/problem.h"
#include "ops/matmul/verify.h"
#include "rooftune/float16.h"
#include "rooftune/rooftune.h"

namespace rooftune {
namespace {

struct TypeCase {
  DType lhs, rhs, out;
  Precision precision = Precision::highest;
};

constexpr TypeCase kCases[] = {
    {DType::f32, DType::f32, DType::f32},
    {DType::f64, DType::f64, DType::f64},
    {DType::bf16, DType::bf16, DType::f32},
    {DType::bf16, DType::bf16, DType::bf16},
    {DType::f16, DType::f16, DType::f32},
    {DType::f16, DType::f16, DType::f16},
    {DType::i8, DType::i8, DType::i32},
    {DType::u8, DType::i8, DType::i32},
    {DType::i8, DType::u8, DType::i32},
    {DType::u8, DType::u8, DType::i32},
    {DType::f32, DType::f32, DType::f32, Precision::split},
    {DType::f32, DType::f32, DType::f32, Precision::high},
    {DType::f32, DType::f32, DType::f32, Precision::medium},
};

// A dense matrix of any type with numbers around 1, or bytes of every value.
struct Matrix {
  Matrix(DType type, std::int64_t rows, std::int64_t cols, unsigned seed) {
    tensor = Tensor::make(type, {rows, cols}).value();
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (std::int64_t i = 0; i < rows * cols; ++i) {
      const float value = normal(random);
      switch (type) {
        case DType::f64:
          tensor.as<double>()[i] = value;
          break;
        case DType::bf16:
          tensor.as<BFloat16>()[i] = BFloat16(value);
          break;
        case DType::f16:
          tensor.as<Float16>()[i] = Float16(value);
          break;
        case DType::i32:
          tensor.as<std::int32_t>()[i] = static_cast<std::int32_t>(1000 * value);
          break;
        case DType::i8:
        case DType::u8:
          tensor.as<std::uint8_t>()[i] = static_cast<std::uint8_t>(random());
          break;
        default:
          tensor.as<float>()[i] = value;
      }
    }
  }
  Tensor tensor;
};

class SessionTypes : public ::testing::Test {
 protected:
  std::unique_ptr<Session> open() {
    Settings settings;
    settings.autotune.background = 0;  // what a slow machine leaves undone is done by the next call
    auto session = Session::open(
        {.environment = "local", .settings = settings, .folders = {temp_.path(), temp_.path()}});
    EXPECT_TRUE(session) << session.error().text;
    return session ? *std::move(session) : nullptr;
  }
  TempFolder temp_;
};

TEST_F(SessionTypes, EveryTypeAndPolicyIsRightAndRemembered) {
  auto session = open();
  for (const TypeCase& types : kCases) {
    for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{70, 90, 110},
                                  {1, 300, 257},
                                  {33, 5, 1000},
                                  {260, 270, 130}}) {
      Matrix lhs(types.lhs, m, k, 1), rhs(types.rhs, k, n, 2), out(types.out, m, n, 3);
      for (const double beta : {0.0, 2.0}) {
        MatmulOptions options;
        options.precision = types.precision;
        options.beta = beta;
        CallReport report;
        options.report = &report;
        MatmulProblem problem;
        ASSERT_TRUE(make_matmul_problem(lhs.tensor, rhs.tensor, out.tensor, options, problem));
        const auto check = ProductCheck::make(problem.gemm);
        ASSERT_TRUE(check);
        ASSERT_TRUE(session->matmul(lhs.tensor, rhs.tensor, out.tensor, options));
        const Check found = check->check(problem.gemm).value();
        EXPECT_TRUE(found.right())
            << to_string(types.lhs) << " " << to_string(types.rhs) << " " << to_string(types.out)
            << " " << to_string(types.precision) << " " << m << "x" << n << "x" << k << " by "
            << report.candidate << ": " << found.error << " over " << found.error_bound;
        options.beta = beta;
        options.report = &report;
        // Where a machine is so slow that the budget ends the search, the next calls go on with it.
        bool complete = false;
        for (int call = 0; call < 20 && !complete; ++call) {
          const auto decision =
              session->matmul_decision(lhs.tensor, rhs.tensor, out.tensor, options);
          ASSERT_TRUE(decision && *decision);
          complete = !(*decision)->partial;
          ASSERT_TRUE(session->matmul(lhs.tensor, rhs.tensor, out.tensor, options));
          EXPECT_EQ(report.tuned, !complete);
        }
        EXPECT_TRUE(complete);
      }
    }
  }
}

// A type is part of the key, and so is what the output is.
TEST_F(SessionTypes, TypesDoNotShareADecision) {
  auto session = open();
  std::vector<std::string> keys;
  for (const TypeCase& types : kCases) {
    Matrix lhs(types.lhs, 40, 40, 1), rhs(types.rhs, 40, 40, 2), out(types.out, 40, 40, 3);
    MatmulOptions options;
    options.precision = types.precision;
    ASSERT_TRUE(session->matmul(lhs.tensor, rhs.tensor, out.tensor, options));
    const auto decision = session->matmul_decision(lhs.tensor, rhs.tensor, out.tensor, options);
    ASSERT_TRUE(decision && *decision);
    keys.push_back((*decision)->key);
  }
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(std::adjacent_find(keys.begin(), keys.end()), keys.end());
}

// The extremes of each type, where a saturating or a sign-blind instruction would go wrong.
TEST_F(SessionTypes, BytesAreExactAtTheEndsOfTheirRange) {
  auto session = open();
  constexpr std::int64_t kTerms = 1000;
  for (const DType a : {DType::i8, DType::u8}) {
    for (const DType b : {DType::i8, DType::u8}) {
      for (const int left : {0, 1, 127, 128, 255}) {
        for (const int right : {0, 1, 127, 128, 255}) {
          auto lhs = Tensor::make(a, {20, kTerms}).value(),
               rhs = Tensor::make(b, {kTerms, 40}).value();
          auto out = Tensor::make(DType::i32, {20, 40}).value();
          std::memset(lhs.data(), left, 20 * kTerms);
          std::memset(rhs.data(), right, 40 * kTerms);
          ASSERT_TRUE(session->matmul(lhs, rhs, out));
          const auto value = [](DType type, int byte) {
            return type == DType::u8 ? byte : static_cast<int>(static_cast<std::int8_t>(byte));
          };
          const std::int64_t expected = kTerms * value(a, left) * value(b, right);
          for (std::int64_t i = 0; i < out.elements(); ++i) {
            ASSERT_EQ(out.as<std::int32_t>()[i], expected) << left << " " << right;
          }
        }
      }
    }
  }
}

// Rounded once, to nearest even; NaN stays NaN; what is too large becomes Inf.
TEST_F(SessionTypes, NarrowOutputsAreRoundedOnce) {
  auto session = open();
  auto lhs = Tensor::make(DType::bf16, {1, 2}).value(),
       rhs = Tensor::make(DType::bf16, {2, 4}).value();
  auto out = Tensor::make(DType::bf16, {1, 4}).value();
  lhs.as<BFloat16>()[0] = lhs.as<BFloat16>()[1] = BFloat16(1.0f);
  const float first[] = {1, 1, std::nanf(""), 3.3e38f}, second[] = {0x1p-8f, 0x1.8p-7f, 1, 3.3e38f};
  for (int j = 0; j < 4; ++j) {
    rhs.as<BFloat16>()[j] = BFloat16(first[j]);
    rhs.as<BFloat16>()[4 + j] = BFloat16(second[j]);
  }
  for (const std::string& name : session->matmul_candidates()) {
    MatmulOptions options;
    options.strategy = Strategy::named;
    options.candidate = name;
    if (!session->matmul(lhs, rhs, out, options)) continue;
    const auto at = [&](int j) { return float(out.as<BFloat16>()[j]); };
    EXPECT_EQ(at(0), 1.0f) << name;         // a tie: down to the even one
    EXPECT_EQ(at(1), 1 + 0x1p-6f) << name;  // a tie: up to the even one
    EXPECT_TRUE(std::isnan(at(2))) << name;
    EXPECT_TRUE(std::isinf(at(3))) << name;
  }
}

}  // namespace
}  // namespace rooftune
