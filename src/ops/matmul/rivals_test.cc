#include "ops/matmul/rivals.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rooftune {
namespace {

using testing::HasSubstr;

TEST(BlasMatrix, RowsAreContiguous) {
  const auto matrix = blas_matrix(3, 5, 7, 1);
  ASSERT_TRUE(matrix);
  EXPECT_FALSE(matrix->transposed);
  EXPECT_EQ(matrix->leading, 7);
}

TEST(BlasMatrix, ColumnsAreContiguous) {
  const auto matrix = blas_matrix(3, 5, 1, 4);
  ASSERT_TRUE(matrix);
  EXPECT_TRUE(matrix->transposed);
  EXPECT_EQ(matrix->leading, 4);
}

TEST(BlasMatrix, WhatBlasCannotExpress) {
  EXPECT_FALSE(blas_matrix(3, 5, 10, 2));  // every second column
  EXPECT_FALSE(blas_matrix(3, 5, -5, 1));  // reversed
  EXPECT_FALSE(blas_matrix(3, 5, 0, 1));   // broadcast
  EXPECT_FALSE(blas_matrix(3, 5, 4, 1));   // rows overlap
}

TEST(BlasMatrix, StridesOfSingleElementsDoNotMatter) {
  EXPECT_EQ(blas_matrix(1, 5, 0, 1)->leading, 5);
  EXPECT_FALSE(blas_matrix(1, 5, 0, 1)->transposed);
  EXPECT_EQ(blas_matrix(5, 1, 3, -9)->leading, 3);
  EXPECT_TRUE(blas_matrix(1, 5, 1, 3)->transposed);  // a row with gaps: a column's transpose
  EXPECT_EQ(blas_matrix(1, 5, 1, 3)->leading, 3);
  EXPECT_TRUE(blas_matrix(1, 1, -2, -2));
}

TEST(Rivals, UnknownNameIsCorrected) {
  const auto rival = load_rival("openblass", 1);
  ASSERT_FALSE(rival);
  EXPECT_EQ(rival.error().kind, ErrorKind::invalid_argument);
  EXPECT_THAT(rival.error().text, HasSubstr("did you mean \"openblas\""));
}

template <class T>
class Problem {
 public:
  Problem(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k, bool lhs_transposed,
          bool rhs_transposed)
      : a_(static_cast<std::size_t>(batch * m * k)),
        b_(static_cast<std::size_t>(batch * k * n)),
        c_(static_cast<std::size_t>(batch * m * n), T(-1)) {
    for (std::size_t i = 0; i < a_.size(); ++i) a_[i] = static_cast<T>(i % 7) - 2;
    for (std::size_t i = 0; i < b_.size(); ++i) b_[i] = static_cast<T>(i % 5) - 1;
    args_.a_type = args_.b_type = args_.c_type = dtype_of<T>;
    args_.family = sizeof(T) == 4 ? TypeFamily::f32 : TypeFamily::f64;
    args_.m = m, args_.n = n, args_.k = k;
    args_.a = a_.data(), args_.b = b_.data(), args_.c = c_.data();
    args_.a_row = lhs_transposed ? 1 : k, args_.a_col = lhs_transposed ? m : 1;
    args_.b_row = rhs_transposed ? 1 : n, args_.b_col = rhs_transposed ? k : 1;
    args_.c_row = n, args_.c_col = 1;
    args_.batch = batch, args_.batch_rank = 1, args_.batch_extent[0] = batch;
    args_.a_batch[0] = m * k, args_.b_batch[0] = k * n, args_.c_batch[0] = m * n;
  }

  const GemmArgs& args() const { return args_; }

  // Small whole numbers: every order of summing gives exactly this.
  void expect_right() const {
    for (std::int64_t x = 0; x < args_.batch; ++x) {
      for (std::int64_t i = 0; i < args_.m; ++i) {
        for (std::int64_t j = 0; j < args_.n; ++j) {
          T sum = 0;
          for (std::int64_t p = 0; p < args_.k; ++p) {
            sum += at(a_, x * args_.a_batch[0] + i * args_.a_row + p * args_.a_col) *
                   at(b_, x * args_.b_batch[0] + p * args_.b_row + j * args_.b_col);
          }
          ASSERT_EQ(at(c_, x * args_.c_batch[0] + i * args_.c_row + j), sum);
        }
      }
    }
  }

 private:
  static T at(const std::vector<T>& values, std::int64_t i) {
    return values[static_cast<std::size_t>(i)];
  }
  std::vector<T> a_, b_, c_;
  GemmArgs args_;
};

class EveryRival : public testing::TestWithParam<std::string_view> {
 protected:
  void SetUp() override {
    auto rival = load_rival(GetParam(), 2);
    if (!rival) {
      EXPECT_EQ(rival.error().kind, ErrorKind::not_found);
      EXPECT_THAT(rival.error().text, HasSubstr("apt-get install"));
      GTEST_SKIP() << rival.error().text;
    }
    rival_ = *std::move(rival);
  }
  template <class T>
  void expect_right_or_unsupported() {
    for (const bool lhs_transposed : {false, true}) {
      for (const bool rhs_transposed : {false, true}) {
        const Problem<T> problem(3, 17, 9, 33, lhs_transposed, rhs_transposed);
        const Status done = rival_.run(problem.args());
        if (!done) {
          EXPECT_EQ(done.error().kind, ErrorKind::unsupported) << done.error().text;
          continue;
        }
        problem.expect_right();
      }
    }
  }
  Rival rival_;
};

TEST_P(EveryRival, SaysItsVersion) { EXPECT_FALSE(rival_.version.empty()); }
TEST_P(EveryRival, F32) {
  expect_right_or_unsupported<float>();
  const Problem<float> one(1, 64, 64, 64, false, false);
  EXPECT_TRUE(rival_.run(one.args()));
}
TEST_P(EveryRival, F64) { expect_right_or_unsupported<double>(); }

TEST_P(EveryRival, RefusesStrangeStrides) {
  const Problem<float> problem(1, 4, 4, 4, false, false);
  GemmArgs args = problem.args();
  args.b_col = 0;
  const Status done = rival_.run(args);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::unsupported);
}

INSTANTIATE_TEST_SUITE_P(All, EveryRival,
                         testing::ValuesIn(rival_names().begin(), rival_names().end()),
                         [](const auto& rival) { return std::string(rival.param); });

}  // namespace
}  // namespace rooftune
