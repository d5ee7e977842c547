// Measuring beyond a decision, after calls that were served (autotune.background).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <future>
#include <limits>
#include <thread>

#include "toy_operation.h"

namespace rooftune {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kFirst = 1e-4, kBetter = 5e-5, kWorse = 1.3e-4;
constexpr double kShare = 0.02;
// Without guesses a candidate has its turn when 20 launches of the winner were earned.
constexpr int kEarliest = 20 / kShare, kLatest = 10'000;
// A thread may look a little early at what it has earned: it counts hits of other tests too.
constexpr int kInterval = 96;

// Memory alone, so that nothing depends on how long a disk takes.
Settings in_memory(double share = kShare) {
  Settings settings;
  settings.autotune.cache = false;
  settings.autotune.background = share;
  return settings;
}

// The search ends after the first of these rounds; the fallback is not for this key.
const std::vector<ToyCandidate> kRounds = {{"naive", -1}, {"first", 3}, {"later", 2}};

// Calls until one of them left another winner; how many that took, or nothing.
std::optional<int> calls_until_replaced(ToyWorld& world, int most = kLatest) {
  const std::string winner = world.decision().winner;
  for (int calls = 1; calls <= most; ++calls) {
    EXPECT_TRUE(world.call());
    if (world.decision().winner != winner) return calls;
  }
  return std::nullopt;
}

void call_often(ToyWorld& world, int calls = kLatest) {
  for (int i = 0; i < calls; ++i) ASSERT_TRUE(world.call());
}

TEST(Background, ABetterCandidateOfALaterRoundTakesOverInItsTime) {
  ToyWorld world(toy_script({{"naive", 1e-3}, {"first", kFirst}, {"later", kBetter}}), kRounds,
                 in_memory());
  ASSERT_TRUE(world.call());
  ASSERT_EQ(world.report.candidate, "first");
  const Decision before = world.decision();
  EXPECT_EQ(before.find("later")->verdict, Verdict::not_tried);
  const auto calls = calls_until_replaced(world);
  ASSERT_TRUE(calls);
  EXPECT_GE(*calls, kEarliest - kInterval);
  ASSERT_TRUE(world.call());
  EXPECT_EQ(world.report.candidate, "later");
  EXPECT_EQ(world.report.origin, Origin::memory);
  EXPECT_FALSE(world.report.tuned);
  const Decision after = world.decision();
  EXPECT_THAT(after.ranking, ElementsAre("later", "first"));
  EXPECT_THAT(after.replaced, ElementsAre("first"));
  EXPECT_EQ(after.find("later")->verdict, Verdict::winner);
  EXPECT_TRUE(after.find("later")->background);
  EXPECT_TRUE(after.verified);
  EXPECT_EQ(after.find("first")->verdict, Verdict::ranked);
  EXPECT_NEAR(*after.find("later")->estimate_s(), kBetter, 1e-3 * kBetter);
  EXPECT_EQ(after.cost.launches, before.cost.launches) << "of the search";
  EXPECT_GT(after.cost.background_launches, 0u);
  EXPECT_GT(after.cost.background_s, 0);
  EXPECT_EQ(world.device->launches("naive"), 0u) << "it is not for this key";
}

TEST(Background, TheShareIsKept) {
  FakeScript script = toy_script({{"naive", 1e-3}, {"first", kFirst}});
  std::vector<ToyCandidate> candidates = {{"naive", -1}, {"first", 9}};
  for (int i = 0; i < 6; ++i) {
    const std::string name = "later" + std::to_string(i);
    script.kernels[name] = toy(kFirst * (0.6 + 0.3 * i));
    candidates.push_back({name, 8 - i});
  }
  constexpr double kTenth = 0.1;
  ToyWorld world(script, candidates, in_memory(kTenth));
  ASSERT_TRUE(world.call());
  double in_steps = 0, longest = 0;
  const double begin = world.device->now_s();
  for (int i = 0; i < 3 * kLatest; ++i) {
    const auto launches = world.device->launches();
    const double before = world.device->now_s();
    ASSERT_TRUE(world.call());
    if (world.device->launches() == launches + 1) continue;
    const Decision decision = world.decision();
    const double step = world.device->now_s() - before - kFirst / 2;
    in_steps += step;
    longest = std::max(longest, step);
    ASSERT_LE(in_steps, kTenth * (world.device->now_s() - begin) + longest) << "after " << i;
  }
  const Decision decision = world.decision();
  EXPECT_EQ(decision.winner, "later0");
  for (int i = 0; i < 6; ++i) {
    EXPECT_FALSE(decision.find("later" + std::to_string(i))->samples.empty()) << i;
  }
  EXPECT_THAT(decision.ranking,
              ElementsAre("later0", "later1", "first", "later2", "later3", "later4", "later5"));
  // All are measured, and nothing is left to do.
  const auto launches = world.device->launches();
  call_often(world, 5000);
  EXPECT_EQ(world.device->launches(), launches + 5000);
}

TEST(Background, ASmallShareTakesLonger) {
  const auto calls = [](double share) {
    ToyWorld world(toy_script({{"naive", 1e-3}, {"first", kFirst}, {"later", kBetter}}), kRounds,
                   in_memory(share));
    EXPECT_TRUE(world.call());
    return calls_until_replaced(world, 100 * kLatest).value_or(-1);
  };
  const int one = calls(0.02), tenth = calls(0.002);
  EXPECT_GT(one, 0);
  EXPECT_GT(tenth, 5 * one);
}

TEST(Background, ZeroTurnsItOff) {
  ToyWorld world(toy_script({{"naive", 1e-3}, {"first", kFirst}, {"later", kBetter}}), kRounds,
                 in_memory(0));
  ASSERT_TRUE(world.call());
  const auto launches = world.device->launches();
  call_often(world);
  EXPECT_EQ(world.device->launches(), launches + kLatest);
}

TEST(Background, AWinnerAtTheLimitIsGoodEnough) {
  // 64 numbers at the launch overhead: two samples, and the search ends.
  ToyWorld world(toy_script({{"naive", 1e-3}, {"first", 2e-6}, {"later", 2e-6}}), kRounds,
                 in_memory());
  ASSERT_TRUE(world.call());
  ASSERT_EQ(world.decision().short_circuit, "first");
  const auto launches = world.device->launches();
  call_often(world);
  EXPECT_EQ(world.device->launches(), launches + kLatest);
}

TEST(Background, WhereTheSearchEndedAtALimitThatWasWrongTheRestIsMeasured) {
  ToyWorld world(toy_script({{"naive", 1e-3}, {"first", kFirst}, {"later", kBetter}}), kRounds,
                 in_memory());
  ASSERT_TRUE(world.call());
  EXPECT_FALSE(world.decision().short_circuit);
  EXPECT_TRUE(calls_until_replaced(world));
}

TEST(Background, TheFallbackOfALaterRoundIsLeftAlone) {
  ToyWorld world(toy_script({{"naive", 1}, {"first", kFirst}, {"later", kBetter}}),
                 {{"naive", 0}, {"first", 3}, {"later", 2}}, in_memory());
  ASSERT_TRUE(world.call());
  ASSERT_TRUE(calls_until_replaced(world));
  call_often(world, 3 * kLatest);
  EXPECT_EQ(world.device->launches("naive"), 0u);
}

TEST(Background, ASlowerOneGetsItsPlaceBehind) {
  ToyWorld world(
      toy_script(
          {{"naive", 1e-3}, {"first", kFirst}, {"second", 1.2 * kFirst}, {"later", 1.1 * kFirst}}),
      {{"naive", -1}, {"first", 3}, {"second", 3}, {"later", 2}}, in_memory());
  ASSERT_TRUE(world.call());
  EXPECT_FALSE(calls_until_replaced(world));
  const Decision decision = world.decision();
  EXPECT_THAT(decision.ranking, ElementsAre("first", "later", "second"));
  EXPECT_EQ(decision.find("later")->verdict, Verdict::ranked);
  EXPECT_THAT(decision.same_as_winner, Not(Contains("later")));
}

TEST(Background, OneThatIsAsGoodDoesNotTakeOver) {
  ToyWorld world(toy_script({{"naive", 1e-3}, {"first", kFirst}, {"later", 0.99 * kFirst}}),
                 kRounds, in_memory());
  ASSERT_TRUE(world.call());
  EXPECT_FALSE(calls_until_replaced(world));
  EXPECT_THAT(world.decision().same_as_winner, ElementsAre("later"));
}

TEST(Background, TimesAreInProportionToThoseOfTheSearch) {
  FakeScript script = toy_script({{"naive", 1e-3}, {"first", kFirst}, {"later", kBetter}});
  script.drift = [](double now_s) { return now_s < 0.05 ? 1.0 : 3.0; };
  ToyWorld world(script, kRounds, in_memory());
  ASSERT_TRUE(world.call());
  ASSERT_TRUE(calls_until_replaced(world));
  EXPECT_NEAR(*world.decision().find("later")->estimate_s(), kBetter, 1e-2 * kBetter);
}

TEST(Background, AVerySlowOneIsLaunchedOnce) {
  ToyWorld world(toy_script({{"naive", 1e-3}, {"first", kFirst}, {"later", 15 * kFirst}}), kRounds,
                 in_memory());
  ASSERT_TRUE(world.call());
  call_often(world);
  EXPECT_EQ(world.device->launches("later"), 1u);
  const Decision decision = world.decision();
  EXPECT_EQ(decision.find("later")->verdict, Verdict::eliminated);
  EXPECT_THAT(decision.find("later")->reason, HasSubstr("15.00 times as long"));
  EXPECT_THAT(decision.ranking, ElementsAre("first", "later"));
}

TEST(Background, OneThatFailsIsOutAndNobodySeesIt) {
  FakeScript script = toy_script({{"naive", 1e-3}, {"first", kFirst}});
  for (const char* name : {"wrong", "outside", "refused", "unbuildable", "untimeable", "flaky"}) {
    script.kernels[name] = toy(kBetter);
  }
  script.kernels["wrong"].damage = FakeOutput::wrong;
  script.kernels["outside"].damage = FakeOutput::outside;
  script.kernels["refused"].launch_error = Error{ErrorKind::launch_failed, "too many threads"};
  script.kernels["unbuildable"].build_error = Error{ErrorKind::build_failed, "syntax error"};
  script.kernels["untimeable"].timing = FakeTiming::nan;
  script.kernels["flaky"].launch_error = Error{ErrorKind::launch_failed, "now and then"};
  script.kernels["flaky"].fails_from = 2;
  ToyWorld world(script,
                 {{"naive", -1},
                  {"first", 3},
                  {"wrong", 2},
                  {"outside", 2},
                  {"refused", 2},
                  {"unbuildable", 2},
                  {"untimeable", 2},
                  {"flaky", 2}},
                 in_memory(0.5));
  ASSERT_TRUE(world.call());
  call_often(world);
  const Decision decision = world.decision();
  EXPECT_THAT(decision.ranking, ElementsAre("first"));
  EXPECT_EQ(decision.find("wrong")->verdict, Verdict::wrong);
  EXPECT_EQ(decision.find("outside")->verdict, Verdict::wrong);
  EXPECT_EQ(decision.find("refused")->verdict, Verdict::launch_failed);
  EXPECT_EQ(decision.find("unbuildable")->verdict, Verdict::build_failed);
  EXPECT_EQ(decision.find("untimeable")->verdict, Verdict::not_timed);
  EXPECT_EQ(decision.find("flaky")->verdict, Verdict::launch_failed);
  EXPECT_EQ(world.device->launches("wrong"), 1u) << "and never again";
}

TEST(Background, AWinnerThatIsFoundWrongLeaves) {
  ToyWorld world(toy_script({{"naive", 1e-3}, {"first", kFirst}, {"second", kWorse}, {"later", 1}}),
                 {{"naive", -1}, {"first", 3}, {"second", 3}, {"later", 2}}, in_memory());
  ASSERT_TRUE(world.call());
  ASSERT_EQ(world.report.candidate, "first");
  // Right in every call (the caller's output is another one), wrong where it is checked.
  FakeBehaviour turned = toy(kFirst);
  turned.entry = [](const void* args) -> Status {
    const auto& toy = *static_cast<const ToyArgs*>(args);
    if (Status done = toy_kernel(args); !done) return done;
    if (toy.out[toy.size] == ToyTrial::kPoison) toy.out[0] += 1;
    return {};
  };
  world.device->set_behaviour("first", turned);
  std::vector<float> in(64, 1), out(64 + 1);
  for (int i = 0; i < kLatest; ++i) {
    ASSERT_TRUE(world.tuner->execute({64, ""}, {in.data(), out.data(), 64}, {}));
    ASSERT_EQ(out[0], 2);
  }
  EXPECT_EQ(world.decision().winner, "second");
  EXPECT_EQ(world.verdict("first"), Verdict::wrong);
}

TEST(Background, ATrialThatCannotBeMadeIsTriedLessAndLess) {
  FakeScript script = toy_script({{"naive", 1e-3}, {"first", kFirst}, {"later", kBetter}});
  auto device = std::make_shared<FakeClient>(script);
  int trials = 0;
  bool possible = true;
  Settings settings = in_memory();
  TempFolder folder;
  settings.environment = "local";
  TuneContext context(device, settings, Folders{folder.path(), folder.path()});
  auto describe = [&](TunableSet<ToyKey, ToyArgs>& set) {
    describe_toy(kRounds)(set);
    set.inputs(
        [&](const ToyKey&, const ToyArgs& args, Stream) -> Result<std::unique_ptr<Trial<ToyArgs>>> {
          ++trials;
          if (!possible) return fail(ErrorKind::out_of_memory, "none is left");
          return ToyTrial::make(*device, args);
        });
  };
  Tuner<ToyKey, ToyArgs> tuner(context, "toy", describe);
  std::vector<float> in(64, 1), out(64);
  const ToyArgs args{in.data(), out.data(), 64};
  ASSERT_TRUE(tuner.execute({64, ""}, args, {}));
  possible = false;
  for (int i = 0; i < 3 * kLatest; ++i) ASSERT_TRUE(tuner.execute({64, ""}, args, {}));
  EXPECT_GT(trials, 2);
  EXPECT_LT(trials, 12);
  possible = true;
  CallReport report;
  for (int i = 0; i < 10 * kLatest && report.candidate != "later"; ++i) {
    ASSERT_TRUE(tuner.execute({64, ""}, args, {}, &report));
  }
  EXPECT_EQ(report.candidate, "later");
}

ToyCandidate guessed(const std::string& name, int group, double seconds) {
  ToyCandidate candidate{name, group};
  candidate.predicted = [seconds](const ToyArgs&) { return seconds; };
  return candidate;
}

TEST(Background, GuessesOrderWhatIsTriedAndLeaveTheSlowOut) {
  ToyWorld world(toy_script({{"naive", 1e-3},
                             {"first", kFirst},
                             {"far", 0.9 * kFirst},
                             {"near", 0.95 * kFirst},
                             {"hopeless", kBetter}}),
                 {guessed("naive", -1, 1), guessed("first", 3, 2), guessed("far", 2, 3),
                  guessed("near", 2, 2.5), guessed("hopeless", 2, 9)},
                 in_memory());
  ASSERT_TRUE(world.call());
  std::vector<std::string> order;
  for (int i = 0; i < kLatest; ++i) {
    ASSERT_TRUE(world.call());
    for (const char* name : {"far", "near"}) {
      if (world.device->launches(name) > 0 && std::ranges::count(order, name) == 0) {
        order.emplace_back(name);
      }
    }
  }
  EXPECT_THAT(order, ElementsAre("near", "far"));
  EXPECT_EQ(world.device->launches("hopeless"), 0u);
}

TEST(Background, ThoseThatTheGuessesLeftOutComeLast) {
  // In the first round the guesses leave out who is expected to take 2.5 times the best.
  ToyWorld world(toy_script({{"naive", 1e-3},
                             {"best", 2 * kFirst},
                             {"first", 1.9 * kFirst},
                             {"left_out", kFirst},
                             {"later", 1.95 * kFirst}}),
                 {guessed("naive", -1, 1e-3), guessed("best", 3, 1e-4), guessed("first", 3, 2.4e-4),
                  guessed("left_out", 3, 2.6e-4), guessed("later", 2, 2e-4)},
                 in_memory());
  ASSERT_TRUE(world.call());
  ASSERT_EQ(world.report.candidate, "first");
  while (world.device->launches("later") == 0) ASSERT_TRUE(world.call());
  EXPECT_EQ(world.device->launches("left_out"), 0u);
  const auto calls = calls_until_replaced(world);
  ASSERT_TRUE(calls);
  EXPECT_EQ(world.decision().winner, "left_out");
}

TEST(Background, APartialDecisionIsServedAndCompleted) {
  Settings settings = in_memory(0.5);
  settings.autotune.budget_s = 1e-3;
  ToyWorld world(toy_script({{"naive", 6e-4}, {"slow", 5.5e-4}, {"fast", 5e-4}, {"later", 4e-4}}),
                 {{"naive", 3}, {"slow", 3}, {"fast", 3}, {"later", 2}}, settings);
  ASSERT_TRUE(world.call());
  ASSERT_TRUE(world.decision().partial);
  ASSERT_EQ(world.device->launches("fast"), 0u);
  ASSERT_TRUE(world.call());
  EXPECT_FALSE(world.report.tuned) << "a hit";
  int calls = 0;
  for (; calls < kLatest && world.decision().partial; ++calls) {
    ASSERT_TRUE(world.call());
    EXPECT_FALSE(world.report.tuned);
    if (world.decision().partial) {
      EXPECT_EQ(world.device->launches("later"), 0u);
    }
  }
  EXPECT_LT(calls, kLatest);
  const Decision decision = world.decision();
  EXPECT_EQ(decision.winner, "fast");
  EXPECT_THAT(decision.ranking, ElementsAre("fast", "slow", "naive"));
  for (const char* name : {"naive", "slow", "fast"}) {
    EXPECT_GE(decision.find(name)->samples.size(), 3u) << name;
  }
  ASSERT_TRUE(calls_until_replaced(world));
  EXPECT_EQ(world.decision().winner, "later");
}

TEST(Background, AfterALaunchThatHungTheOthersHaveTheirTurn) {
  ToyWorld world(toy_script({{"naive", 1e-3}, {"hanging", 1e4}, {"good", kFirst}}),
                 {{"naive"}, {"hanging"}, {"good"}}, in_memory());
  ASSERT_TRUE(world.call());
  ASSERT_TRUE(world.decision().partial);
  ASSERT_TRUE(calls_until_replaced(world));
  EXPECT_EQ(world.decision().winner, "good");
  call_often(world);
  EXPECT_EQ(world.device->launches("hanging"), 1u);
  EXPECT_FALSE(world.decision().partial);
}

TEST(Background, WhatWasFoundIsKept) {
  TempFolder folder;
  Settings settings;
  settings.autotune.background = 1;  // a disk may take long
  const FakeScript script =
      toy_script({{"naive", 1e-3}, {"first", kFirst}, {"later", kBetter}, {"last", kWorse}});
  const std::vector<ToyCandidate> candidates = {
      {"naive", -1}, {"first", 3}, {"later", 2}, {"last", 1}};
  {
    ToyWorld world(script, candidates, settings, folder.path());
    ASSERT_TRUE(world.call());
    ASSERT_TRUE(calls_until_replaced(world, 100 * kLatest));
  }
  ToyWorld next(script, candidates, settings, folder.path());
  ASSERT_TRUE(next.call());
  EXPECT_EQ(next.report.origin, Origin::store);
  EXPECT_EQ(next.report.candidate, "later");
  EXPECT_EQ(next.device->launches(), 1u);
  // A process that has an older decision in memory takes over what others found.
  const auto launches_of_later = next.device->launches("later");
  ToyWorld other(script, candidates, settings, folder.path());
  ASSERT_TRUE(other.call());
  while (next.decision().find("last")->samples.empty()) ASSERT_TRUE(next.call());
  EXPECT_GT(next.device->launches("later"), launches_of_later);
  for (int i = 0; i < 100 * kLatest && other.decision().find("last")->samples.empty(); ++i) {
    ASSERT_TRUE(other.call());
  }
  EXPECT_FALSE(other.decision().find("last")->samples.empty());
  EXPECT_EQ(other.device->launches("last"), 0u) << "the other process has measured it";
}

TEST(Background, NothingIsMeasuredWhileAStreamIsRecorded) {
  const auto device = std::make_shared<RecordingClient>(
      toy_script({{"naive", 1e-3}, {"first", kFirst}, {"later", kBetter}}));
  ToyWorld world(device, kRounds, in_memory());
  ASSERT_TRUE(world.call());
  const auto stream = device->create_stream();
  ASSERT_TRUE(stream);
  device->recorded = *stream;
  const auto launches = device->launches();
  for (int i = 0; i < kLatest; ++i) ASSERT_TRUE(world.call(64, "", *stream));
  EXPECT_EQ(device->launches(), launches + kLatest);
  // What was earned meanwhile is not lost.
  const auto calls = calls_until_replaced(world, 2 * kInterval);
  EXPECT_TRUE(calls);
}

TEST(Background, ClocksThatStandOrRunBackwardsDoNoHarm) {
  const std::function<double(double)> clocks[] = {
      [](double) { return 7.0; }, [](double now_s) { return -now_s; },
      [](double now_s) { return 1e9 * now_s; },
      [](double) { return std::numeric_limits<double>::quiet_NaN(); }};
  for (const auto& clock : clocks) {
    FakeScript script = toy_script({{"naive", 1e-3}, {"first", kFirst}, {"later", kBetter}});
    script.clock_shows = clock;
    ToyWorld world(script, kRounds, in_memory());
    ASSERT_TRUE(world.call());
    call_often(world);
    EXPECT_LE(world.decision().cost.background_launches, 100'000u);
    EXPECT_GE(world.decision().cost.background_s, 0);
  }
}

Status call(ToyWorld& world, CallReport* report = nullptr) {
  std::vector<float> in(64, 3), out(in.size());
  Status done = world.tuner->execute({64, ""}, {in.data(), out.data(), 64}, {}, report);
  if (done && out.back() != 6) return fail(ErrorKind::wrong_result, "not 6");
  return done;
}

// Another thread's calls until one of them measures `later`; true when all were served.
std::future<bool> calls_until_a_step(ToyWorld& world) {
  return std::async(std::launch::async, [&world] {
    bool good = true;
    while (world.device->counts("later").asked == 0) good = call(world).has_value() && good;
    return good;
  });
}

TEST(Background, HitsDoNotWaitForAStep) {
  auto gate = std::make_shared<FakeGate>();
  FakeScript script = toy_script({{"naive", 1e-3}, {"first", kFirst}, {"later", kBetter}});
  script.kernels["later"].launch_gate = gate;
  ToyWorld world(script, kRounds, in_memory());
  ASSERT_TRUE(call(world));
  auto stepping = calls_until_a_step(world);
  ASSERT_TRUE(gate->wait_for_arrivals(1));
  for (int i = 0; i < kLatest; ++i) ASSERT_TRUE(call(world));
  EXPECT_EQ(world.decision().winner, "first");
  gate->open();
  EXPECT_TRUE(stepping.get());
  EXPECT_EQ(world.decision().winner, "later");
}

TEST(Background, AStepOfAnEnvironmentThatWasLeftSaysNothingInTheNext) {
  auto gate = std::make_shared<FakeGate>();
  FakeScript script = toy_script({{"naive", 1e-3}, {"first", kFirst}, {"later", kBetter}});
  script.kernels["later"].launch_gate = gate;
  ToyWorld world(script, kRounds, in_memory());
  ASSERT_TRUE(call(world));
  auto stepping = calls_until_a_step(world);
  ASSERT_TRUE(gate->wait_for_arrivals(1));
  ASSERT_TRUE(world.context->use_environment("other"));
  gate->open();
  EXPECT_TRUE(stepping.get());
  EXPECT_EQ(world.decision().winner, "");
  CallReport report;
  ASSERT_TRUE(call(world, &report));
  EXPECT_TRUE(report.tuned);
  EXPECT_EQ(report.candidate, "first");
}

TEST(Background, ManyThreadsFindTheBestOnce) {
  FakeScript script = toy_script({{"naive", 1e-3}, {"first", kFirst}});
  std::vector<ToyCandidate> candidates = {{"naive", -1}, {"first", 9}};
  for (int i = 0; i < 5; ++i) {
    const std::string name = "later" + std::to_string(i);
    script.kernels[name] = toy(kFirst * (0.9 - 0.1 * i));
    candidates.push_back({name, 8 - i});
  }
  ToyWorld world(script, candidates, in_memory(0.5));
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      // The clock of the device is everybody's, so that a step seems to last as long as all that
      // the others do meanwhile.
      for (int i = 0; i < 10 * kLatest; ++i) {
        wrong += call(world) ? 0 : 1;
        if (i % 100 == 0 && world.decision().replaced.size() == 5) break;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(world.decision().winner, "later4");
  EXPECT_EQ(world.decision().replaced.size(), 5u);
}

}  // namespace
}  // namespace rooftune
