// Trigger: k = 0 leaves in the output what was there, or touches the gap between rows. Right: zeros
// (or beta times the output), and the gap stays.
#include "issue_testing.h"

namespace rooftune::testing {
namespace {

class PyTorch31421 : public IssueTest {};

TEST_F(PyTorch31421, TheOutputIsOverwritten) {
  auto session = open();
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (int call = 0; call < 2; ++call) {
      EXPECT_EQ(run_product(*session, Operand::make(dtype, {1, 0}), Operand::make(dtype, {0, 5}),
                            Operand::make(dtype, {1, 5}).fill(7)),
                "");
      EXPECT_EQ(run_product(*session, Operand::make(dtype, {10, 1, 0}),
                            Operand::make(dtype, {10, 0, 43200}),
                            Operand::make(dtype, {10, 1, 43200}).fill(7)),
                "");
      EXPECT_EQ(run_product(*session, Operand::make(dtype, {0}), Operand::make(dtype, {0, 5}),
                            Operand::make(dtype, {5}).fill(NAN)),
                "");
    }
  }
  EXPECT_TRUE(session->decisions("matmul").empty());
}

TEST_F(PyTorch31421, TheGapBetweenRowsStays) {
  auto session = open();
  for (const std::int64_t k : {0, 1, 3}) {
    for (const std::int64_t n : {1, 2, 5, 16}) {
      for (const std::int64_t m : {1, 4, 9}) {
        const Operand rows = Operand::make(DType::f64, {m, n + 1}).fill(7);
        const Operand out = rows.sliced(1, 0, n);
        EXPECT_EQ(run_product(*session, Operand::make(DType::f64, {m, k}),
                              Operand::make(DType::f64, {k, n}), out),
                  "");
        for (std::int64_t i = 0; i < m; ++i) EXPECT_EQ(rows.flat(i * (n + 1) + n), 7);
      }
    }
  }
}

TEST_F(PyTorch31421, BetaCounts) {
  auto session = open();
  MatmulOptions options;
  options.beta = -2;
  EXPECT_EQ(run_product(*session, 3, 5, 0, DType::f32, options), "");
  // The operands of an empty product need no memory.
  Operand lhs = Operand::make(DType::f32, {3, 0}), rhs = Operand::make(DType::f32, {0, 5});
  lhs.view.data = rhs.view.data = nullptr;
  EXPECT_EQ(run_product(*session, lhs, rhs, Operand::make(DType::f32, {3, 5}), options), "");
}

// alpha = 0 reads neither operand; a beta of 0 does not read the output.
TEST_F(PyTorch31421, AlphaOfZero) {
  auto session = open();
  MatmulOptions options;
  options.alpha = 0;
  const Operand out = Operand::make(DType::f32, {3, 5}).fill(NAN);
  const Operand lhs = Operand::make(DType::f32, {3, 4}).fill(NAN);
  const Operand rhs = Operand::make(DType::f32, {4, 5}).fill(INFINITY);
  ASSERT_TRUE(session->matmul(lhs.view, rhs.view, out.view, options));
  for (std::int64_t i = 0; i < 15; ++i) EXPECT_EQ(out.flat(i), 0);
}

}  // namespace
}  // namespace rooftune::testing
