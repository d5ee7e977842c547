// Trigger: sizes just off a kernel's tile are silently wrong or give NaN. Right: every remainder
// is right, for every candidate.
#include "issue_testing.h"

namespace rooftune::testing {
namespace {

class Fuser3963 : public IssueTest {};

// Tiles here are 4 to 24 rows by 1 to 4 vectors of 4 to 16 numbers; one above and one below each
// of their multiples is in these lists.
TEST_F(Fuser3963, EveryCandidateOnEveryRemainder) {
  auto session = open();
  for (const std::string& name : session->matmul_candidates()) {
    MatmulOptions options;
    options.strategy = Strategy::named;
    options.candidate = name;
    int ran = 0;
    bool others = false;
    for (const std::int64_t m : {1, 3, 5, 7, 9, 13, 15, 23, 25, 29, 49}) {
      for (const std::int64_t n : {1, 3, 5, 9, 15, 17, 31, 33, 47, 49, 63, 65}) {
        for (const std::int64_t k : {1, 2, 5, 33}) {
          const DType dtype = (m + n + k) % 2 == 0 ? DType::f32 : DType::f64;
          const std::string wrong = run_product(*session, m, n, k, dtype, options);
          if (wrong.find("cannot run this") != std::string::npos) {
            others = others || is_for_other_products(wrong);
            continue;
          }
          ASSERT_EQ(wrong, "") << name;
          ++ran;
        }
      }
    }
    EXPECT_TRUE(ran > 0 || others) << name;
  }
}

TEST_F(Fuser3963, TheReportedSizes) {
  auto session = open();
  for (const DType dtype : {DType::f32, DType::f64}) {
    EXPECT_EQ(run_product(*session, 5, 2, 1, dtype), "");
    EXPECT_EQ(run_product(*session, 16, 8, 40, dtype), "");
  }
  constexpr std::int64_t m = 1752, n = 4720, k = 584;
  const Operand lhs = Operand::make(DType::f32, {m, k}, 1), rhs = Operand::make(DType::f32, {k, n});
  const Operand out = Operand::make(DType::f32, {m, n}).fill(NAN);
  ASSERT_TRUE(session->matmul(lhs.view, rhs.view, out.view));
  for (const std::int64_t row : {std::int64_t{0}, m / 2, m - 20}) {
    const View part = lhs.view.sliced(0, row, row + 20), to = out.view.sliced(0, row, row + 20);
    EXPECT_EQ(difference(part, rhs.view, to, reference(part, rhs.view, to)), "") << row;
  }
  for (std::int64_t i = 0; i < m * n; ++i) ASSERT_FALSE(std::isnan(out.flat(i))) << i;
}

}  // namespace
}  // namespace rooftune::testing
