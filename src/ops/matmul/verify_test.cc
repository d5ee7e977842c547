#include "ops/matmul/verify.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace rooftune {
namespace {

// A product in plain loops, and its arguments.
template <class T>
struct Product {
  Product(std::int64_t m, std::int64_t n, std::int64_t k, double mean = 0, double beta = 0)
      : a(std::size_t(m * k)), b(std::size_t(k * n)), c(std::size_t(m * n)) {
    std::mt19937 random(5);
    std::normal_distribution<double> normal(mean, 1);
    for (auto* values : {&a, &b, &c}) {
      for (T& value : *values) value = static_cast<T>(normal(random));
    }
    gemm.family = sizeof(T) == 4 ? TypeFamily::f32 : TypeFamily::f64;
    gemm.a_type = gemm.b_type = gemm.c_type = sizeof(T) == 4 ? DType::f32 : DType::f64;
    gemm.m = m;
    gemm.n = n;
    gemm.k = k;
    gemm.a = a.data();
    gemm.b = b.data();
    gemm.c = c.data();
    gemm.a_row = k;
    gemm.b_row = gemm.c_row = n;
    gemm.a_col = gemm.b_col = gemm.c_col = 1;
    gemm.beta = beta;
  }
  void multiply() {
    for (std::int64_t i = 0; i < gemm.m; ++i) {
      for (std::int64_t j = 0; j < gemm.n; ++j) {
        T sum = 0;  // in the type itself: the worst order that a candidate may use
        for (std::int64_t p = 0; p < gemm.k; ++p) {
          sum += a[std::size_t(i * gemm.k + p)] * b[std::size_t(p * gemm.n + j)];
        }
        T& at = c[std::size_t(i * gemm.n + j)];
        at = static_cast<T>(gemm.alpha) * sum +
             (gemm.beta == 0 ? 0 : static_cast<T>(gemm.beta) * at);
      }
    }
  }
  std::vector<T> a, b, c;
  GemmArgs gemm;
};

template <class T>
class Verify : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Verify, Types);

TYPED_TEST(Verify, RightProductsPass) {
  for (const double mean : {0.0, 0.5, 3.0}) {
    for (const auto& [m, n, k] : {std::tuple{1, 1, 1},
                                  {7, 5, 3},
                                  {64, 48, 300},
                                  {3, 200, 2000},
                                  {200, 3, 1},
                                  {1, 1, 5000},
                                  {33, 65, 129}}) {
      for (const double beta : {0.0, 1.0, -0.5}) {
        Product<TypeParam> product(m, n, k, mean, beta);
        product.gemm.alpha = beta == 1.0 ? 2.5 : 1;
        auto check = ProductCheck::make(product.gemm);
        ASSERT_TRUE(check);
        EXPECT_TRUE(check->conclusive());
        product.multiply();
        const Check found = check->check(product.gemm).value();
        EXPECT_TRUE(found.right()) << m << "x" << n << "x" << k << " mean " << mean << ": "
                                   << found.error << " of " << found.error_bound;
      }
    }
  }
}

TYPED_TEST(Verify, ASingleWrongElementFails) {
  for (const auto& [m, n, k] : {std::tuple{1, 1, 1}, {7, 5, 3}, {64, 48, 300}, {100, 700, 60}}) {
    Product<TypeParam> product(m, n, k);
    auto check = ProductCheck::make(product.gemm);
    ASSERT_TRUE(check);
    product.multiply();
    for (const std::size_t at : {std::size_t{0}, product.c.size() / 2, product.c.size() - 1}) {
      const TypeParam right = product.c[at];
      const auto typical = static_cast<TypeParam>(std::sqrt(double(k)));
      for (const TypeParam wrong :
           {TypeParam(right + typical), TypeParam(right + typical / 10), TypeParam(0),
            TypeParam(-right), std::numeric_limits<TypeParam>::quiet_NaN(),
            std::numeric_limits<TypeParam>::infinity(), TypeParam(1e30)}) {
        if (std::abs(double(wrong) - double(right)) < double(typical) / 50) continue;
        product.c[at] = wrong;
        EXPECT_FALSE(check->check(product.gemm)->right()) << right << " became " << wrong;
      }
      product.c[at] = right;
    }
    EXPECT_TRUE(check->check(product.gemm)->right());
  }
}

TYPED_TEST(Verify, SwappedColumnsAndMissingTermsFail) {
  Product<TypeParam> product(40, 30, 50);
  auto check = ProductCheck::make(product.gemm);
  ASSERT_TRUE(check);
  product.multiply();
  auto swapped = product;
  swapped.gemm.c = swapped.c.data();
  for (int i = 0; i < 40; ++i)
    std::swap(swapped.c[std::size_t(i) * 30], swapped.c[std::size_t(i) * 30 + 1]);
  EXPECT_FALSE(check->check(swapped.gemm)->right());
  // The last term of every sum left out, as a kernel does that gets the tail of k wrong.
  Product<TypeParam> shorter(40, 30, 50);
  shorter.gemm.k = 49;
  for (int i = 0; i < 40; ++i) {
    for (int j = 0; j < 30; ++j) {
      TypeParam sum = 0;
      for (int p = 0; p < 49; ++p)
        sum += shorter.a[std::size_t(i) * 50 + std::size_t(p)] *
               shorter.b[std::size_t(p) * 30 + std::size_t(j)];
      shorter.c[std::size_t(i) * 30 + std::size_t(j)] = sum;
    }
  }
  shorter.gemm.k = 50;
  EXPECT_FALSE(check->check(shorter.gemm)->right());
}

TYPED_TEST(Verify, ReducedPrecisionFailsUnderHighest) {
  Product<TypeParam> product(64, 64, 64);
  auto check = ProductCheck::make(product.gemm);
  ASSERT_TRUE(check);
  // Operands rounded to a 10-bit mantissa, as tensor cores do for f32.
  for (auto* values : {&product.a, &product.b}) {
    for (TypeParam& value : *values) {
      int exponent;
      const double mantissa = std::frexp(double(value), &exponent);
      value = static_cast<TypeParam>(std::ldexp(std::round(mantissa * 2048) / 2048, exponent));
    }
  }
  product.multiply();
  EXPECT_FALSE(check->check(product.gemm)->right());
}

TYPED_TEST(Verify, UselessOperandsAreInconclusive) {
  const auto with = [](auto change) {
    Product<TypeParam> product(20, 30, 200);
    change(product);
    auto check = ProductCheck::make(product.gemm);
    EXPECT_TRUE(check);
    return check->conclusive();
  };
  const auto all = [](std::vector<TypeParam>& values, double value) {
    std::fill(values.begin(), values.end(), static_cast<TypeParam>(value));
  };
  EXPECT_TRUE(with([](auto&) {}));
  EXPECT_FALSE(with([&](auto& p) { all(p.a, 0); }));
  EXPECT_FALSE(with([&](auto& p) { all(p.b, 1.1); }));
  EXPECT_FALSE(with([&](auto& p) { p.a[17] = std::numeric_limits<TypeParam>::quiet_NaN(); }));
  EXPECT_FALSE(with([&](auto& p) { p.b[17] = std::numeric_limits<TypeParam>::infinity(); }));
  const double huge = sizeof(TypeParam) == 4 ? 1e19 : 1e154;
  EXPECT_FALSE(with([&](auto& p) {
    for (auto* values : {&p.a, &p.b}) {
      for (auto& value : *values) value = static_cast<TypeParam>(value * huge);
    }
  }));
  EXPECT_FALSE(with([&](auto& p) {
    for (auto* values : {&p.a, &p.b}) {
      for (auto& value : *values) value = static_cast<TypeParam>(value / huge);
    }
  }));
}

TYPED_TEST(Verify, StridesAndBatches) {
  // Three products whose operands are columns of wider matrices, the left one stored transposed.
  Product<TypeParam> storage(60, 60, 60);
  GemmArgs gemm = storage.gemm;
  gemm.m = 7;
  gemm.n = 11;
  gemm.k = 13;
  gemm.a_row = 1;
  gemm.a_col = 60;
  gemm.b_row = -60;
  gemm.b = storage.b.data() + 12 * 60;
  gemm.b_col = 2;
  gemm.c_col = 3;
  gemm.batch = 3;
  gemm.batch_rank = 1;
  gemm.batch_extent[0] = 3;
  gemm.a_batch[0] = 10;
  gemm.b_batch[0] = 0;
  gemm.c_batch[0] = 20 * 60;
  auto check = ProductCheck::make(gemm);
  ASSERT_TRUE(check);
  for (int index = 0; index < 3; ++index) {
    for (int i = 0; i < 7; ++i) {
      for (int j = 0; j < 11; ++j) {
        double sum = 0;
        for (int p = 0; p < 13; ++p) {
          sum += double(storage.a[std::size_t(index * 10 + i + p * 60)]) *
                 double(storage.b[std::size_t(12 * 60 - p * 60 + j * 2)]);
        }
        storage.c[std::size_t(index * 20 * 60 + i * 60 + j * 3)] = static_cast<TypeParam>(sum);
      }
    }
  }
  EXPECT_TRUE(check->check(gemm)->right());
  storage.c[20 * 60 * 2 + 6 * 60 + 30] += 1;
  EXPECT_FALSE(check->check(gemm)->right());
}

}  // namespace
}  // namespace rooftune
