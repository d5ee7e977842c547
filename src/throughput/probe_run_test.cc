#include "throughput/probe_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace rooftune {
namespace {

TurnBests turns(std::initializer_list<double> rates) {
  TurnBests made;
  for (const double rate : rates) made.add(rate);
  return made;
}

TEST(TurnBests, TheBestHasToBeMetAgainAndNotBettered) {
  EXPECT_FALSE(turns({100, 100}).agree());
  EXPECT_TRUE(turns({100, 99, 101}).agree());
  EXPECT_FALSE(turns({100, 100, 100, 110}).agree()) << "it still gets better";
  EXPECT_FALSE(turns({100, 110, 90, 110}).agree()) << "met twice";
  EXPECT_TRUE(turns({100, 110, 90, 110, 109}).agree());
  EXPECT_EQ(turns({100, 110, 90}).best(), 110);
}

// A device that takes `overhead_s` for a launch and has a rate; the launches of the list are
// interrupted for as long.
struct Machine {
  double rate = 1e11, overhead_s = 2e-6;
  std::vector<double> interruptions = {};
  std::vector<std::uint64_t> repeats = {};  // of the launches so far
  std::uint64_t bytes = 0;                  // of the last
  double now_s = 0, clock_resolution_s = 0;

  Result<double> operator()(const ProbeKernel& kernel, const ProbeArgs& args, int rows) {
    const double work = args.bytes > 0 ? double(args.bytes) : kernel.operations_per_repeat;
    double seconds = overhead_s + double(args.repeats) * work / rate;
    if (repeats.size() < interruptions.size()) seconds += interruptions[repeats.size()];
    repeats.push_back(args.repeats);
    bytes = args.bytes;
    now_s += seconds * rows;
    return seconds;
  }

  double measure(ProbeRun& run, std::size_t most) {
    EXPECT_TRUE(run.prepare(*this, clock_resolution_s));
    while (!run.done(now_s, most)) EXPECT_TRUE(run.turn(*this, now_s));
    return run.value();
  }
};

ProbeRun read_of(std::uint64_t bytes) {
  return {ProbeKernel{}, ProbeKind::read, nullptr, nullptr, bytes};
}

TEST(ProbeRun, LaunchesBecomeLongEnoughToBeTimed) {
  for (const double rate : {1e9, 1e11, 1e13}) {
    Machine machine{.rate = rate};
    ProbeRun run = read_of(12 << 10);
    EXPECT_NEAR(machine.measure(run, 6), rate, 0.03 * rate);
    EXPECT_LT(machine.repeats.size(), 50u);
  }
}

TEST(ProbeRun, LaunchesAreLongForTheClock) {
  Machine machine{.overhead_s = 10e-6, .clock_resolution_s = 5e-6};
  ProbeRun run = read_of(12 << 10);
  EXPECT_NEAR(machine.measure(run, 6), machine.rate, 0.02 * machine.rate);
}

TEST(ProbeRun, AnInterruptedLaunchIsNotTakenForALongOne) {
  // The first of one pass seems to take as long as is wanted.
  Machine machine{.interruptions = {1e-3}};
  ProbeRun run = read_of(12 << 10);
  EXPECT_NEAR(machine.measure(run, 6), machine.rate, 0.03 * machine.rate);
}

TEST(ProbeRun, ATurnBeginsWithPassesThatDoNotCount) {
  Machine machine;
  ProbeRun run = read_of(1 << 20);
  ASSERT_TRUE(run.prepare(machine, 0));
  const std::size_t before = machine.repeats.size();
  ASSERT_TRUE(run.turn(machine, 0));
  ASSERT_GT(machine.repeats.size(), before + 1);
  EXPECT_EQ(machine.repeats[before], 4u);
  EXPECT_GT(machine.repeats.back(), 4u);
}

TEST(ProbeRun, VeryLargeSetsAreSampledInParts) {
  Machine machine{.rate = 1e10};
  ProbeRun run = read_of(64 << 20);
  EXPECT_NEAR(machine.measure(run, 6), machine.rate, 0.01 * machine.rate);
  EXPECT_EQ(machine.bytes, 16u << 20);
  Machine fast{.rate = 1e12};
  ProbeRun whole = read_of(64 << 20);
  EXPECT_NEAR(fast.measure(whole, 6), fast.rate, 0.05 * fast.rate);
  EXPECT_EQ(fast.bytes, 64u << 20) << "where all of it takes no longer";
}

TEST(ProbeRun, RowsOfLaunchesAreFew) {
  int launches = 0;
  const auto timed = [&](const ProbeKernel&, const ProbeArgs&, int row) -> Result<double> {
    launches += row;
    return 1e-6 * (1 + launches);  // never the same
  };
  ProbeRun run(ProbeKernel{}, ProbeKind::launch, nullptr);
  ASSERT_TRUE(run.prepare(timed, 0));
  while (!run.done(0, 20)) ASSERT_TRUE(run.turn(timed, 0));
  EXPECT_LE(launches, 1000);
}

}  // namespace
}  // namespace rooftune
