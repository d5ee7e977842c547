// Trigger: the limit of tuning time is ignored by the first pass over the candidates, so that long
// products tune for minutes. Right: the limit holds within one sample, and the result says that it
// is partial.
#include "issue_testing.h"

namespace rooftune::testing {
namespace {

// About 60 ms a launch on one thread of a present-day processor, so that each budget below ends
// the search in its first pass.
constexpr std::int64_t kSize = 1536;

class PyTorch190433 : public IssueTest {
 protected:
  Status multiply(Session& session) {
    report_ = {};
    MatmulOptions options;
    options.report = &report_;
    return session.matmul(lhs_.view, rhs_.view, out_.view, options);
  }
  void expect_right() {
    const View part = lhs_.view.sliced(0, 700, 705), to = out_.view.sliced(0, 700, 705);
    EXPECT_EQ(difference(part, rhs_.view, to, reference(part, rhs_.view, to)), "");
  }
  // The longest a launch took by the record, and how many were made.
  static double longest(const Decision& decision) {
    double longest = 0;
    for (const CandidateEvidence& candidate : decision.candidates) {
      for (const double sample : candidate.samples) longest = std::max(longest, sample);
    }
    return longest;
  }

  Operand lhs_ = Operand::make(DType::f32, {kSize, kSize}, 1);
  Operand rhs_ = Operand::make(DType::f32, {kSize, kSize}, 2);
  Operand out_ = Operand::make(DType::f32, {kSize, kSize}, 3);
  CallReport report_;
};

TEST_F(PyTorch190433, ABudgetEndsTheSearch) {
  for (const double budget : {0.0, 0.02}) {
    Settings settings = default_settings();
    settings.threads = 1;
    settings.environment = budget == 0 ? "./none" : "./little";
    settings.autotune.level = Level::full;  // no limit ends the search before
    settings.autotune.budget_s = budget;
    auto session = open(settings);
    ASSERT_TRUE(multiply(*session));
    expect_right();
    const auto decision = session->matmul_decision(lhs_.view, rhs_.view, out_.view).value();
    ASSERT_TRUE(decision);
    EXPECT_TRUE(decision->partial);
    EXPECT_EQ(decision->budget_s, budget);
    // One launch more than the budget has room for.
    EXPECT_LE(double(decision->cost.launches) - 1, budget / longest(*decision) + 1)
        << decision->cost.launches << " launches of up to " << longest(*decision) << " s";
  }
}

// In the time of a device of its own, which nothing else that the machine does can move.
TEST_F(PyTorch190433, ABudgetHoldsWithinOneSample) {
  constexpr std::int64_t kSmall = 128;  // some 10 us each
  const auto part = [](const View& view) { return view.sliced(0, 0, kSmall).sliced(1, 0, kSmall); };
  int environment = 0;
  for (const double budget : {0.0, 20e-6, 2e-3}) {
    Settings settings = default_settings();
    settings.device = "fake";
    settings.environment = "./fake" + std::to_string(environment++);
    settings.autotune.level = Level::full;
    settings.autotune.budget_s = budget;
    auto session = open(settings);
    const View lhs = part(lhs_.view), rhs = part(rhs_.view), out = part(out_.view);
    ASSERT_TRUE(session->matmul(lhs, rhs, out));
    const auto decision = session->matmul_decision(lhs, rhs, out).value();
    ASSERT_TRUE(decision);
    EXPECT_TRUE(decision->partial);
    // A sample is a launch that is checked and a row of one.
    EXPECT_LE(decision->cost.measure_s, budget + 2.1 * longest(*decision));
  }
}

// Every later call adds to what is known; in the end the search is complete and ends.
TEST_F(PyTorch190433, LaterCallsGoOnWhereItEnded) {
  Settings settings = default_settings();
  settings.threads = 1;
  settings.autotune.level = Level::full;
  settings.autotune.budget_s = 0.05;
  settings.autotune.max_samples = 3;
  settings.autotune.background = 0;  // it would go on beside the calls, where they earn enough
  auto session = open(settings);
  std::size_t known = 0;
  bool partial = true;
  int calls = 0;
  while (partial && calls < 100) {
    ASSERT_TRUE(multiply(*session));
    ++calls;
    const auto decision = session->matmul_decision(lhs_.view, rhs_.view, out_.view).value();
    ASSERT_TRUE(decision);
    std::size_t samples = 0;
    for (const CandidateEvidence& candidate : decision->candidates) {
      samples += candidate.samples.size();
    }
    EXPECT_GE(samples, known) << "what was measured before is kept";
    known = samples;
    partial = decision->partial;
  }
  EXPECT_FALSE(partial) << calls << " calls and no end";
  expect_right();
  ASSERT_TRUE(multiply(*session));
  EXPECT_FALSE(report_.tuned);
}

}  // namespace
}  // namespace rooftune::testing
