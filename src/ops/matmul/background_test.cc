// Measuring beyond a decision, through Session::matmul and what it remembers between calls.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "base/temp_folder_for_test.h"
#include "rooftune/rooftune.h"

namespace rooftune {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;

// Both share a key (33 to 64 rows do); their parts differ.
constexpr std::int64_t kHome = 64, kOther = 48, kN = 64, kK = 64;

class MatmulBackground : public testing::Test {
 protected:
  void open(double share) {
    Settings settings;
    settings.environment = "local";
    settings.autotune.background = share;
    auto session = Session::open({.settings = settings, .folders = {temp_.path(), temp_.path()}});
    ASSERT_TRUE(session) << session.error().text;
    session_ = *std::move(session);
    session_->set_subscriber(&counters_);
    std::mt19937 random(3);
    for (auto* values : {&a_, &b_}) {
      for (float& value : *values) value = float(int(random() % 9) - 4);
    }
  }
  void TearDown() override {
    if (session_ != nullptr) session_->set_subscriber(nullptr);
  }

  Status call(std::int64_t m, CallReport* report = nullptr) {
    return session_->matmul(view(a_.data(), {m, kK}), view(b_.data(), {kK, kN}),
                            view(c_.data(), {m, kN}), {.report = report});
  }
  std::optional<Decision> decision(std::int64_t m) {
    const auto found = session_->matmul_decision(
        view(a_.data(), {m, kK}), view(b_.data(), {kK, kN}), view(c_.data(), {m, kN}));
    EXPECT_TRUE(found);
    return found ? *found : std::nullopt;
  }
  // Small whole numbers: every right result is exact.
  void expect_right(std::int64_t m) const {
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < kN; ++j) {
        float sum = 0;
        for (std::int64_t p = 0; p < kK; ++p) {
          sum += a_[std::size_t(i * kK + p)] * b_[std::size_t(p * kN + j)];
        }
        ASSERT_EQ(c_[std::size_t(i * kN + j)], sum) << m << ": " << i << ", " << j;
      }
    }
  }

  TempFolder temp_;
  Counters counters_;
  std::unique_ptr<Session> session_;
  std::vector<float> a_ = std::vector<float>(kHome * kK), b_ = std::vector<float>(kK * kN),
                     c_ = std::vector<float>(kHome * kN);
};

TEST_F(MatmulBackground, APartThatIsCalledOftenIsLookedAt) {
  open(1);
  ASSERT_TRUE(call(kHome));
  const auto first = decision(kHome);
  ASSERT_TRUE(first);
  EXPECT_THAT(first->part_text, Not(IsEmpty()));
  CallReport report;
  ASSERT_TRUE(call(kOther, &report));
  ASSERT_FALSE(report.tuned) << "the key is the same";
  const auto searched = counters_.total("measure");
  int calls = 0;
  // Some seconds of calls, where the machine is very busy; some milliseconds else.
  for (; calls < 2'000'000 && counters_.total("measure") == searched; ++calls) {
    c_.assign(c_.size(), -1);
    ASSERT_TRUE(call(kOther, &report));
    ASSERT_FALSE(report.tuned);
    if (calls % 100 == 0) expect_right(kOther);
  }
  EXPECT_GT(counters_.total("measure"), searched) << calls;
  expect_right(kOther);
  const auto other = decision(kOther);
  ASSERT_TRUE(other);
  ASSERT_TRUE(call(kOther, &report));
  expect_right(kOther);
  EXPECT_EQ(report.candidate, other->winner);
  if (other->apart) {
    EXPECT_NE(other->winner, decision(kHome)->winner);
    EXPECT_NE(other->part_text, first->part_text);
  } else {
    EXPECT_EQ(other->winner, decision(kHome)->winner);
  }
}

TEST_F(MatmulBackground, NothingIsMeasuredWithoutAShare) {
  open(0);
  ASSERT_TRUE(call(kHome));
  const auto searched = counters_.total("measure");
  for (int i = 0; i < 20'000; ++i) ASSERT_TRUE(call(i % 2 == 0 ? kHome : kOther));
  EXPECT_EQ(counters_.total("measure"), searched);
}

}  // namespace
}  // namespace rooftune
