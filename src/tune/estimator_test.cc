#include "tune/estimator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

namespace rooftune {
namespace {

TEST(Estimator, FirstSampleCountsUntilThreeOthersExist) {
  const std::vector<double> samples = {9, 1, 1, 1};
  EXPECT_EQ(counting(std::span(samples).first(1)).size(), 1u);
  EXPECT_EQ(counting(std::span(samples).first(3)).size(), 3u);
  EXPECT_EQ(counting(samples).size(), 3u);
  EXPECT_DOUBLE_EQ(*estimate_s(samples), 1);
  EXPECT_FALSE(estimate_s({}));
}

TEST(Estimator, PercentilesInterpolate) {
  const std::vector<double> samples = {4, 1, 3, 2, 5};
  EXPECT_DOUBLE_EQ(*percentile(samples, 0), 1);
  EXPECT_DOUBLE_EQ(*percentile(samples, 0.5), 3);
  EXPECT_DOUBLE_EQ(*percentile(samples, 0.25), 2);
  EXPECT_DOUBLE_EQ(*percentile(samples, 1), 5);
  EXPECT_DOUBLE_EQ(*percentile(std::vector<double>{1, 2}, 0.25), 1.25);
}

// How often a kernel that is truly `gap` faster wins, over many races of `count` samples each
// drawn from `noise(random, true_time)`.
double win_rate(double gap, int count, const std::function<double(std::mt19937&, double)>& noise) {
  std::mt19937 random(42);
  int wins = 0;
  constexpr int kRaces = 2000;
  for (int race = 0; race < kRaces; ++race) {
    std::vector<double> fast, slow;
    for (int i = 0; i < count; ++i) {
      fast.push_back(noise(random, 1.0));
      slow.push_back(noise(random, 1.0 + gap));
    }
    wins += *estimate_s(fast) < *estimate_s(slow);
  }
  return double(wins) / kRaces;
}

TEST(Estimator, ConstantWithOutliers) {
  const auto noise = [](std::mt19937& random, double time) {
    return std::uniform_real_distribution<>()(random) < 0.2 ? time * 5 : time;
  };
  // Four outliers among the six samples that count are once in 60 races too many.
  EXPECT_GT(win_rate(0.01, 7, noise), 0.96);
}

TEST(Estimator, GaussianWithSpikes) {
  const auto noise = [](std::mt19937& random, double time) {
    const double base = time * (1 + 0.02 * std::abs(std::normal_distribution<>()(random)));
    return std::uniform_real_distribution<>()(random) < 0.15 ? base * 1.7 : base;
  };
  EXPECT_GT(win_rate(0.05, 5, noise), 0.97);
}

TEST(Estimator, LuckyLowValuesDoNotDecide) {
  // One sample in ten is 20 % too fast: with the minimum, whoever was lucky would win.
  const auto noise = [](std::mt19937& random, double time) {
    const double base = time * (1 + 0.005 * std::normal_distribution<>()(random));
    return std::uniform_real_distribution<>()(random) < 0.1 ? base * 0.8 : base;
  };
  const double ours = win_rate(0.05, 10, noise);
  EXPECT_GT(ours, 0.9);
  std::mt19937 random(42);
  int minimum_wins = 0;
  for (int race = 0; race < 2000; ++race) {
    std::vector<double> fast, slow;
    for (int i = 0; i < 10; ++i) {
      fast.push_back(noise(random, 1.0));
      slow.push_back(noise(random, 1.05));
    }
    minimum_wins += *std::min_element(fast.begin() + 1, fast.end()) <
                    *std::min_element(slow.begin() + 1, slow.end());
  }
  EXPECT_GT(ours, minimum_wins / 2000.0);
}

TEST(Estimator, DriftCancelsBetweenInterleavedSamples) {
  // The clock falls by 2 % a pass, and both candidates are sampled in every pass.
  std::vector<double> fast, slow;
  for (int pass = 0; pass < 8; ++pass) {
    fast.push_back(1.00 * (1 + 0.02 * pass));
    slow.push_back(1.03 * (1 + 0.02 * pass));
  }
  EXPECT_NEAR(*estimate_s(slow) / *estimate_s(fast), 1.03, 1e-9);
}

TEST(Estimator, SpreadIsRelative) {
  EXPECT_DOUBLE_EQ(*relative_spread(std::vector<double>{2, 2, 2}), 0);
  EXPECT_DOUBLE_EQ(*relative_spread(std::vector<double>{100, 1, 2, 3}),
                   *relative_spread(std::vector<double>{1, 10, 20, 30}));
  EXPECT_FALSE(relative_spread({}));
}

}  // namespace
}  // namespace rooftune
