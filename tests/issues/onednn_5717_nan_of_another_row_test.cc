// Trigger: a NaN in one row turns up in rows that hold none, when k is not a multiple of the tile.
// Right: row i of the result depends on row i of lhs only, column j on column j of rhs only.
#include "issue_testing.h"

namespace rooftune::testing {
namespace {

class OneDnn5717 : public IssueTest {
 protected:
  // One row of lhs (or column of rhs) is poisoned; every other one of the result is as without.
  void poison(Session& session, std::int64_t m, std::int64_t n, std::int64_t k, double with,
              const MatmulOptions& options = {}) {
    const Operand lhs = Operand::make(DType::f32, {m, k}, 1),
                  rhs = Operand::make(DType::f32, {k, n}, 2),
                  out = Operand::make(DType::f32, {m, n}, 3);
    const auto clean = reference(lhs.view, rhs.view, out.view);
    for (const std::int64_t row : {std::int64_t{0}, m / 2, m - 1}) {
      const Operand bad = Operand::make(DType::f32, {m, k}, 1);
      for (std::int64_t p = 0; p < k; ++p) bad.set_flat(row * k + p, with);
      if (!run(session, bad, rhs, out, options)) return;
      for (std::int64_t at = 0; at < m * n; ++at) {
        if (at / n == row) continue;
        ASSERT_EQ(out.flat(at), clean[std::size_t(at)]) << "row " << row << " element " << at;
      }
    }
    for (const std::int64_t column : {std::int64_t{0}, n / 2, n - 1}) {
      const Operand bad = Operand::make(DType::f32, {k, n}, 2);
      for (std::int64_t p = 0; p < k; ++p) bad.set_flat(p * n + column, with);
      if (!run(session, lhs, bad, out, options)) return;
      for (std::int64_t at = 0; at < m * n; ++at) {
        if (at % n == column) continue;
        ASSERT_EQ(out.flat(at), clean[std::size_t(at)]) << "column " << column << " element " << at;
      }
    }
  }

 private:
  static bool run(Session& session, const Operand& lhs, const Operand& rhs, const Operand& out,
                  const MatmulOptions& options) {
    out.fill(7);
    const Status done = session.matmul(lhs.view, rhs.view, out.view, options);
    if (!done && done.error().kind == ErrorKind::illegal) return false;
    EXPECT_TRUE(done) << done.error().text;
    return done.has_value();
  }
};

TEST_F(OneDnn5717, Tuned) {
  auto session = open();
  for (const std::int64_t k : {1, 31, 33, 47, 63, 65}) {
    for (const auto& [m, n] : {std::pair{30, 45}, {1, 40}, {40, 1}, {6, 130}}) {
      poison(*session, m, n, k, NAN);
      poison(*session, m, n, k, -INFINITY);
    }
  }
}

TEST_F(OneDnn5717, EveryCandidate) {
  auto session = open();
  for (const std::string& name : session->matmul_candidates()) {
    SCOPED_TRACE(name);
    MatmulOptions options;
    options.strategy = Strategy::named;
    options.candidate = name;
    for (const std::int64_t k : {1, 33, 47, 65}) {
      for (const auto& [m, n] : {std::pair{31, 29}, {1, 40}, {40, 1}}) {
        poison(*session, m, n, k, NAN, options);
        poison(*session, m, n, k, INFINITY, options);
      }
    }
  }
}

}  // namespace
}  // namespace rooftune::testing
