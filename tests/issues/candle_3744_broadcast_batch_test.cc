// Trigger: lhs is a batch-broadcast view and rhs has a real batch; the batch is folded the wrong
// way and most of the output stays as it was. Right: the same as with a materialised copy.
#include "issue_testing.h"

namespace rooftune::testing {
namespace {

class Candle3744 : public IssueTest {
 protected:
  static Operand make(std::vector<std::int64_t> extents, unsigned seed) {
    return Operand::make(DType::f32, extents, seed);
  }
};

TEST_F(Candle3744, EitherSideAndBoth) {
  auto session = open();
  for (const std::int64_t m : {1, 5, 32}) {
    for (const std::int64_t n : {1, 7, 32}) {
      for (const std::int64_t k : {1, 32}) {
        const Operand lhs = make({32, m, k}, 1), rhs = make({32, k, n}, 2);
        const Operand one_lhs = make({1, m, k}, 3).repeated(0, 32);
        const Operand one_rhs = make({1, k, n}, 4).repeated(0, 32);
        for (int call = 0; call < 2; ++call) {
          EXPECT_EQ(run_product(*session, one_lhs, rhs, make({32, m, n}, 5).fill(7)), "");
          EXPECT_EQ(run_product(*session, lhs, one_rhs, make({32, m, n}, 5).fill(7)), "");
          EXPECT_EQ(run_product(*session, one_lhs, one_rhs, make({32, m, n}, 5).fill(7)), "");
        }
      }
    }
  }
}

// An extent of 1, no axis at all, and a stride of 0 mean the same.
TEST_F(Candle3744, HoweverItIsSaid) {
  auto session = open();
  const Operand rhs = make({6, 9, 10}, 2), matrix = make({8, 9}, 1);
  EXPECT_EQ(run_product(*session, matrix, rhs, make({6, 8, 10}, 3)), "");
  EXPECT_EQ(run_product(*session, matrix.with_rank(3), rhs, make({6, 8, 10}, 3)), "");
  EXPECT_EQ(run_product(*session, matrix.with_rank(3).repeated(0, 6), rhs, make({6, 8, 10}, 3)),
            "");
  EXPECT_EQ(run_product(*session, matrix.with_rank(4), rhs, make({1, 6, 8, 10}, 3)), "");
}

// Two and three batch axes of which any may be broadcast, on each side.
TEST_F(Candle3744, InTheMiddle) {
  Settings settings = default_settings();
  settings.autotune.max_samples = 3;
  auto session = open(settings);
  for (int which = 0; which < 64; ++which) {
    std::vector<std::int64_t> extents{2, 3, 4};
    std::vector<std::int64_t> of_lhs{2, 3, 4, 5, 6}, of_rhs{2, 3, 4, 6, 7}, of_out{2, 3, 4, 5, 7};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (which >> axis & 1) of_lhs[axis] = 1;
      if (which >> (3 + axis) & 1) of_rhs[axis] = 1;
      if (of_lhs[axis] == 1 && of_rhs[axis] == 1) of_out[axis] = 1;
    }
    Operand lhs = make(of_lhs, 1), rhs = make(of_rhs, 2);
    ASSERT_EQ(run_product(*session, lhs, rhs, make(of_out, 3).fill(7)), "") << which;
    // The same as views with a stride of 0.
    for (int axis = 0; axis < 3; ++axis) {
      const auto at = std::size_t(axis);
      if (of_out[at] == 1) of_out[at] = extents[at];
      if (of_lhs[at] == 1) lhs = lhs.repeated(axis, extents[at]);
      if (of_rhs[at] == 1) rhs = rhs.repeated(axis, extents[at]);
    }
    ASSERT_EQ(run_product(*session, lhs, rhs, make(of_out, 3).fill(7)), "") << which;
  }
}

// Rows or columns that are all one row or column.
TEST_F(Candle3744, InsideTheMatrix) {
  auto session = open();
  for (const std::int64_t size : {3, 40}) {
    const Operand row = make({1, size}, 1).repeated(0, size);
    const Operand column = make({size, 1}, 2).repeated(1, size);
    const Operand one = make({1, 1}, 3).repeated(0, size).repeated(1, size);
    const Operand full = make({size, size}, 4);
    for (const Operand& lhs : {row, column, one, full}) {
      for (const Operand& rhs : {row, column, one, full}) {
        EXPECT_EQ(run_product(*session, lhs, rhs, make({size, size}, 5)), "");
      }
    }
  }
}

// An output that is broadcast would be written twice.
TEST_F(Candle3744, NotTheOutput) {
  auto session = open();
  const Status done = session->matmul(make({4, 2, 3}, 1).view, make({4, 3, 5}, 2).view,
                                      make({1, 2, 5}, 3).repeated(0, 4).view);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::overlap);
}

}  // namespace
}  // namespace rooftune::testing
