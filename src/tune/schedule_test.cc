#include "tune/schedule.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <utility>

namespace rooftune {
namespace {

std::vector<std::vector<double>> fresh(std::size_t n) {
  return std::vector<std::vector<double>>(n);
}

// Drives a schedule with constant times and returns the order of samples.
std::vector<std::size_t> drive(Schedule& schedule, const std::vector<double>& times,
                               std::size_t most = 1000) {
  std::vector<std::size_t> order;
  while (const auto i = schedule.next()) {
    order.push_back(*i);
    schedule.add(*i, times[*i]);
    if (order.size() > most) break;
  }
  return order;
}

TEST(Schedule, OneSampleEachPerPass) {
  Schedule schedule({}, std::nullopt, fresh(3));
  const auto order = drive(schedule, {1.0, 1.1, 1.2});
  // From the second pass on the leader also shows that the clock has not moved.
  // By then the slowest is out of the race, and the one beside the leader needs no such check.
  EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 2, 0, 1, 2, 0, 0, 1}));
  EXPECT_FALSE(schedule.short_circuit());
}

TEST(Schedule, SlowOnesAreDroppedButTwoSurvive) {
  Schedule schedule({}, std::nullopt, fresh(4));
  drive(schedule, {1.0, 2.0, 3.0, 1.6});
  EXPECT_EQ(schedule.samples(0).size(), 3u);
  EXPECT_EQ(schedule.samples(3).size(), 3u);  // 1.6 times, but the second survivor
  EXPECT_TRUE(schedule.eliminated(1));
  EXPECT_TRUE(schedule.eliminated(2));
  EXPECT_FALSE(schedule.eliminated(3));
  EXPECT_EQ(schedule.samples(1).size(), 1u);
}

TEST(Schedule, TwoSamplesAtTheLimitEndIt) {
  Schedule schedule({}, 1.0, fresh(3));
  const auto order = drive(schedule, {2.0, 1.0, 0.5});
  // The second reaches the limit, is confirmed at once, and the third is never tried.
  EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 1}));
  EXPECT_EQ(schedule.short_circuit(), 1u);
}

TEST(Schedule, AnUnconfirmedSampleDoesNotEndIt) {
  Schedule schedule({}, 1.0, fresh(2));
  ASSERT_EQ(schedule.next(), 0u);
  schedule.add(0, 0.9);
  ASSERT_EQ(schedule.next(), 0u);  // confirm
  schedule.add(0, 1.5);
  ASSERT_EQ(schedule.next(), 1u);
  schedule.add(1, 1.4);
  EXPECT_FALSE(schedule.short_circuit());
  ASSERT_EQ(schedule.next(), 1u);  // candidate 0 already has its second sample
  schedule.add(1, 1.4);
  ASSERT_EQ(schedule.next(), 0u);
  schedule.add(0, 0.95);  // the second one at the limit
  EXPECT_EQ(schedule.next(), std::nullopt);
  EXPECT_EQ(schedule.short_circuit(), 0u);
}

TEST(Schedule, AtMostMaxSamples) {
  Schedule schedule({}, std::nullopt, fresh(2));
  // Sometimes the one is faster and sometimes the other: nobody can tell.
  for (int sample = 0; const auto i = schedule.next(); ++sample) {
    schedule.add(*i, sample % 3 == 0 ? 1.0 : 1.2);
  }
  EXPECT_EQ(schedule.samples(0).size(), 10u);
  EXPECT_EQ(schedule.samples(1).size(), 10u);
}

TEST(Schedule, SamplesThatTellNothingEndWhenTheyCostMoreThanTheyAreWorth) {
  AutotuneSettings settings;
  settings.max_samples = 100;
  constexpr std::size_t kCandidates = 6;
  Schedule schedule(settings, std::nullopt, fresh(kCandidates));
  int taken = 0;
  for (; const auto i = schedule.next(); ++taken) {
    schedule.add(*i, taken % 5 == 0 ? 1.0 : 1.3);
  }
  // The last pass begins before they have cost so much.
  EXPECT_GE(taken, int(Schedule::kWorth / 1.3));
  EXPECT_LT(schedule.passes(), int(Schedule::kWorth) / int(kCandidates) + 2);
}

TEST(Schedule, NobodyHasFewerThanTheLeastSamplesWhateverTheyCost) {
  AutotuneSettings settings;
  settings.min_samples = 8;
  constexpr std::size_t kCandidates = 10;
  Schedule schedule(settings, std::nullopt, fresh(kCandidates));
  while (const auto i = schedule.next()) schedule.add(*i, 1.0);
  for (std::size_t i = 0; i < kCandidates; ++i) EXPECT_EQ(schedule.samples(i).size(), 8u);
}

TEST(Schedule, WhoIsSlowerWithConfidenceIsSampledNoMore) {
  AutotuneSettings settings;
  settings.survivors = 3;  // nobody is dropped before
  Schedule schedule(settings, std::nullopt, fresh(3));
  const std::vector<double> noise = {1.00, 1.04, 0.98, 1.02, 0.99, 1.03, 1.01, 0.98, 1.04, 1.0};
  while (const auto i = schedule.next()) {
    const std::size_t pass = schedule.samples(*i).size();
    schedule.add(*i, *i == 0 ? 1.0 : *i == 1 ? 1.1 : noise[pass % noise.size()]);
  }
  EXPECT_EQ(schedule.samples(1).size(), 3u);
  EXPECT_FALSE(schedule.eliminated(1));  // it keeps its place
  EXPECT_GT(schedule.samples(2).size(), 3u);
}

// Two passes of one pair say next to nothing of their noise, those of several rivals do.
TEST(Schedule, TheNoiseOfAllShowsEarlyWhoIsSlower) {
  const auto samples_of_slow = [](std::size_t rivals) {
    Schedule schedule({}, std::nullopt, fresh(rivals + 1));
    int taken = 0;
    while (const auto i = schedule.next()) {
      const double noise = ++taken % 2 == 0 ? 1.01 : 0.99;
      schedule.add(*i, noise * (*i == 0 ? 1.0 : 1.2));
    }
    return std::pair(schedule.samples(1).size(), schedule.eliminated(1));
  };
  EXPECT_EQ(samples_of_slow(6), std::pair(std::size_t{2}, true));
  EXPECT_EQ(samples_of_slow(1), std::pair(std::size_t{3}, false));  // always two survive
}

TEST(Schedule, LaunchesThatWereNotTimedAreSpentAsWell) {
  AutotuneSettings settings;
  settings.max_samples = 100;
  const auto passes = [&](std::uint64_t launches) {
    Schedule schedule(settings, std::nullopt, fresh(2));
    for (int taken = 0; const auto i = schedule.next(); ++taken) {
      schedule.add(*i, taken % 3 == 0 ? 1.0 : 1.3, launches);
    }
    return schedule.passes();
  };
  EXPECT_NEAR(passes(1), Schedule::kWorth / 2, 5);
  EXPECT_NEAR(passes(4), Schedule::kWorth / 8, 3);
}

// One that may be slower, by how much is unclear, need not be told from the leader: what it must
// not be is better.
TEST(Schedule, EndsWhenNobodyCanBeBetter) {
  AutotuneSettings settings;
  settings.max_samples = 100;
  Schedule schedule(settings, std::nullopt, {{}, {}});
  // The second takes 3 to 7 % more than the first, in turn.
  while (const auto i = schedule.next()) {
    const double more = schedule.samples(1).size() % 2 == 0 ? 1.03 : 1.07;
    schedule.add(*i, *i == 0 ? 1.0 : more);
  }
  EXPECT_LE(schedule.passes(), 6);
  EXPECT_GE(schedule.passes(), settings.min_samples);
}

TEST(Schedule, APassInWhichTheClockMovedIsRepeated) {
  Schedule schedule({}, std::nullopt, fresh(3));
  double clock = 1;
  int sample = 0;
  while (const auto i = schedule.next()) {
    // In the middle of the second pass the clock falls to two thirds.
    if (++sample == 5) clock = 1.5;
    schedule.add(*i, clock * (*i == 0 ? 1.0 : 1.01));
  }
  EXPECT_EQ(schedule.repeated_passes(), 1);
  for (std::size_t pass = 0; pass < 3; ++pass) {
    EXPECT_NEAR(schedule.samples(1)[pass] / schedule.samples(0)[pass], 1.01, 1e-12);
  }
}

TEST(Schedule, AClockThatNeverRestsEndsAllTheSame) {
  Schedule schedule({}, std::nullopt, fresh(3));
  double clock = 1;
  int samples = 0;
  while (const auto i = schedule.next()) {
    schedule.add(*i, clock *= 1.1);
    ASSERT_LT(++samples, 100);
  }
  EXPECT_EQ(schedule.repeated_passes(), Schedule::kMostRepeated);
}

TEST(Schedule, ARepeatedPassDoesNotConfirmTheLimit) {
  Schedule schedule({}, 1.0, fresh(2));
  ASSERT_EQ(schedule.next(), 0u);
  schedule.add(0, 1.2);
  ASSERT_EQ(schedule.next(), 1u);
  schedule.add(1, 1.3);
  ASSERT_EQ(schedule.next(), 0u);
  schedule.add(0, 1.2);
  ASSERT_EQ(schedule.next(), 1u);
  schedule.add(1, 0.9);
  ASSERT_EQ(schedule.next(), 1u);  // to confirm
  schedule.add(1, 1.3);
  ASSERT_EQ(schedule.next(), 0u);  // to check
  schedule.add(0, 1.6);            // the pass is void, and so is the sample at the limit
  ASSERT_EQ(schedule.next(), 0u);
  schedule.add(0, 1.2);
  ASSERT_EQ(schedule.next(), 1u);
  schedule.add(1, 0.9);
  EXPECT_EQ(schedule.short_circuit(), std::nullopt);
}

TEST(Schedule, FailureRemovesACandidateAndItsSamples) {
  Schedule schedule({}, std::nullopt, fresh(3));
  while (const auto i = schedule.next()) {
    if (*i == 1 && schedule.samples(1).size() == 1) {
      schedule.fail(1);
      continue;
    }
    schedule.add(*i, *i == 1 ? 0.1 : 1.0);
  }
  EXPECT_TRUE(schedule.failed(1));
  EXPECT_EQ(schedule.samples(0).size(), 3u);
  EXPECT_TRUE(schedule.any_valid());
}

TEST(Schedule, WhenAllFailItEndsAndSaysSo) {
  Schedule schedule({}, 1.0, fresh(3));
  int asked = 0;
  while (const auto i = schedule.next()) {
    ++asked;
    schedule.fail(*i);
  }
  EXPECT_EQ(asked, 3);
  EXPECT_FALSE(schedule.any_valid());
}

TEST(Schedule, AWrongWinnerReopensTheRound) {
  Schedule schedule({}, 1.0, fresh(3));
  drive(schedule, {0.5, 0.8, 3.0});
  ASSERT_EQ(schedule.short_circuit(), 0u);
  schedule.fail(0);
  const auto order = drive(schedule, {0.5, 0.8, 3.0});
  EXPECT_EQ(order, (std::vector<std::size_t>{1, 1}));
  EXPECT_EQ(schedule.short_circuit(), 1u);
}

TEST(Schedule, PriorSamplesStandForPasses) {
  Schedule schedule({}, std::nullopt, {{1.0, 1.0, 1.0}, {}, {1.2, 1.2, 1.2}});
  const auto order = drive(schedule, {1.0, 0.9, 1.2});
  // Only the new one is sampled until it has as many; its gain then asks for more passes of all.
  EXPECT_EQ((std::vector<std::size_t>(order.begin(), order.begin() + 3)),
            (std::vector<std::size_t>{1, 1, 1}));
}

TEST(Schedule, DroppingTheLimitGoesOn) {
  Schedule schedule({}, 1.0, fresh(2));
  drive(schedule, {0.5, 0.7});
  ASSERT_TRUE(schedule.short_circuit());
  schedule.drop_limit();
  drive(schedule, {0.5, 0.7});
  EXPECT_FALSE(schedule.short_circuit());
  EXPECT_GE(schedule.samples(1).size(), 3u);
}

TEST(Schedule, ARetiredCandidateKeepsItsSample) {
  Schedule schedule({}, std::nullopt, fresh(1));
  ASSERT_EQ(schedule.next(), 0u);
  schedule.add(0, 100);
  schedule.retire(0);
  EXPECT_EQ(schedule.next(), std::nullopt);
  EXPECT_TRUE(schedule.any_valid());
}

TEST(Schedule, NoCandidates) {
  Schedule schedule({}, 1.0, {});
  EXPECT_EQ(schedule.next(), std::nullopt);
  EXPECT_FALSE(schedule.any_valid());
}

}  // namespace
}  // namespace rooftune
