#include "device/fake/script.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>

namespace rooftune {
namespace {

TEST(NoiseTest, IsTheSameForTheSameLaunch) {
  const FakeNoise noise{.sigma = 0.1, .outlier_chance = 0.1, .lucky_chance = 0.1};
  EXPECT_EQ(noise_factor(noise, 1, "a", 7), noise_factor(noise, 1, "a", 7));
  EXPECT_NE(noise_factor(noise, 1, "a", 7), noise_factor(noise, 1, "a", 8));
  EXPECT_NE(noise_factor(noise, 1, "a", 7), noise_factor(noise, 1, "b", 7));
  EXPECT_NE(noise_factor(noise, 1, "a", 7), noise_factor(noise, 2, "a", 7));
}

TEST(NoiseTest, NoneIsExactlyOne) {
  for (std::uint64_t i = 0; i < 100; ++i) EXPECT_EQ(noise_factor({}, i, "a", i), 1.0);
}

TEST(NoiseTest, GaussianHasItsMeanAndSpread) {
  const FakeNoise noise{.sigma = 0.05};
  double sum = 0, squares = 0;
  constexpr int kDraws = 20'000;
  for (int i = 0; i < kDraws; ++i) {
    const double factor = noise_factor(noise, 3, "a", static_cast<std::uint64_t>(i));
    sum += factor;
    squares += (factor - 1) * (factor - 1);
  }
  EXPECT_NEAR(sum / kDraws, 1, 0.002);
  EXPECT_NEAR(std::sqrt(squares / kDraws), 0.05, 0.002);
}

TEST(NoiseTest, OutliersAndLuckyLaunchesComeAsOftenAsSaid) {
  const FakeNoise noise{
      .outlier_chance = 0.1, .outlier_factor = 10, .lucky_chance = 0.05, .lucky_factor = 0.5};
  int outliers = 0, lucky = 0;
  constexpr int kDraws = 20'000;
  for (int i = 0; i < kDraws; ++i) {
    const double factor = noise_factor(noise, 3, "a", static_cast<std::uint64_t>(i));
    outliers += factor >= 5;
    lucky += factor == 0.5 || factor == 5;
  }
  EXPECT_NEAR(outliers, 0.1 * kDraws, 0.01 * kDraws);
  EXPECT_NEAR(lucky, 0.05 * kDraws, 0.01 * kDraws);
}

TEST(NoiseTest, NeverStopsOrTurnsTimeBack) {
  for (std::uint64_t i = 0; i < 1000; ++i) {
    EXPECT_GE(noise_factor({.sigma = 5}, 1, "a", i), 0.1);
  }
}

TEST(RateTest, IsThatOfTheFirstLevelThatHoldsTheSet) {
  const std::vector<FakeLevel> levels = {{1e3, 100}, {1e6, 10}, {0, 1}};
  EXPECT_EQ(rate_at(levels, 0), 100);
  EXPECT_EQ(rate_at(levels, 1e3), 100);
  EXPECT_EQ(rate_at(levels, 1001), 10);
  EXPECT_EQ(rate_at(levels, 1e12), 1);
  EXPECT_EQ(rate_at({}, 1), 0);
}

TEST(DriftTest, SwingsAndRises) {
  const auto swing = swinging_drift(0.2, 4);
  EXPECT_NEAR(swing(0), 1, 1e-12);
  EXPECT_NEAR(swing(1), 1.2, 1e-12);
  EXPECT_NEAR(swing(3), 0.8, 1e-12);
  const auto rise = rising_drift(1.5, 10);
  EXPECT_EQ(rise(0), 1);
  EXPECT_NEAR(rise(5), 1.25, 1e-12);
  EXPECT_EQ(rise(1e6), 1.5);
}

TEST(ProbeTest, TimesFollowTheRates) {
  FakeProbes probes;
  probes.compute = {{DType::f32, 1e12}};
  probes.copy = {{100, 50.0}, {0, 10.0}};
  probes.launch_overhead_s = 1e-6;
  ProbeArgs args{.bytes = 50, .repeats = 3};
  const double operations = probe_operations(ProbeKind::compute, 4) * 3;
  EXPECT_DOUBLE_EQ(probe_seconds(probes, ProbeKind::compute, DType::f32, 4, args, 0),
                   1e-6 + operations / 1e12);
  // Both sides of a copy count: 100 bytes just fit, 102 do not.
  EXPECT_DOUBLE_EQ(probe_seconds(probes, ProbeKind::copy, DType::f32, 4, args, 0),
                   1e-6 + 300 / 50.0);
  args.bytes = 51;
  EXPECT_DOUBLE_EQ(probe_seconds(probes, ProbeKind::copy, DType::f32, 4, args, 0),
                   1e-6 + 306 / 10.0);
  EXPECT_DOUBLE_EQ(probe_seconds(probes, ProbeKind::launch, DType::f32, 4, args, 0), 1e-6);
}

TEST(ProbeTest, LiesEndWhenTheyShould) {
  FakeProbes probes;
  probes.launch_overhead_s = 0;
  probes.lies = {{ProbeKind::compute, 0.5}};
  probes.lies_until = 2;
  const ProbeArgs args;
  const auto seconds = [&](std::uint64_t index) {
    return probe_seconds(probes, ProbeKind::compute, DType::f32, 1, args, index);
  };
  EXPECT_DOUBLE_EQ(seconds(1), 2 * seconds(2));
}

TEST(RooflineTimeTest, IsTheGreaterOfTheTwoBounds) {
  FakeProbes probes;
  probes.compute = {{DType::f32, 1e12}};
  probes.read = {{0, 1e11}};
  probes.launch_overhead_s = 1e-6;
  const auto seconds = [&](double operations, double bytes) {
    return roofline_time(probes, DType::f32, 0.5, [=](const FakeLaunch&) {
      return FakeWork{operations, bytes};
    })({});
  };
  EXPECT_DOUBLE_EQ(seconds(1e9, 1), 2e-3 + 1e-6);
  EXPECT_DOUBLE_EQ(seconds(1, 1e9), 2e-2 + 1e-6);
  EXPECT_DOUBLE_EQ(seconds(0, 0), 1e-6);
}

TEST(DemoTest, KernelsDifferAlwaysInTheSameWay) {
  const FakeScript script = demo_script();
  const auto seconds = [](const FakeScript& of, std::string_view kernel) {
    return of.otherwise.seconds_of({.kernel = kernel});
  };
  EXPECT_NE(seconds(script, "a"), seconds(script, "b"));
  EXPECT_EQ(seconds(script, "a"), seconds(demo_script(), "a"));
  // 1e8 operations at 1e12 a second and a share of 0.25 to 0.85, plus the overhead.
  EXPECT_GT(seconds(script, "a"), 1e-4 / 0.85);
  EXPECT_LT(seconds(script, "a"), 1e-4 / 0.25 + 1e-5);
}

TEST(DemoTest, WorkDecides) {
  const FakeScript script = demo_script([](const FakeLaunch& launch) {
    return FakeWork{launch.groups.x * 1e9, 0};
  });
  const double one = script.otherwise.seconds_of({.kernel = "a", .groups = {1, 1, 1}});
  const double ten = script.otherwise.seconds_of({.kernel = "a", .groups = {10, 1, 1}});
  EXPECT_NEAR(ten / one, 10, 0.1);
}

TEST(GateTest, HoldsUntilOpened) {
  FakeGate gate;
  bool passed = false;  // written after the gate, read before it opens: a race if it did not hold
  std::thread other([&] {
    gate.arrive_and_wait();
    passed = true;
  });
  ASSERT_TRUE(gate.wait_for_arrivals(1));
  EXPECT_FALSE(passed);
  gate.open();
  other.join();
  EXPECT_TRUE(passed);
  gate.arrive_and_wait();  // stays open
  EXPECT_TRUE(gate.wait_for_arrivals(2));
  EXPECT_FALSE(gate.wait_for_arrivals(3, 0.001));
}

}  // namespace
}  // namespace rooftune
