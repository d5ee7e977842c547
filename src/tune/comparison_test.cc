#include "tune/comparison.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <vector>

namespace rooftune {
namespace {

constexpr double kMargin = 0.02, kConfidence = 0.95;

TEST(Comparison, QuantilesOfStudent) {
  // Tables of the distribution.
  EXPECT_NEAR(student_quantile(0.95, 1), 6.314, 1e-3);
  EXPECT_NEAR(student_quantile(0.95, 2), 2.920, 1e-3);
  EXPECT_NEAR(student_quantile(0.95, 5), 2.015, 1e-3);
  EXPECT_NEAR(student_quantile(0.975, 9), 2.262, 1e-3);
  EXPECT_NEAR(student_quantile(0.99, 4), 3.747, 1e-3);
  EXPECT_NEAR(student_quantile(0.5, 3), 0, 1e-9);
  // Where the tail is longest, and where there is hardly any.
  EXPECT_NEAR(student_quantile(0.9995, 1), 636.619, 1e-2);
  EXPECT_NEAR(student_quantile(0.9995, 30), 3.646, 1e-3);
}

TEST(Comparison, EachConfidenceHasItsOwnInterval) {
  const std::vector<double> leader = {1, 1.01, 0.99, 1}, rival = {1, 1.05, 1.02, 1.03};
  const double low = compare(leader, rival, kMargin, 0.95)->low;
  EXPECT_LT(compare(leader, rival, kMargin, 0.99)->low, low);
  EXPECT_EQ(compare(leader, rival, kMargin, 0.95)->low, low);
}

TEST(Comparison, WithoutNoiseThreePairsTellEverything) {
  const std::vector<double> leader = {1, 1, 1};
  const auto standing = [&](double rival) {
    return compare(leader, std::vector<double>(3, rival), kMargin, kConfidence)->standing;
  };
  EXPECT_EQ(standing(1.03), Standing::slower);
  EXPECT_EQ(standing(1.01), Standing::same);
  EXPECT_EQ(standing(0.99), Standing::same);
  EXPECT_EQ(standing(0.9), Standing::unclear);  // it is the leader that is slower
}

TEST(Comparison, OnePairTellsNothingAndNoneGivesNothing) {
  const auto one = compare(std::vector<double>{1}, std::vector<double>{5}, kMargin, kConfidence);
  ASSERT_TRUE(one);
  EXPECT_EQ(one->standing, Standing::unclear);
  EXPECT_DOUBLE_EQ(one->ratio, 5);
  EXPECT_FALSE(compare({}, std::vector<double>{1}, kMargin, kConfidence));
}

TEST(Comparison, WhatSlowsAWholePassDownDoesNotMatter) {
  const std::vector<double> leader = {1.0, 1.7, 1.2, 3.0};
  std::vector<double> rival;
  for (const double s : leader) rival.push_back(1.05 * s);
  const auto compared = compare(leader, rival, kMargin, kConfidence);
  EXPECT_EQ(compared->standing, Standing::slower);
  EXPECT_NEAR(compared->ratio, 1.05, 1e-12);
}

TEST(Comparison, TheNoiseOfARoundIsThatOfAllItsPairs) {
  std::mt19937 random(7);
  std::normal_distribution<double> log_noise(0, 0.03);
  constexpr std::size_t kRivals = 40, kPasses = 4;
  std::vector<double> leader(kPasses, 1.0);
  std::vector<std::vector<double>> rivals(kRivals);
  for (std::size_t r = 0; r < kRivals; ++r) {
    for (std::size_t pass = 0; pass < kPasses; ++pass) {
      rivals[r].push_back((1 + 0.1 * double(r)) * std::exp(log_noise(random)));
    }
  }
  const auto noise = pooled_noise(leader, {rivals.begin(), rivals.end()});
  ASSERT_TRUE(noise);
  EXPECT_NEAR(noise->deviation, 0.03, 0.006);
  EXPECT_EQ(noise->degrees_of_freedom, int(kRivals * 2));  // the first samples no longer count
  // A sample that was disturbed hardly changes it.
  rivals[3][2] *= 20;
  EXPECT_NEAR(pooled_noise(leader, {rivals.begin(), rivals.end()})->deviation, 0.03, 0.006);
}

TEST(Comparison, NoiseIsUnknownBeforeASecondPair) {
  const std::vector<double> one = {1.0}, other = {1.2};
  EXPECT_FALSE(pooled_noise(one, {other}));
  EXPECT_FALSE(pooled_noise(one, {}));
}

TEST(Comparison, KnownNoiseTellsFromFewPairs) {
  const std::vector<double> leader = {1.00, 1.01}, rival = {1.12, 1.10};
  EXPECT_EQ(compare(leader, rival, kMargin, kConfidence)->standing, Standing::unclear);
  EXPECT_EQ(compare(leader, rival, kMargin, kConfidence, Noise{0.01, 7})->standing,
            Standing::slower);
  EXPECT_EQ(compare(leader, rival, kMargin, kConfidence, Noise{0.2, 7})->standing,
            Standing::unclear);
}

TEST(Comparison, APreemptedLaunchIsSetAside) {
  std::vector<double> leader(10, 1.0), rival(10, 1.05);
  leader[6] = 9;
  const auto compared = compare(leader, rival, kMargin, kConfidence);
  EXPECT_EQ(compared->standing, Standing::slower);
  EXPECT_NEAR(compared->ratio, 1.05, 1e-12);
}

TEST(Comparison, PairsAreThoseThatBothHave) {
  const std::vector<double> leader = {1, 1, 1, 1, 1, 1}, rival = {1.5, 1.5, 1.5};
  EXPECT_NEAR(compare(leader, rival, kMargin, kConfidence)->ratio, 1.5, 1e-12);
}

struct Outcome {
  double slower = 0, same = 0;  // shares of the races
};

// Races of `pairs` pairs between a kernel of 1 s and one of `ratio`.
Outcome races(double ratio, int pairs, const std::function<double(std::mt19937&)>& noise,
              const std::function<double(std::mt19937&)>& pass_noise) {
  std::mt19937 random(7);
  constexpr int kRaces = 4000;
  Outcome outcome;
  for (int race = 0; race < kRaces; ++race) {
    std::vector<double> leader, rival;
    for (int i = 0; i < pairs; ++i) {
      const double pass = pass_noise(random);
      leader.push_back(pass * noise(random));
      rival.push_back(pass * ratio * noise(random));
    }
    const Standing standing = compare(leader, rival, kMargin, kConfidence)->standing;
    outcome.slower += standing == Standing::slower ? 1.0 / kRaces : 0;
    outcome.same += standing == Standing::same ? 1.0 / kRaces : 0;
  }
  return outcome;
}

double calm(std::mt19937& random) {
  return std::exp(std::normal_distribution<double>(0, 0.003)(random));
}
// A launch in ten is preempted and takes up to twice as long.
double busy(std::mt19937& random) {
  std::uniform_real_distribution<double> uniform;
  return calm(random) * (uniform(random) < 0.1 ? 1 + uniform(random) : 1);
}
// A clock that wanders by a third between passes.
double wandering(std::mt19937& random) {
  return std::uniform_real_distribution<double>(0.75, 1)(random);
}
double steady(std::mt19937&) { return 1; }

// The confidence is kept: a rival that is no slower than the margin is rarely called slower, and
// one beyond it is rarely called the same.
TEST(Comparison, ErrsNoMoreOftenThanItSays) {
  for (const int pairs : {3, 5, 10}) {
    for (const auto& noise : {calm, busy}) {
      for (const auto& pass : {steady, wandering}) {
        EXPECT_LT(races(1.02, pairs, noise, pass).slower, 0.07) << pairs;
        EXPECT_LT(races(1.00, pairs, noise, pass).slower, 0.03) << pairs;
        EXPECT_LT(races(1.04, pairs, noise, pass).same, 0.03) << pairs;
      }
    }
  }
}

TEST(Comparison, TellsWhatThereIsToTell) {
  for (const auto& pass : {steady, wandering}) {
    EXPECT_GT(races(1.05, 3, calm, pass).slower, 0.9);
    EXPECT_GT(races(1.05, 5, calm, pass).slower, 0.99);
    EXPECT_GT(races(1.00, 5, calm, pass).same, 0.99);
    EXPECT_GT(races(1.10, 10, busy, pass).slower, 0.6);
  }
}

}  // namespace
}  // namespace rooftune
