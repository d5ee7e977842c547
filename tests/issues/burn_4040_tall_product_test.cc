// Trigger: a tall product (262144 x 64 x 256, rhs transposed) for which every candidate is filtered
// out, or one skipped entry ends the search. Right: there is always a fallback, and the search
// goes on past what is refused.
#include "issue_testing.h"

namespace rooftune::testing {
namespace {

class Burn4040 : public IssueTest {
 protected:
  // The whole product takes a reference minutes: rows from the beginning, middle and end.
  void tall(DType dtype, std::int64_t m) {
    constexpr std::int64_t n = 64, k = 256;
    auto session = open();
    const Operand lhs = Operand::make(dtype, {m, k}, 1);
    const Operand rhs = Operand::make(dtype, {n, k}, 2).transposed();
    const Operand out = Operand::make(dtype, {m, n}, 3);
    for (int call = 0; call < 2; ++call) {
      out.fill(7);
      const Status done = session->matmul(lhs.view, rhs.view, out.view);
      ASSERT_TRUE(done) << done.error().text;
      for (const std::int64_t row : {std::int64_t{0}, m / 2 - 13, m - 37}) {
        const View part = lhs.view.sliced(0, row, row + 37), to = out.view.sliced(0, row, row + 37);
        EXPECT_EQ(difference(part, rhs.view, to, reference(part, rhs.view, to)), "") << row;
      }
    }
    const auto decision = session->matmul_decision(lhs.view, rhs.view, out.view).value();
    ASSERT_TRUE(decision);
    const auto found = decision->find(decision->winner);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->verdict, Verdict::winner);
  }
};

TEST_F(Burn4040, F32) { tall(DType::f32, 262144); }
// A quarter of the rows: the same kernels at a quarter of the time.
TEST_F(Burn4040, F64) { tall(DType::f64, 65536); }

// Whatever else is refused, the first candidate and the untuned choice take the problem.
TEST_F(Burn4040, TheFallbackTakesEveryLayout) {
  auto session = open();
  const std::string fallback = session->matmul_candidates().front();
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (int layout = 0; layout < 4; ++layout) {
      const Operand lhs = layout & 1 ? Operand::make(dtype, {33, 1024}, 1).transposed()
                                     : Operand::make(dtype, {1024, 33}, 1);
      const Operand rhs = layout & 2 ? Operand::make(dtype, {17, 33}, 2).transposed()
                                     : Operand::make(dtype, {33, 17}, 2);
      const Operand out = Operand::make(dtype, {1024, 17}, 3);
      MatmulOptions options;
      options.strategy = Strategy::named;
      options.candidate = fallback;
      EXPECT_EQ(run_product(*session, lhs, rhs, out, options), "");
      options.strategy = Strategy::untuned;
      EXPECT_EQ(run_product(*session, lhs, rhs, out, options), "");
    }
  }
}

}  // namespace
}  // namespace rooftune::testing
