// autotune.mode = "online": the calls are the samples.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "toy_operation.h"

namespace rooftune {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::SizeIs;

constexpr double kFast = 1e-4, kMedium = 1.4e-4, kSlow = 3e-4, kSlowest = 1e-3;
// A sample needs no more than this many calls here; there are some candidates.
constexpr int kMany = 200;

Settings online() {
  Settings settings;
  settings.autotune.mode = Mode::online;
  return settings;
}

ToyCandidate guessed(const std::string& name, double seconds, int group = 0) {
  ToyCandidate candidate{name, group};
  candidate.predicted = [seconds](const ToyArgs&) { return seconds; };
  return candidate;
}

// A toy operation that checks its results.
class OnlineWorld : public ToyWorld {
 public:
  OnlineWorld(FakeScript script, const std::vector<ToyCandidate>& candidates,
              const Settings& settings = online(), const std::filesystem::path& folder = {},
              double check_s = 0)
      : OnlineWorld(std::make_shared<FakeClient>(std::move(script)), candidates, settings, folder,
                    check_s) {}
  OnlineWorld(const std::shared_ptr<FakeClient>& on, const std::vector<ToyCandidate>& candidates,
              const Settings& settings = online(), const std::filesystem::path& folder = {},
              double check_s = 0)
      : ToyWorld(on, candidates, settings, folder, checking_results(on, check_s)) {}

  // Calls until one is a hit; the device's seconds of each call before.
  std::vector<double> calls_until_decided(std::int64_t size = 64) {
    std::vector<double> seconds;
    for (int call = 0; call < kMany; ++call) {
      const double begin = device->now_s();
      const Status done = this->call(size);
      EXPECT_TRUE(done) << done.error().text;
      if (report.origin == Origin::memory) return seconds;
      seconds.push_back(device->now_s() - begin);
    }
    ADD_FAILURE() << "no decision after " << kMany << " calls";
    return seconds;
  }
};

TEST(Online, CallsFindTheWinnerAndNothingIsMeasuredApart) {
  OnlineWorld world(toy_script({{"naive", kSlow}, {"medium", kMedium}, {"fast", kFast}}),
                    {{"naive"}, {"medium"}, {"fast"}});
  const auto seconds = world.calls_until_decided();
  EXPECT_EQ(world.report.candidate, "fast");
  EXPECT_FALSE(world.report.tuned);
  EXPECT_EQ(world.device->launches(), seconds.size() + 1) << "one launch for each call";
  EXPECT_THAT(seconds, SizeIs(Le(30u)));
  const Decision decision = world.decision();
  EXPECT_EQ(decision.winner, "fast");
  EXPECT_EQ(decision.mode, Mode::online);
  EXPECT_EQ(decision.not_online, "");
  EXPECT_FALSE(decision.partial);
  EXPECT_TRUE(decision.verified);
  EXPECT_EQ(decision.cost.launches, seconds.size());
  EXPECT_FALSE(decision.bound) << "probes would have held up a call";
}

TEST(Online, ACallThatIsASampleSaysSo) {
  OnlineWorld world(toy_script({{"naive", kSlow}, {"fast", kFast}}), {{"naive"}, {"fast"}});
  ASSERT_TRUE(world.call());
  EXPECT_EQ(world.device->launches(), 1u);
  EXPECT_EQ(world.report.candidate, "naive") << "the untuned choice is first";
  EXPECT_EQ(world.report.origin, Origin::measured);
  EXPECT_TRUE(world.report.tuned);
  EXPECT_TRUE(world.report.online);
  world.calls_until_decided();
  EXPECT_FALSE(world.report.online);
}

TEST(Online, NoCallTakesMuchLongerThanTheWinnerWhereGuessesHold) {
  // Guesses are off by up to a quarter either way; the check costs as much as half a product.
  FakeScript script = toy_script({{"naive", kSlowest},
                                  {"a", kFast * 1.3},
                                  {"b", kFast},
                                  {"c", kFast * 1.2},
                                  {"d", kFast * 1.7},
                                  {"e", kFast * 4},
                                  {"f", kFast * 8}});
  for (auto& [name, kernel] : script.kernels) kernel.ahead_of_time = true;
  OnlineWorld world(script,
                    {guessed("naive", kSlowest), guessed("a", kFast), guessed("b", kFast * 1.1),
                     guessed("c", kFast * 1.2), guessed("d", kFast * 1.5), guessed("e", kFast * 3),
                     guessed("f", kFast * 9)},
                    online(), {}, kFast / 2);
  std::vector<double> seconds = world.calls_until_decided();
  EXPECT_EQ(world.report.candidate, "b");
  ASSERT_FALSE(seconds.empty());
  seconds.erase(seconds.begin());
  EXPECT_THAT(seconds, Each(Le(2.2 * kFast)));
  EXPECT_EQ(world.device->launches("naive"), 0u);
  EXPECT_EQ(world.device->launches("e"), 0u);
  EXPECT_EQ(world.verdict("e"), Verdict::eliminated);
}

TEST(Online, VeryShortOnesHaveTheirFirstLaunchesInTheFirstCall) {
  constexpr double kShort = 2e-5;
  FakeScript script = toy_script({{"naive", kShort},
                                  {"fast", kShort / 2},
                                  {"refused", kShort},
                                  {"partial", kShort},
                                  {"wrong", kShort}});
  script.kernels["refused"].launch_error = Error{ErrorKind::launch_failed, "too big"};
  script.kernels["partial"].damage = FakeOutput::partial;
  script.kernels["wrong"].damage = FakeOutput::wrong;
  for (auto& [name, kernel] : script.kernels) kernel.ahead_of_time = true;
  std::vector<ToyCandidate> candidates;
  for (const char* name : {"naive", "fast", "refused", "partial", "wrong"}) {
    candidates.push_back(guessed(name, kShort));
  }
  OnlineWorld world(script, candidates);
  ASSERT_TRUE(world.call());  // looks at the result
  EXPECT_EQ(world.report.candidate, "naive") << "once more, after those that were wrong";
  EXPECT_TRUE(world.report.online);
  for (const char* name : {"fast", "partial", "wrong"}) {
    EXPECT_EQ(world.device->launches(name), 1u) << name;
  }
  world.calls_until_decided();
  EXPECT_EQ(world.report.candidate, "fast");
  EXPECT_EQ(world.verdict("refused"), Verdict::launch_failed);
  for (const char* name : {"partial", "wrong"}) {
    EXPECT_EQ(world.device->launches(name), 1u) << name;
    EXPECT_EQ(world.verdict(name), Verdict::wrong);
  }
}

TEST(Online, FirstLaunchesInTheFirstCallStopWhenTheyTakeLongAfterAll) {
  constexpr double kShort = 2e-5;
  FakeScript script;
  std::vector<ToyCandidate> candidates;
  for (int i = 0; i < 8; ++i) {
    const std::string name = "k" + std::to_string(i);
    script.kernels[name] = toy(4e-4);
    script.kernels[name].ahead_of_time = true;
    candidates.push_back(guessed(name, kShort));
  }
  OnlineWorld world(script, candidates);
  ASSERT_TRUE(world.call());
  EXPECT_EQ(world.device->launches(), 4u) << "a millisecond after the first";
  world.calls_until_decided();
  for (const auto& [name, kernel] : script.kernels) EXPECT_GT(world.device->launches(name), 1u);
}

TEST(Online, WhatIsFarBehindRunsTwiceAtMost) {
  // Nothing is known of the slow one before it has run, and its first time might have been an
  // accident. Two are left, which a search would keep.
  OnlineWorld world(toy_script({{"naive", 0.01}, {"slow", 0.05}}), {{"naive"}, {"slow"}});
  world.calls_until_decided();
  EXPECT_EQ(world.device->launches("slow"), 2u);
  EXPECT_EQ(world.verdict("slow"), Verdict::eliminated);
  EXPECT_EQ(world.report.candidate, "naive");
}

TEST(Online, ADisturbedFirstCallDoesNotEndTheRace) {
  FakeScript script = toy_script({{"naive", 0.01}, {"fast", 0.008}});
  script.kernels["fast"].seconds_of = [](const FakeLaunch& launch) {
    return launch.index == 0 ? 0.5 : 0.008;
  };
  OnlineWorld world(script, {{"naive"}, {"fast"}});
  world.calls_until_decided();
  EXPECT_EQ(world.report.candidate, "fast");
}

TEST(Online, TheNumberOfCallsIsBoundedWhateverTheNoise) {
  FakeScript script;
  std::vector<ToyCandidate> candidates;
  for (int i = 0; i < 6; ++i) {
    const std::string name = "k" + std::to_string(i);
    script.kernels[name] = toy(kFast);
    script.kernels[name].noise = {.sigma = 0.2, .outlier_chance = 0.1};
    candidates.push_back({name});
  }
  OnlineWorld world(script, candidates);
  // At most max_samples each, the first run of each, and a second sample of the leader a pass.
  EXPECT_THAT(world.calls_until_decided(), SizeIs(Le(6u * 11 + 10 + 3 * 7)));
}

TEST(Online, AWrongCandidateIsNeverSeen) {
  FakeScript script = toy_script({{"naive", kSlow}, {"wrong", kFast}, {"partial", kFast}});
  script.kernels["wrong"].damage = FakeOutput::wrong;
  script.kernels["partial"].damage = FakeOutput::partial;
  OnlineWorld world(script, {{"naive"}, {"wrong"}, {"partial"}});
  world.calls_until_decided();  // checks every result
  EXPECT_EQ(world.report.candidate, "naive");
  EXPECT_EQ(world.device->launches("wrong"), 1u);
  EXPECT_EQ(world.verdict("wrong"), Verdict::wrong);
  EXPECT_EQ(world.verdict("partial"), Verdict::wrong);
}

TEST(Online, AWrongUntunedChoiceIsNotSeenAtTheFirstCallEither) {
  FakeScript script = toy_script({{"naive", kSlow}, {"wrong", kFast}, {"good", kFast}});
  script.kernels["wrong"].damage = FakeOutput::wrong;
  OnlineWorld world(script, {{"naive", 0}, {"wrong", 3}, {"good", 3}});
  ASSERT_TRUE(world.call());
  EXPECT_NE(world.report.candidate, "wrong");
  EXPECT_EQ(world.device->launches("wrong"), 1u);
  world.calls_until_decided();
  EXPECT_EQ(world.report.candidate, "good");
}

TEST(Online, ThoseThatFailAreLeftOut) {
  FakeScript script = toy_script({{"naive", kSlow}, {"refused", kFast}, {"unbuilt", kFast}});
  script.kernels["refused"].launch_error = Error{ErrorKind::launch_failed, "too many registers"};
  script.kernels["unbuilt"].build_error = Error{ErrorKind::build_failed, "syntax"};
  OnlineWorld world(script, {{"naive"}, {"refused"}, {"unbuilt"}});
  world.calls_until_decided();
  EXPECT_EQ(world.report.candidate, "naive");
  EXPECT_EQ(world.verdict("refused"), Verdict::launch_failed);
  EXPECT_EQ(world.verdict("unbuilt"), Verdict::build_failed);
}

TEST(Online, ALeaderThatFailsLaterIsReplacedInTheSameCall) {
  FakeScript script = toy_script({{"naive", kSlow}, {"fast", kFast}});
  script.kernels["fast"].launch_error = Error{ErrorKind::launch_failed, "no more"};
  script.kernels["fast"].fails_from = 3;
  OnlineWorld world(script, {{"naive"}, {"fast"}});
  world.calls_until_decided();
  EXPECT_EQ(world.report.candidate, "naive");
  EXPECT_EQ(world.verdict("fast"), Verdict::launch_failed);
}

TEST(Online, WhenNothingRunsTheErrorListsTheReasons) {
  FakeScript script = toy_script({{"naive", kSlow}, {"fast", kFast}});
  for (const char* name : {"naive", "fast"}) {
    script.kernels[name].launch_error = Error{ErrorKind::launch_failed, "too many registers"};
    script.kernels[name].fails_until = 1;
  }
  OnlineWorld world(script, {{"naive"}, {"fast"}});
  const Status failed = world.call();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind, ErrorKind::no_candidate);
  EXPECT_THAT(failed.error().text, HasSubstr("too many registers"));
  EXPECT_TRUE(world.call()) << "what failed once is tried again when nothing else is there";
}

TEST(Online, ARoundThatFailsIsFollowedByTheNext) {
  FakeScript script = toy_script({{"naive", kSlow}, {"second", kFast}, {"wrong", kFast}});
  script.kernels["wrong"].damage = FakeOutput::wrong;
  OnlineWorld world(script, {{"naive", 0}, {"second", 2}, {"wrong", 3}});
  world.calls_until_decided();
  EXPECT_EQ(world.report.candidate, "second");
}

TEST(Online, ACheckThatCostsMoreThanTheProductDoesNotKeepCandidatesOut) {
  OnlineWorld world(toy_script({{"naive", kMedium}, {"fast", kFast}}),
                    {guessed("naive", kMedium), guessed("fast", kMedium)}, online(), {}, kSlow);
  world.calls_until_decided();
  EXPECT_EQ(world.report.candidate, "fast");
}

TEST(Online, KernelsShorterThanTheClockAreAddedUp) {
  FakeScript script = toy_script({{"naive", 3e-6}, {"fast", 1e-6}});
  script.capabilities.clock_resolution_s = 4e-7;
  OnlineWorld world(script, {{"naive"}, {"fast"}});
  world.calls_until_decided();
  EXPECT_EQ(world.report.candidate, "fast");
  EXPECT_GT(world.device->launches("fast"), 2 * 8u) << "each sample is the sum of eight";
}

TEST(Online, AClockThatStandsStillStoresNothing) {
  TempFolder folder;
  FakeScript script = toy_script({{"naive", kSlow}, {"fast", kFast}});
  for (auto& [name, kernel] : script.kernels) kernel.timing = FakeTiming::stands_still;
  {
    OnlineWorld world(script, {{"naive"}, {"fast"}}, online(), folder.path());
    world.calls_until_decided();
    EXPECT_EQ(world.decision().origin, Origin::memory);
    EXPECT_EQ(world.verdict("fast"), Verdict::not_timed);
  }
  OnlineWorld later(script, {{"naive"}, {"fast"}}, online(), folder.path());
  EXPECT_EQ(later.decision().winner, "");
}

TEST(Online, OperandsThatSayNothingLeaveTheDecisionUnverified) {
  OnlineWorld world(toy_script({{"naive", kSlow}, {"fast", kFast}}), {{"naive"}, {"fast"}});
  const ToyKey key = anchored_key(ToyKey{64, ""}, Level::balanced);
  const std::vector<float> zeros(64);
  std::vector<float> out(64);
  for (int call = 0; call < kMany && world.report.origin != Origin::memory; ++call) {
    ASSERT_TRUE(
        world.tuner->execute(key, ToyArgs{zeros.data(), out.data(), 64}, {}, &world.report));
  }
  EXPECT_EQ(world.decision().winner, "fast");
  EXPECT_FALSE(world.decision().verified);
}

TEST(Online, OperandsThatSayNothingAreFollowedByOthers) {
  FakeScript script = toy_script({{"naive", kSlow}, {"wrong", kFast}});
  script.kernels["wrong"].damage = FakeOutput::wrong;
  OnlineWorld world(script, {{"naive"}, {"wrong"}});
  const ToyKey key = anchored_key(ToyKey{64, ""}, Level::balanced);
  const std::vector<float> zeros(64);
  std::vector<float> out(64);
  for (int call = 0; call < 4; ++call) {
    ASSERT_TRUE(
        world.tuner->execute(key, ToyArgs{zeros.data(), out.data(), 64}, {}, &world.report));
  }
  world.calls_until_decided();
  EXPECT_EQ(world.verdict("wrong"), Verdict::wrong);
  EXPECT_TRUE(world.decision().verified);
}

TEST(Online, AnotherProcessHasTheDecision) {
  TempFolder folder;
  const auto script = toy_script({{"naive", kSlow}, {"fast", kFast}});
  {
    OnlineWorld world(script, {{"naive"}, {"fast"}}, online(), folder.path());
    world.calls_until_decided();
  }
  OnlineWorld later(script, {{"naive"}, {"fast"}}, online(), folder.path());
  ASSERT_TRUE(later.call());
  EXPECT_EQ(later.report.origin, Origin::store);
  EXPECT_EQ(later.report.candidate, "fast");
  EXPECT_EQ(later.decision().mode, Mode::online);
  ASSERT_TRUE(later.call());
  EXPECT_EQ(later.report.origin, Origin::memory);
  EXPECT_EQ(later.device->launches(), 2u);
}

TEST(Online, WhatADeadProcessKnewIsGoneOnWith) {
  TempFolder folder;
  FakeScript script;
  std::vector<ToyCandidate> candidates;
  for (int i = 0; i < 4; ++i) {
    const std::string name = "k" + std::to_string(i);
    script.kernels[name] = toy(0.1);
    script.kernels[name].noise = {.sigma = 0.3};
    candidates.push_back({name});
  }
  {
    OnlineWorld world(script, candidates, online(), folder.path());
    for (int call = 0; call < 12; ++call) ASSERT_TRUE(world.call());
    ASSERT_EQ(world.tuner->decisions().size(), 0u) << "not decided yet, or the test says nothing";
  }
  OnlineWorld later(script, candidates, online(), folder.path());
  const Decision partial = later.decision();
  EXPECT_TRUE(partial.partial);
  EXPECT_EQ(partial.mode, Mode::online);
  later.calls_until_decided();
  const Decision whole = later.decision();
  EXPECT_FALSE(whole.partial);
  std::size_t known = 0;
  for (const CandidateEvidence& before : partial.candidates) {
    const auto& after = whole.find(before.name)->samples;
    known += before.samples.size();
    ASSERT_LE(before.samples.size(), after.size());
    EXPECT_TRUE(std::equal(before.samples.begin(), before.samples.end(), after.begin()));
  }
  EXPECT_GT(known, 4u);
}

TEST(Online, ASessionThatClosesEarlyLeavesWhatItKnows) {
  TempFolder folder;
  const auto script = toy_script({{"naive", kSlow}, {"medium", kMedium}, {"fast", kFast}});
  const std::vector<ToyCandidate> candidates = {{"naive"}, {"medium"}, {"fast"}};
  {
    OnlineWorld world(script, candidates, online(), folder.path());
    for (int call = 0; call < 4; ++call) ASSERT_TRUE(world.call());
  }
  OnlineWorld later(script, candidates, online(), folder.path());
  EXPECT_TRUE(later.decision().partial);
  EXPECT_THAT(later.decision().find("naive")->samples, SizeIs(1));
  ASSERT_TRUE(later.call());
  EXPECT_EQ(later.report.candidate, "fast") << "whose turn it was";
}

TEST(Online, WhatIsKnownOfOneEnvironmentIsNotToldToAnother) {
  TempFolder folder;
  const auto script = toy_script({{"naive", kSlow}, {"fast", kFast}});
  {
    OnlineWorld world(script, {{"naive"}, {"fast"}}, online(), folder.path());
    for (int call = 0; call < 3; ++call) ASSERT_TRUE(world.call());
    ASSERT_TRUE(world.context->use_environment("other"));
  }
  Settings other = online();
  other.environment = "other";
  OnlineWorld later(script, {{"naive"}, {"fast"}}, other, folder.path());
  EXPECT_EQ(later.decision().winner, "");
}

TEST(Online, OtherThreadsRunWhatIsKnownToBeRightAndDoNotWait) {
  FakeScript script = toy_script({{"naive", kSlow}, {"held", kFast}});
  auto gate = std::make_shared<FakeGate>();
  script.kernels["held"].launch_gate = gate;
  OnlineWorld world(script, {{"naive"}, {"held"}});
  ASSERT_TRUE(world.call());
  ASSERT_TRUE(world.call());
  std::thread sampling([&] { EXPECT_TRUE(world.call()); });
  ASSERT_TRUE(gate->wait_for_arrivals(1));
  const ToyKey key = anchored_key(ToyKey{64, ""}, Level::balanced);
  const std::vector<float> in(64, 1.5f);
  std::vector<float> out(64);
  CallReport report;
  EXPECT_TRUE(world.tuner->execute(key, ToyArgs{in.data(), out.data(), 64}, {}, &report));
  EXPECT_EQ(report.candidate, "naive");
  EXPECT_FALSE(report.tuned);
  EXPECT_THAT(out, Each(3.f));
  gate->open();
  sampling.join();
}

TEST(Online, ManyThreadsAgreeOnADecision) {
  FakeScript script =
      toy_script({{"naive", kSlow}, {"wrong", kFast / 2}, {"medium", kMedium}, {"fast", kFast}});
  script.kernels["wrong"].damage = FakeOutput::wrong;
  OnlineWorld world(script, {{"naive"}, {"wrong"}, {"medium"}, {"fast"}});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const ToyKey key = anchored_key(ToyKey{64, ""}, Level::balanced);
      const std::vector<float> in(64, 1.5f);
      for (int call = 0; call < kMany; ++call) {
        std::vector<float> out(64);
        CallReport report;
        ASSERT_TRUE(world.tuner->execute(key, ToyArgs{in.data(), out.data(), 64}, {}, &report));
        ASSERT_THAT(out, Each(3.f)) << report.candidate;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(world.decision().winner, "fast");
}

TEST(Online, OtherSizesOfTheKeyRunTheLeader) {
  OnlineWorld world(toy_script({{"naive", kSlow}, {"fast", kFast}}), {{"naive"}, {"fast"}});
  ASSERT_TRUE(world.call(64));
  ASSERT_TRUE(world.call(50));
  EXPECT_FALSE(world.report.tuned);
  EXPECT_EQ(world.report.candidate, "naive");
  ASSERT_TRUE(world.call(64));
  EXPECT_TRUE(world.report.tuned);
}

TEST(Online, SizesThatDoNotComeBackAreSampledInProportion) {
  FakeScript script = toy_script({{"naive", kSlow}, {"fast", kFast}});
  for (auto& [name, kernel] : script.kernels) {
    kernel.seconds_of = [seconds = kernel.seconds](const FakeLaunch& launch) {
      return seconds * double(static_cast<const ToyArgs*>(launch.args)->size) / 1024;
    };
  }
  OnlineWorld world(script, {{"naive"}, {"fast"}});
  for (std::int64_t size = 1024; size > 512 && world.report.origin != Origin::memory; --size) {
    ASSERT_TRUE(world.call(size));
  }
  EXPECT_EQ(world.report.origin, Origin::memory);
  EXPECT_EQ(world.report.candidate, "fast");
}

TEST(Online, ACandidateThatIsIllegalHereWaitsForAnotherCall) {
  OnlineWorld world(toy_script({{"naive", kSlow}, {"even", kFast}}),
                    {{"naive"}, {"even", 0, 0, "1", [](const ToyArgs& args) {
                                   return args.size % 2 == 0 ? nullptr : "needs an even size";
                                 }}});
  world.calls_until_decided(64);
  EXPECT_EQ(world.report.candidate, "even");
  ASSERT_TRUE(world.call(63));
  EXPECT_EQ(world.report.candidate, "naive");
}

TEST(Online, CandidatesAreBuiltWhileTheCallsGoOn) {
  FakeScript script = toy_script({{"naive", kSlow}, {"fast", kFast}});
  script.capabilities.compiles_at_run_time = true;
  auto gate = std::make_shared<FakeGate>();
  script.kernels["fast"].build_gate = gate;
  OnlineWorld world(script, {guessed("naive", kFast), guessed("fast", kMedium)});
  for (int call = 0; call < 10; ++call) {
    ASSERT_TRUE(world.call()) << "while the other is being built";
    EXPECT_EQ(world.report.candidate, "naive");
  }
  gate->open();
  for (int call = 0; call < 100'000 && world.report.origin != Origin::memory; ++call) {
    ASSERT_TRUE(world.call());
  }
  EXPECT_EQ(world.report.candidate, "fast");
}

TEST(Online, AnOperationWithoutACheckIsTunedApartAndSaysSo) {
  ToyWorld world(toy_script({{"naive", kSlow}, {"fast", kFast}}), {{"naive"}, {"fast"}}, online());
  ASSERT_TRUE(world.call());
  EXPECT_EQ(world.report.candidate, "fast");
  EXPECT_FALSE(world.report.online);
  EXPECT_EQ(world.decision().mode, Mode::measure);
  EXPECT_THAT(world.decision().not_online, HasSubstr("no check"));
}

TEST(Online, WithoutVerificationNoCheckIsWanted) {
  Settings settings = online();
  settings.autotune.verify = false;
  ToyWorld world(toy_script({{"naive", kSlow}, {"fast", kFast}}), {{"naive"}, {"fast"}}, settings);
  for (int call = 0; call < kMany && world.report.origin != Origin::memory; ++call) {
    ASSERT_TRUE(world.call());
  }
  EXPECT_EQ(world.report.candidate, "fast");
  EXPECT_EQ(world.decision().mode, Mode::online);
  EXPECT_FALSE(world.decision().verified);
}

TEST(Online, ARecordedCallIsNoSampleAndRunsTheLeader) {
  const auto device = std::make_shared<RecordingClient>(
      toy_script({{"naive", kSlow}, {"medium", kMedium}, {"fast", kFast}}));
  const auto stream = device->create_stream();
  ASSERT_TRUE(stream);
  device->recorded = *stream;
  OnlineWorld world(device, {{"naive"}, {"fast"}, {"medium"}});
  ASSERT_TRUE(world.call(64, "", *stream));
  EXPECT_EQ(world.report.candidate, "naive");
  EXPECT_FALSE(world.report.tuned);
  for (int call = 0; call < 4; ++call) ASSERT_TRUE(world.call());
  ASSERT_EQ(world.device->launches("fast"), 2u) << "or the test says nothing";
  device->clear_calls();
  ASSERT_TRUE(world.call(64, "", *stream));
  EXPECT_EQ(world.report.candidate, "fast");
  EXPECT_FALSE(world.report.tuned);
  EXPECT_THAT(device->calls(), SizeIs(1));
  EXPECT_THAT(device->calls(), Contains(testing::Field(&FakeCall::stream, stream->native)));
}

TEST(Online, AnotherEnvironmentBeginsAnew) {
  OnlineWorld world(toy_script({{"naive", kSlow}, {"fast", kFast}}), {{"naive"}, {"fast"}});
  world.calls_until_decided();
  ASSERT_TRUE(world.context->use_environment("other"));
  ASSERT_TRUE(world.call());
  EXPECT_TRUE(world.report.online);
  ASSERT_TRUE(world.context->use_environment("third")) << "with a key in progress";
  world.calls_until_decided();
  EXPECT_EQ(world.report.candidate, "fast");
}

}  // namespace
}  // namespace rooftune
