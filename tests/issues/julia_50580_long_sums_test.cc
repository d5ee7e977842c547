// Trigger: a long sum of ones stands still at the last whole number that the type counts to.
// Right: exact, through sums in blocks, on one thread and on several.
#include "issue_testing.h"

namespace rooftune::testing {
namespace {

constexpr std::int64_t kOnes = 20'000'000;  // f32 counts to 16777216

class Julia50580 : public IssueTest {};

TEST_F(Julia50580, TwentyMillionOnes) {
  const Operand ones = Operand::make(DType::f32, {1, kOnes}).fill(1);
  View column = ones.view;
  column.layout = Layout::contiguous(std::vector<std::int64_t>{kOnes, 1}).value();
  for (const int threads : {1, 2}) {
    Settings settings = default_settings();
    settings.threads = threads;
    auto session = open(settings);
    // Tuned, and by the fallback; each candidate alone: src/ops/matmul/cpu/kernels_test.cc.
    const std::string names[] = {"", session->matmul_candidates().front()};
    for (const std::string& name : names) {
      MatmulOptions options;
      if (!name.empty()) {
        options.strategy = Strategy::named;
        options.candidate = name;
      }
      const Operand out = Operand::make(DType::f32, {1, 1}).fill(7);
      const Status done = session->matmul(ones.view, column, out.view, options);
      ASSERT_TRUE(done) << done.error().text;
      EXPECT_EQ(out.flat(0), double(kOnes)) << name << " on " << threads;
    }
  }
}

// The same sum as part of larger results, from one number in memory.
TEST_F(Julia50580, OnesInEveryRow) {
  auto session = open();
  const Operand one = Operand::make(DType::f32, {1, 1}).fill(1);
  for (const auto& [m, n] : {std::pair{1, 1}, {3, 2}}) {
    const Operand lhs = one.repeated(0, m).repeated(1, kOnes),
                  rhs = one.repeated(0, kOnes).repeated(1, n);
    const Operand out = Operand::make(DType::f32, {m, n}).fill(7);
    const Status done = session->matmul(lhs.view, rhs.view, out.view);
    ASSERT_TRUE(done) << done.error().text;
    for (std::int64_t i = 0; i < m * n; ++i) EXPECT_EQ(out.flat(i), double(kOnes));
  }
}

}  // namespace
}  // namespace rooftune::testing
