// What goes wrong with a device during a search, and that it is nobody's result.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/environment.h"
#include "toy_operation.h"
#include "tune/context_internals.h"

namespace rooftune {
namespace {

using ::testing::HasSubstr;

const std::vector<ToyCandidate> kThree = {{"naive"}, {"fast"}, {"third"}};
FakeScript three() { return toy_script({{"naive", 1e-3}, {"fast", 1e-4}, {"third", 2e-4}}); }

std::size_t rows(ToyWorld& world, std::string_view prefix) {
  const auto entries = world.context->internals().environment()->list(prefix);
  return entries ? entries->size() : 0;
}

// --- A lost device

TEST(TunerFaults, ADeviceThatIsLostEndsTheSearchAndStoresNoResult) {
  TempFolder folder;
  FakeScript script = three();
  script.kernels["fast"].loses_device_at = 0;
  ToyWorld world(script, kThree, {}, folder.path());
  for (int call = 0; call < 3; ++call) {
    const Status done = world.call();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().kind, ErrorKind::device_lost);
    EXPECT_THAT(done.error().text, HasSubstr("lost"));
  }
  EXPECT_EQ(world.device->counts("third").asked, 0u);
  EXPECT_EQ(rows(world, "autotune"), 0u);
  // What it was lost by is not run again by a process that has another chance.
  ToyWorld next(three(), kThree, {}, folder.path());
  ASSERT_TRUE(next.call());
  EXPECT_EQ(next.report.candidate, "third");
  EXPECT_TRUE(next.decision().find("fast")->quarantined);
}

TEST(TunerFaults, ADeviceThatIsLostBetweenLaunchesIsNobodysFault) {
  for (const bool private_caches : {false, true}) {  // and between rows, where these are
    FakeScript script = three();
    script.capabilities.private_caches = private_caches;
    script.kernels["fast"].loses_device_at = 1;  // its first launch was right
    ToyWorld world(script, kThree);
    EXPECT_EQ(world.call().error().kind, ErrorKind::device_lost);
    EXPECT_EQ(rows(world, "autotune"), 0u);
    EXPECT_EQ(rows(world, "quarantine"), 0u);
  }
}

TEST(TunerFaults, ADeviceThatIsLostAtAHitLeavesTheDecisionAsItIs) {
  ToyWorld world(three(), kThree);
  ASSERT_TRUE(world.call());
  world.device->lose();
  for (int call = 0; call < 2; ++call) {
    const Status done = world.call();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().kind, ErrorKind::device_lost);
  }
  EXPECT_EQ(world.decision().winner, "fast");
}

// --- Memory

TEST(TunerFaults, AShortageOfMemoryIsNotRememberedBeyondTheProcess) {
  TempFolder folder;
  FakeScript script = three();
  // Of a build, of a launch, and of the check.
  script.kernels["fast"].build_error = Error{ErrorKind::out_of_memory, "no memory to compile"};
  {
    ToyWorld world(script, kThree, {}, folder.path());
    ASSERT_TRUE(world.call());
    EXPECT_EQ(world.report.candidate, "third");
    EXPECT_EQ(world.verdict("fast"), Verdict::build_failed);
    EXPECT_EQ(rows(world, "autotune"), 0u);
  }
  ToyWorld world(three(), kThree, {}, folder.path());
  ASSERT_TRUE(world.call());
  EXPECT_EQ(world.report.candidate, "fast");
}

TEST(TunerFaults, WithoutMemoryToMeasureTheFallbackRuns) {
  FakeScript script = three();
  script.refuses_allocation = [](std::uint64_t) { return true; };
  ToyWorld world(script, kThree);
  ASSERT_TRUE(world.call());
  EXPECT_EQ(world.report.candidate, "naive");
  EXPECT_EQ(world.report.origin, Origin::fallback);
  EXPECT_EQ(rows(world, "autotune"), 0u);
}

// --- Clocks

TEST(TunerFaults, ClocksThatStandOrRunBackwardsEndNoSearchAndDecideNothingWrong) {
  const std::function<double(double)> clocks[] = {
      [](double) { return 7.0; }, [](double now_s) { return -now_s; },
      [](double now_s) { return 1e9 * now_s; },
      [](double) { return std::numeric_limits<double>::quiet_NaN(); }};
  for (const auto& clock : clocks) {
    FakeScript script = three();
    script.clock_shows = clock;
    Settings settings;
    settings.autotune.background = 0;  // the next calls go on with a search
    ToyWorld world(script, kThree, settings);
    ASSERT_TRUE(world.call());
    // By a clock that races, each call has the time for one sample.
    for (int call = 0; call < 40 && world.decision().partial; ++call) ASSERT_TRUE(world.call());
    EXPECT_EQ(world.report.candidate, "fast");
    EXPECT_FALSE(world.decision().partial);
  }
}

TEST(TunerFaults, TimestampsThatFailForAllLeaveNothingInTheStore) {
  FakeScript script = three();
  for (auto& [name, kernel] : script.kernels) kernel.timing = FakeTiming::error;
  ToyWorld world(script, kThree);
  ASSERT_TRUE(world.call());
  EXPECT_EQ(world.report.candidate, "naive");
  EXPECT_EQ(rows(world, "autotune"), 0u);
}

// --- The budget

TEST(TunerFaults, TheBudgetEndsNoSearchBeforeSomethingWasMeasured) {
  FakeScript script = three();
  for (const char* name : {"naive", "fast"}) script.kernels[name].damage = FakeOutput::wrong;
  script.kernels["naive"].seconds = script.kernels["fast"].seconds = 0.9;
  Settings settings;
  settings.autotune.budget_s = 1;
  ToyWorld world(script, kThree, settings);
  ASSERT_TRUE(world.call());
  EXPECT_EQ(world.report.candidate, "third");
}

TEST(TunerFaults, WhatHungOnceIsNotAskedAgain) {
  FakeScript script = three();
  script.kernels["fast"].seconds = 1e4;
  Settings settings;
  settings.autotune.background = 0;  // the next calls go on with a search
  ToyWorld world(script, {{"naive"}, {"fast"}}, settings);
  for (int call = 0; call < 4; ++call) ASSERT_TRUE(world.call());
  EXPECT_EQ(world.report.candidate, "naive");
  EXPECT_EQ(world.device->counts("fast").asked, 1u);
  EXPECT_FALSE(world.decision().partial);
}

// --- Only right results

TEST(TunerFaults, WithoutADecisionOnlyTheFallbackRuns) {
  FakeScript script = three();
  script.kernels["naive"].launch_error = Error{ErrorKind::launch_failed, "refused"};
  script.refuses_allocation = [](std::uint64_t) { return true; };  // nothing can be measured
  ToyWorld world(script, kThree);
  const Status done = world.call();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::no_candidate);
  EXPECT_EQ(world.device->counts("fast").asked, 0u);
}

TEST(TunerFaults, WhatWasWrongOnceStaysOutInThisProcess) {
  FakeScript script = three();
  script.kernels["fast"].damage = FakeOutput::wrong;
  ToyWorld world(script, kThree);
  ASSERT_TRUE(world.call());
  ASSERT_EQ(world.verdict("fast"), Verdict::wrong);
  world.device->set_behaviour("fast", toy(1e-4));
  ASSERT_TRUE(world.context->use_environment("another"));
  ASSERT_TRUE(world.call());
  EXPECT_TRUE(world.report.tuned);
  EXPECT_EQ(world.report.candidate, "third");
  EXPECT_EQ(world.verdict("fast"), Verdict::wrong);
  EXPECT_EQ(world.device->counts("fast").asked, 1u);
}

TEST(TunerFaults, ASearchThatOutlivesItsEnvironmentKeepsItsDecisionThere) {
  auto gate = std::make_shared<FakeGate>();
  FakeScript script = three();
  script.kernels["third"].launch_gate = gate;
  ToyWorld world(script, kThree);
  const auto before = world.context->internals().environment();
  std::thread tuning([&] { EXPECT_TRUE(world.call()); });
  EXPECT_TRUE(gate->wait_for_arrivals(1));
  EXPECT_TRUE(world.context->use_environment("another"));
  gate->open();
  tuning.join();
  EXPECT_EQ(before->list("autotune")->size(), 1u);
  EXPECT_EQ(rows(world, "autotune"), 0u);
}

}  // namespace
}  // namespace rooftune
