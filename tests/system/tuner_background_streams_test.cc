// Measuring beyond a decision where launches return before they are done and kernels are compiled:
// a call waits neither for its stream nor for the compiler.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <memory>
#include <thread>

#include "toy_operation.h"

namespace rooftune {
namespace {

using ::testing::ElementsAre;

constexpr double kFirst = 1e-4, kBetter = 5e-5;
constexpr double kShare = 0.02;
constexpr int kEnough = 10'000;  // calls that earn more than a step takes
// The search ends after the first of these rounds; the fallback is not for this key.
const std::vector<ToyCandidate> kRounds = {{"naive", -1}, {"first", 3}, {"later", 2}};

FakeScript script_of(std::function<bool(double now_s)> busy) {
  FakeScript script = toy_script({{"naive", 1e-3}, {"first", kFirst}, {"later", kBetter}});
  script.capabilities.compiles_at_run_time = true;
  script.busy = std::move(busy);
  return script;
}

Settings in_memory() {
  Settings settings;
  settings.autotune.cache = false;
  settings.autotune.background = kShare;
  return settings;
}

// A thread has to build "later" first, which takes as long as it takes.
bool is_replaced_in_the_end(ToyWorld& world) {
  for (int rounds = 0; rounds < 1000 && world.decision().winner == "first"; ++rounds) {
    for (int i = 0; i < kEnough; ++i) EXPECT_TRUE(world.call());
    std::this_thread::yield();
  }
  return world.decision().winner == "later";
}

// Calls until somebody stands at the gate of what is to be built; when a step is due is random.
bool is_being_built_in_the_end(ToyWorld& world, FakeGate& gate) {
  bool arrived = false;
  for (int rounds = 0; rounds < 100 && !arrived; ++rounds) {
    for (int i = 0; i < kEnough; ++i) EXPECT_TRUE(world.call());
    arrived = gate.wait_for_arrivals(1, 0.1);
  }
  return arrived;
}

TEST(BackgroundOnStreams, NothingIsMeasuredWhileAStreamIsAtWork) {
  ToyWorld world(script_of([](double) { return true; }), kRounds, in_memory());
  ASSERT_TRUE(world.call());
  ASSERT_EQ(world.report.candidate, "first");
  const double begin = world.device->now_s();
  for (int i = 0; i < 10 * kEnough; ++i) ASSERT_TRUE(world.call());
  EXPECT_EQ(world.device->launches("later"), 0u);
  // Asking belongs to what a share is for.
  const double calls_s = 10 * kEnough * kFirst;
  EXPECT_LE(world.device->now_s() - begin, (1 + kShare) * calls_s + 10 * kFirst);
}

TEST(BackgroundOnStreams, AStreamThatIsDoneInTheTimeOfACallIsWaitedFor) {
  ToyWorld world(script_of([](double now_s) { return std::fmod(now_s, kFirst) < 0.7 * kFirst; }),
                 kRounds, in_memory());
  ASSERT_TRUE(world.call());
  EXPECT_TRUE(is_replaced_in_the_end(world));
  EXPECT_THAT(world.decision().replaced, ElementsAre("first"));
}

TEST(BackgroundOnStreams, AStreamThatIsDoneOnceIsEnough) {
  const auto busy = std::make_shared<std::atomic<bool>>(true);
  ToyWorld world(script_of([busy](double) { return busy->load(); }), kRounds, in_memory());
  ASSERT_TRUE(world.call());
  for (int i = 0; i < kEnough; ++i) ASSERT_TRUE(world.call());
  *busy = false;
  EXPECT_TRUE(is_replaced_in_the_end(world));
}

TEST(BackgroundOnStreams, AClockThatStandsDoesNotHoldACall) {
  FakeScript script = script_of([](double) { return true; });
  const auto stands = std::make_shared<std::atomic<bool>>(false);
  script.clock_shows = [stands](double now_s) { return stands->load() ? 1.0 : now_s; };
  ToyWorld world(std::move(script), kRounds, in_memory());
  ASSERT_TRUE(world.call());
  for (int i = 0; i < kEnough; ++i) {
    // Long before the first step is due, and in the middle of asking.
    if (i == 100) *stands = true;
    ASSERT_TRUE(world.call());
    if (i > 2000) break;
  }
  EXPECT_EQ(world.device->launches("later"), 0u);
}

TEST(BackgroundOnStreams, NoCallWaitsForTheCompiler) {
  FakeScript script = script_of(nullptr);
  const auto gate = std::make_shared<FakeGate>();
  script.kernels["later"].build_gate = gate;
  ToyWorld world(std::move(script), kRounds, in_memory());
  ASSERT_TRUE(world.call());
  // With the compiler at a stand all calls come back.
  for (int rounds = 0; rounds < 10; ++rounds) {
    for (int i = 0; i < kEnough; ++i) ASSERT_TRUE(world.call());
  }
  EXPECT_TRUE(gate->wait_for_arrivals(1));
  EXPECT_EQ(world.device->launches("later"), 0u);
  EXPECT_EQ(world.decision().winner, "first");
  gate->open();
  EXPECT_TRUE(is_replaced_in_the_end(world));
}

// Steps of both kinds are due in turn, and each wants others to be built.
TEST(BackgroundOnStreams, NoCallWaitsForWhatIsBuiltForAnotherStep) {
  FakeScript script = script_of(nullptr);
  script.kernels["second"] = toy(1.2 * kFirst);
  const auto gate = std::make_shared<FakeGate>();
  script.kernels["later"].build_gate = gate;
  ToyWorld world(std::make_shared<FakeClient>(std::move(script)),
                 {{"naive", -1}, {"first", 3}, {"second", 3}, {"later", 2}}, in_memory(), {},
                 [](TunableSet<ToyKey, ToyArgs>& set) {
                   set.parts([](const ToyArgs& args) { return std::uint64_t(args.size) / 16; },
                             [](std::uint64_t part) { return std::to_string(part); });
                 });
  ASSERT_TRUE(world.call(64));
  for (int i = 0; i < 10 * kEnough; ++i) ASSERT_TRUE(world.call(i % 2 == 0 ? 64 : 40));
  EXPECT_TRUE(gate->wait_for_arrivals(1));
  EXPECT_EQ(world.device->launches("later"), 0u);
  gate->open();
  EXPECT_TRUE(is_replaced_in_the_end(world));
}

TEST(BackgroundOnStreams, WhatCannotBeBuiltIsOut) {
  FakeScript script = script_of(nullptr);
  script.kernels["later"].build_error = Error{ErrorKind::build_failed, "syntax error"};
  ToyWorld world(std::move(script), kRounds, in_memory());
  ASSERT_TRUE(world.call());
  for (int rounds = 0; rounds < 1000 && world.verdict("later") == Verdict::not_tried; ++rounds) {
    for (int i = 0; i < kEnough; ++i) ASSERT_TRUE(world.call());
  }
  EXPECT_EQ(world.verdict("later"), Verdict::build_failed);
  EXPECT_EQ(world.decision().winner, "first");
}

#ifndef __SANITIZE_THREAD__  // which does not follow threads into the child of a fork
TEST(BackgroundOnStreams, AChildOfAForkDoesNotWaitForTheThreadOfItsParent) {
  FakeScript script = script_of(nullptr);
  const auto gate = std::make_shared<FakeGate>();
  script.kernels["later"].build_gate = gate;
  auto world = std::make_unique<ToyWorld>(std::move(script), kRounds, in_memory());
  ASSERT_TRUE(world->call());
  ASSERT_TRUE(is_being_built_in_the_end(*world, *gate));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(120);  // or it would hang for ever
    bool good = true;
    for (int i = 0; i < kEnough; ++i) good = world->call().has_value() && good;
    world.reset();
    _exit(good ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  gate->open();
  EXPECT_TRUE(is_replaced_in_the_end(*world));
}
#endif

// The tuner ends while something is being built for it.
TEST(BackgroundOnStreams, ATunerThatEndsWaitsForWhatIsBeingBuilt) {
  FakeScript script = script_of(nullptr);
  const auto gate = std::make_shared<FakeGate>();
  script.kernels["later"].build_gate = gate;
  std::thread opener;
  {
    ToyWorld world(std::move(script), kRounds, in_memory());
    ASSERT_TRUE(world.call());
    ASSERT_TRUE(is_being_built_in_the_end(world, *gate));
    opener = std::thread([gate] { gate->open(); });
  }
  opener.join();
}

}  // namespace
}  // namespace rooftune
