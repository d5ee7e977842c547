// Session::sum, from the call to the remembered decision.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "ops/reduce/cpu/candidates.h"
#include "ops/reduce/sum_for_test.h"
#include "ops/reduce/sum_set.h"
#include "rooftune/session.h"
#include "rooftune/tuner.h"

namespace rooftune {
namespace {

using testing::HasSubstr;

std::unique_ptr<Session> open(const std::string& device, std::int64_t threads = 2) {
  Settings settings;
  settings.autotune.cache = false;
  settings.threads = threads;
  auto session = Session::open({.device = device, .settings = settings});
  EXPECT_TRUE(session) << session.error().text;
  return *std::move(session);
}

class SumOnADevice : public testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Session> session_ = open(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Devices, SumOnADevice, testing::Values("cpu", "fake"));

TEST_P(SumOnADevice, EverySetOfAxesIsRightBeforeAndAfterTuning) {
  const Layout in = make_layout({5, 6, 7}, dense(3));
  std::vector<double> values(210);
  std::iota(values.begin(), values.end(), -100.0);
  for (unsigned axes = 0; axes < 8; ++axes) {
    const std::vector<std::int64_t> shape = summed_shape(in, axes, false);
    const std::vector<double> expected = reference_sum(values.data(), in, axes);
    for (const Origin origin : {Origin::measured, Origin::memory}) {
      std::vector<double> out(expected.size(), 9);
      CallReport report;
      const Status done =
          session_->sum({values.data(), DType::f64, in},
                        {out.data(), DType::f64, make_layout(shape, dense(shape.size()))},
                        axes_of_mask(axes), {.report = &report});
      ASSERT_TRUE(done) << done.error().text;
      EXPECT_EQ(out, expected) << axes;
      EXPECT_EQ(report.origin, origin) << report.candidate;
    }
  }
}

TEST_P(SumOnADevice, SumsOfNothingAreZeroAndNeverTuned) {
  std::vector<float> out(12, 7);
  CallReport report;
  const std::vector<int> axes = {1};
  const ConstView none{nullptr, DType::f32, make_layout({3, 0}, dense(2))};
  View apart{out.data() + 10, DType::f32, make_layout({3}, dense(1))};
  apart.layout.strides[0] = -4;
  ASSERT_TRUE(session_->sum(none, apart, axes, {.report = &report}));
  EXPECT_THAT(out, testing::ElementsAre(7, 7, 0, 7, 7, 7, 0, 7, 7, 7, 0, 7));
  EXPECT_FALSE(report.tuned);
  ASSERT_TRUE(session_->sum(none, view(out.data(), {3, 1}), axes));
  EXPECT_THAT(std::vector(out.begin(), out.begin() + 4), testing::ElementsAre(0, 0, 0, 7));
  const ConstView empty{nullptr, DType::f32, make_layout({0, 3}, dense(2))};
  EXPECT_TRUE(session_->sum(empty, {nullptr, DType::f32, make_layout({0}, dense(1))}, axes));
  EXPECT_TRUE(session_->decisions("sum").empty());
}

TEST_P(SumOnADevice, UntunedAndNamed) {
  std::vector<float> in(24, 0.5f), out(4);
  const std::vector<int> axes = {1};
  const auto call = [&](SumOptions options) {
    std::fill(out.begin(), out.end(), 9.0f);
    return session_->sum(view(std::as_const(in).data(), {4, 6}), view(out.data(), {4}), axes,
                         options);
  };
  CallReport report;
  ASSERT_TRUE(call({.strategy = Strategy::untuned, .report = &report}));
  EXPECT_EQ(out, std::vector<float>(4, 3.0f));
  EXPECT_EQ(report.origin, Origin::fallback);
  EXPECT_TRUE(session_->decisions("sum").empty());
  int ran = 0;
  for (const std::string& name : session_->sum_candidates()) {
    const Status done = call({.strategy = Strategy::named, .candidate = name, .report = &report});
    if (!done) {
      EXPECT_EQ(done.error().kind, ErrorKind::illegal) << done.error().text;
      continue;
    }
    ++ran;
    EXPECT_EQ(out, std::vector<float>(4, 3.0f)) << name;
    EXPECT_EQ(report.candidate, name);
    EXPECT_EQ(report.origin, Origin::forced);
  }
  EXPECT_GE(ran, 3);
  const Status unknown = call({.strategy = Strategy::named, .candidate = "no_such"});
  EXPECT_EQ(unknown.error().kind, ErrorKind::not_found);
}

TEST_P(SumOnADevice, BadCallsSayWhatIsWrong) {
  std::vector<float> in(24), out(24);
  const std::vector<int> axes = {1};
  const Status wrong =
      session_->sum(view(std::as_const(in).data(), {4, 6}), view(out.data(), {6}), axes);
  EXPECT_EQ(wrong.error().kind, ErrorKind::shape_mismatch);
  EXPECT_THAT(wrong.error().text, HasSubstr("[4, 6]"));
}

TEST(SumOnTheCpu, EveryCandidateOfThisMachineIsThereWithAVersionOfItsOwn) {
  const auto session = open("cpu");
  TunableSet<SumKey, SumArgs> set(session->client());
  describe_sum(set);
  ASSERT_GE(set.size(), 4u);
  EXPECT_EQ(set.name(0), "naive");
  std::set<std::string> sources;
  for (std::size_t i = 0; i < set.size(); ++i) {
    EXPECT_FALSE(set.version(i).empty()) << set.name(i);
    sources.insert(set.version(i));
    EXPECT_TRUE(set.prepare(i, SumArgs()));
  }
  EXPECT_GE(sources.size(), 7u);  // one a file
}

// The tuner decides by measuring, so only what must hold on every machine is asked for here.
TEST(SumOnTheCpu, TheDecisionIsVerifiedAndTellsItsBound) {
  const auto session = open("cpu");
  std::vector<float> in(300 * 400), out(300);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = std::sin(static_cast<float>(i));
  const std::vector<int> axes = {1};
  ASSERT_TRUE(
      session->sum(view(std::as_const(in).data(), {300, 400}), view(out.data(), {300}), axes));
  const auto decisions = session->decisions("sum");
  ASSERT_EQ(decisions.size(), 1u);
  const Decision& decision = decisions.front();
  ASSERT_FALSE(decision.ranking.empty());
  for (const CandidateEvidence& candidate : decision.candidates) {
    EXPECT_NE(candidate.verdict, Verdict::wrong) << candidate.name << " " << candidate.reason;
    if (candidate.verdict == Verdict::winner) {
      EXPECT_TRUE(candidate.verified);
    }
  }
  EXPECT_EQ(decision.bound->ops, 300 * 400);
  EXPECT_EQ(decision.bound->bytes, (300 * 400 + 300) * 4);
}

TEST(SumOnTheCpu, InputsFullOfNanAreTunedAndSummed) {
  const auto session = open("cpu");
  std::vector<float> in(300 * 40, std::numeric_limits<float>::quiet_NaN()), out(300);
  const std::vector<int> axes = {1};
  CallReport report;
  ASSERT_TRUE(session->sum(view(std::as_const(in).data(), {300, 40}), view(out.data(), {300}), axes,
                           {.report = &report}));
  EXPECT_EQ(report.origin, Origin::measured);
  EXPECT_TRUE(std::all_of(out.begin(), out.end(), [](float x) { return std::isnan(x); }));
}

TEST_P(SumOnADevice, CallsThatAreSamplesAreRightAndComeToADecision) {
  Settings settings;
  settings.autotune.cache = false;
  settings.autotune.mode = Mode::online;
  settings.threads = 2;
  auto session = Session::open({.device = GetParam(), .settings = settings});
  ASSERT_TRUE(session) << session.error().text;
  const Layout in = make_layout({24, 96}, dense(2));
  std::vector<float> values(24 * 96);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = float(i % 17) - 7.5f;
  for (const unsigned axes : {1u, 2u}) {
    const std::vector<double> right = reference_sum(values.data(), in, axes);
    const Layout out = make_layout(summed_shape(in, axes, false), dense(1));
    CallReport report;
    const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (report.origin != Origin::memory && std::chrono::steady_clock::now() < until) {
      std::vector<float> sums(right.size(), -1);
      const Status done =
          (*session)->sum({values.data(), DType::f32, in}, {sums.data(), DType::f32, out},
                          axes_of_mask(axes), {.report = &report});
      ASSERT_TRUE(done) << done.error().text;
      // Halves are exact.
      for (std::size_t i = 0; i < right.size(); ++i) ASSERT_EQ(sums[i], right[i]);
    }
    EXPECT_EQ(report.origin, Origin::memory);
  }
  for (const Decision& decision : (*session)->decisions("sum")) {
    EXPECT_EQ(decision.mode, Mode::online);
    EXPECT_EQ(decision.not_online, "");
    EXPECT_TRUE(decision.verified) << decision.winner;
  }
}

}  // namespace
}  // namespace rooftune
