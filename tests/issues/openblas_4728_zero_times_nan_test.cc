// Trigger: zeros are skipped to save time, so that 0 * NaN and 0 * Inf are 0 in one order of the
// arguments and NaN in the other. Right: NaN in both, for every shape and candidate.
#include "issue_testing.h"

namespace rooftune::testing {
namespace {

class OpenBlas4728 : public IssueTest {
 protected:
  // The reference multiplies everything, in f64.
  static std::string zeros_and(Session& session, std::int64_t m, std::int64_t n, std::int64_t k,
                               DType dtype, const MatmulOptions& options = {}) {
    for (const bool swapped : {false, true}) {
      const Operand lhs = Operand::make(dtype, {m, k}).fill(0);
      const Operand rhs = Operand::make(dtype, {k, n}).fill(0);
      const Operand& other = swapped ? lhs : rhs;
      const std::int64_t last = other.view.layout.elements() - 1;
      other.set_flat(0, INFINITY);
      other.set_flat(last, NAN);
      const Operand out = Operand::make(dtype, {m, n}, 3);
      std::string wrong = run_product(session, lhs, rhs, out, options);
      if (!wrong.empty()) return wrong;
      if (!std::isnan(out.flat(0)) || !std::isnan(out.flat(m * n - 1))) return "not NaN";
    }
    return "";
  }
};

constexpr std::array<std::array<std::int64_t, 3>, 8> kSizes = {{{1, 1, 1},
                                                                {1, 50, 40},
                                                                {50, 1, 40},
                                                                {1, 1, 300},
                                                                {20, 30, 1},
                                                                {33, 35, 37},
                                                                {5, 200, 64},
                                                                {200, 6, 64}}};

TEST_F(OpenBlas4728, Tuned) {
  auto session = open();
  for (const auto& [m, n, k] : kSizes) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      for (int call = 0; call < 2; ++call) EXPECT_EQ(zeros_and(*session, m, n, k, dtype), "");
    }
  }
}

TEST_F(OpenBlas4728, EveryCandidate) {
  auto session = open();
  for (const std::string& name : session->matmul_candidates()) {
    MatmulOptions options;
    options.strategy = Strategy::named;
    options.candidate = name;
    for (const auto& [m, n, k] : kSizes) {
      const std::string wrong = zeros_and(*session, m, n, k, DType::f32, options);
      if (wrong.find("cannot run this") != std::string::npos) continue;
      EXPECT_EQ(wrong, "") << name << " " << m << " " << n << " " << k;
    }
  }
}

}  // namespace
}  // namespace rooftune::testing
