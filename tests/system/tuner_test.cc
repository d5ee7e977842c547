// The tuner on the fake device: choosing, measuring, refusing. See tuner_store_test.cc and
// tuner_concurrency_test.cc for memory beyond the process and for threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>

#include "base/json.h"
#include "toy_operation.h"

namespace rooftune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Far from the roofline, so that nothing ends early unless a test wants it.
constexpr double kSlowest = 1e-3, kFast = 1e-4;

TEST(Tuner, MeasuresAtTheFirstCallAndRemembers) {
  ToyWorld world(toy_script({{"naive", kSlowest}, {"fast", kFast}, {"medium", 1.3e-4}}),
                 {{"naive"}, {"fast"}, {"medium"}});
  ASSERT_TRUE(world.call());
  EXPECT_TRUE(world.report.tuned);
  EXPECT_EQ(world.report.origin, Origin::measured);
  EXPECT_EQ(world.report.candidate, "fast");
  const auto launches = world.device->launches();
  ASSERT_TRUE(world.call());
  EXPECT_FALSE(world.report.tuned);
  EXPECT_EQ(world.report.origin, Origin::memory);
  EXPECT_EQ(world.device->launches(), launches + 1);
  const Decision decision = world.decision();
  EXPECT_THAT(decision.ranking, ElementsAre("fast", "medium", "naive"));
  EXPECT_EQ(decision.find("naive")->verdict, Verdict::eliminated);
  EXPECT_EQ(decision.find("medium")->verdict, Verdict::ranked);
  EXPECT_TRUE(decision.verified);
  EXPECT_FALSE(decision.partial);
  EXPECT_THAT(world.warnings, ElementsAre());
}

TEST(Tuner, AnchoredSizesShareADecision) {
  ToyWorld world(toy_script({{"naive", kSlowest}, {"fast", kFast}}), {{"naive"}, {"fast"}});
  ASSERT_TRUE(world.call(100));
  ASSERT_TRUE(world.call(128));
  EXPECT_FALSE(world.report.tuned);
  ASSERT_TRUE(world.call(129));
  EXPECT_TRUE(world.report.tuned);
}

TEST(Tuner, WrongPartialAndOutsideWritersAreExcluded) {
  FakeScript script = toy_script({{"naive", kSlowest},
                                  {"wrong", 1e-5},
                                  {"partial", 1e-5},
                                  {"outside", 1e-5},
                                  {"good", kFast}});
  script.kernels["wrong"].damage = FakeOutput::wrong;
  script.kernels["partial"].damage = FakeOutput::partial;
  script.kernels["outside"].damage = FakeOutput::outside;
  ToyWorld world(script, {{"naive"}, {"wrong"}, {"partial"}, {"outside"}, {"good"}});
  ASSERT_TRUE(world.call());
  EXPECT_EQ(world.report.candidate, "good");
  const Decision decision = world.decision();
  for (const char* name : {"wrong", "partial", "outside"}) {
    EXPECT_EQ(decision.find(name)->verdict, Verdict::wrong) << name;
    EXPECT_FALSE(decision.find(name)->reason.empty());
    EXPECT_EQ(std::count(decision.ranking.begin(), decision.ranking.end(), name), 0);
    // Tried exactly once.
    EXPECT_EQ(world.device->launches(name), 1u) << name;
  }
}

TEST(Tuner, FailuresAreRecordedAndNeverEscape) {
  FakeScript script = toy_script({{"naive", kSlowest},
                                  {"unbuildable", 1e-5},
                                  {"refused", 1e-5},
                                  {"hungry", 1e-5},
                                  {"late", 1e-5},
                                  {"good", kFast}});
  script.kernels["unbuildable"].build_error = Error{ErrorKind::build_failed, "syntax error"};
  script.kernels["refused"].launch_error = Error{ErrorKind::launch_failed, "too many threads"};
  script.kernels["hungry"].launch_error = Error{ErrorKind::out_of_memory, "no scratch memory"};
  script.kernels["late"].late_error = Error{ErrorKind::launch_failed, "misaligned address"};
  ToyWorld world(script, {{"naive"}, {"unbuildable"}, {"refused"}, {"hungry"}, {"late"}, {"good"}});
  ASSERT_TRUE(world.call());
  EXPECT_EQ(world.report.candidate, "good");
  const Decision decision = world.decision();
  EXPECT_EQ(decision.find("unbuildable")->verdict, Verdict::build_failed);
  EXPECT_THAT(decision.find("unbuildable")->reason, HasSubstr("syntax error"));
  EXPECT_EQ(decision.find("refused")->verdict, Verdict::launch_failed);
  EXPECT_THAT(decision.find("refused")->reason, HasSubstr("too many threads"));
  EXPECT_EQ(decision.find("hungry")->verdict, Verdict::launch_failed);
  EXPECT_EQ(decision.find("late")->verdict, Verdict::launch_failed);
}

TEST(Tuner, ALateFailureTakesAwayGoodSamples) {
  FakeScript script = toy_script({{"naive", kSlowest}, {"flaky", 1e-5}, {"good", kFast}});
  script.kernels["flaky"].launch_error = Error{ErrorKind::launch_failed, "now and then"};
  script.kernels["flaky"].fails_from = 2;
  ToyWorld world(script, {{"naive"}, {"flaky"}, {"good"}});
  ASSERT_TRUE(world.call());
  EXPECT_EQ(world.report.candidate, "good");
  EXPECT_EQ(world.verdict("flaky"), Verdict::launch_failed);
}

TEST(Tuner, ImpossibleTimesAreFailedMeasurements) {
  for (const FakeTiming timing :
       {FakeTiming::zero, FakeTiming::negative, FakeTiming::nan, FakeTiming::infinite,
        FakeTiming::error, FakeTiming::stands_still}) {
    FakeScript script = toy_script({{"naive", kSlowest}, {"untimeable", 1e-5}, {"good", kFast}});
    script.kernels["untimeable"].timing = timing;
    ToyWorld world(script, {{"naive"}, {"untimeable"}, {"good"}});
    ASSERT_TRUE(world.call());
    EXPECT_EQ(world.report.candidate, "good") << int(timing);
    EXPECT_EQ(world.verdict("untimeable"), Verdict::not_timed) << int(timing);
    EXPECT_TRUE(parse_json(to_json(world.decision())));
  }
}

TEST(Tuner, WhenNothingCanBeTimedTheFirstThatRanIsUsedAndNotStored) {
  FakeScript script = toy_script({{"naive", kSlowest}, {"other", kFast}});
  for (auto& [name, behaviour] : script.kernels) behaviour.timing = FakeTiming::zero;
  TempFolder folder;
  {
    ToyWorld world(script, {{"naive"}, {"other"}}, {}, folder.path());
    ASSERT_TRUE(world.call());
    EXPECT_EQ(world.report.candidate, "naive");
    EXPECT_EQ(world.report.origin, Origin::fallback);
    // Memory still tunes a key only once.
    const auto launches = world.device->launches();
    ASSERT_TRUE(world.call());
    EXPECT_EQ(world.device->launches(), launches + 1);
  }
  ToyWorld again(script, {{"naive"}, {"other"}}, {}, folder.path());
  ASSERT_TRUE(again.call());
  EXPECT_TRUE(again.report.tuned);
}

TEST(Tuner, WhenARoundCannotBeTimedTheNextGroupIsTried) {
  FakeScript script = toy_script({{"naive", kSlowest}, {"accelerated", 1e-5}, {"plain", kFast}});
  script.kernels["accelerated"].timing = FakeTiming::zero;
  ToyWorld world(script, {{"naive", 0}, {"accelerated", 3}, {"plain", 1}});
  ASSERT_TRUE(world.call());
  EXPECT_EQ(world.report.candidate, "plain");
  const Decision decision = world.decision();
  EXPECT_EQ(decision.find("accelerated")->verdict, Verdict::not_timed);
  EXPECT_EQ(decision.find("naive")->verdict, Verdict::not_tried);
  EXPECT_THAT(decision.rounds,
              ElementsAre(ElementsAre("accelerated"), ElementsAre("plain"), ElementsAre("naive")));
}

TEST(Tuner, WhenNothingRunsTheErrorListsEachReason) {
  FakeScript script = toy_script({{"naive", kSlowest}, {"other", kFast}});
  script.kernels["naive"].launch_error = Error{ErrorKind::launch_failed, "broken in one way"};
  script.kernels["other"].build_error = Error{ErrorKind::build_failed, "broken in another"};
  ToyWorld world(script, {{"naive"}, {"other"}});
  const Status done = world.call();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::no_candidate);
  EXPECT_THAT(done.error().text, HasSubstr("broken in one way"));
  EXPECT_THAT(done.error().text, HasSubstr("broken in another"));
  // The key is not pending for ever.
  EXPECT_FALSE(world.call());
}

TEST(Tuner, OnlyWrongCandidatesAreAnErrorNotAResult) {
  FakeScript script = toy_script({{"naive", kSlowest}, {"other", kFast}});
  for (auto& [name, behaviour] : script.kernels) behaviour.damage = FakeOutput::wrong;
  ToyWorld world(script, {{"naive"}, {"other"}});
  const Status done = world.call();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::no_candidate);
}

TEST(Tuner, ASingleCandidateIsNotMeasured) {
  ToyWorld world(toy_script({{"naive", kSlowest}}), {{"naive"}});
  ASSERT_TRUE(world.call());
  EXPECT_EQ(world.device->launches(), 1u);
  EXPECT_FALSE(world.report.tuned);
  EXPECT_EQ(world.decision().winner, "naive");
}

TEST(Tuner, EndsAtTheRooflineLimit) {
  // 64 floats: 512 bytes at 500 GB/s, a nanosecond; the launch overhead of 2 us is the limit.
  FakeScript script = toy_script({{"naive", kSlowest}, {"near", 1.9e-6}, {"never", 1e-5}});
  ToyWorld world(script, {{"naive"}, {"near"}, {"never"}});
  ASSERT_TRUE(world.call());
  const Decision decision = world.decision();
  EXPECT_EQ(decision.short_circuit, "near");
  EXPECT_EQ(decision.winner, "near");
  EXPECT_EQ(decision.find("never")->verdict, Verdict::not_tried);
  EXPECT_EQ(world.device->launches("never"), 0u);
  ASSERT_TRUE(decision.limit_s);
  EXPECT_GT(*decision.limit_s, 2e-6);
}

TEST(Tuner, LevelFullHasNoLimit) {
  Settings settings;
  settings.autotune.level = Level::full;
  ToyWorld world(toy_script({{"naive", kSlowest}, {"near", 1.9e-6}, {"nearer", 1.7e-6}}),
                 {{"naive"}, {"near"}, {"nearer"}}, settings);
  ASSERT_TRUE(world.call(100));
  EXPECT_EQ(world.report.candidate, "nearer");
  EXPECT_FALSE(world.decision(100).short_circuit);
  ASSERT_TRUE(world.call(101));
  EXPECT_TRUE(world.report.tuned) << "sizes are not rounded at this level";
}

TEST(Tuner, ASampleBelowTheRooflineDistrustsTheProbe) {
  // The read probe shows a thousandth of the truth once, then tells it. At that rate the problem
  // would need 0.5 ms; "good" takes 0.1 ms.
  FakeScript script = toy_script({{"naive", kSlowest}, {"good", kFast}, {"best", 0.9e-4}});
  script.probes.read = {{0, 100e9}};
  script.probes.lies[ProbeKind::read] = 1e-3;
  script.probes.lies_until = 14;  // the first measurement of two points of the curve
  ToyWorld world(script, {{"naive"}, {"good"}, {"best"}});
  ASSERT_TRUE(world.call(8192));
  const Decision decision = world.decision(8192);
  ASSERT_TRUE(decision.bound);
  EXPECT_TRUE(decision.bound->broken);
  EXPECT_FALSE(decision.short_circuit);
  EXPECT_EQ(decision.winner, "best") << "a bad probe must not crown the first that came";
}

TEST(Tuner, UselessProbesGiveNoLimit) {
  for (const double lie : {0.0, std::nan("")}) {
    FakeScript script = toy_script({{"naive", kSlowest}, {"fast", kFast}});
    script.probes.lies[ProbeKind::compute] = lie;
    ToyWorld world(script, {{"naive"}, {"fast"}});
    ASSERT_TRUE(world.call());
    EXPECT_EQ(world.report.candidate, "fast");
    EXPECT_FALSE(world.decision().limit_s);
  }
}

const char* even_only(const ToyArgs& args) {
  return args.size % 2 == 0 ? nullptr : "needs an even size";
}

TEST(Tuner, LegalityIsTestedAtEveryHit) {
  ToyWorld world(toy_script({{"naive", kSlowest}, {"even", 1e-5}, {"any", kFast}}),
                 {{"naive"}, {"even", 0, 0, "1", even_only}, {"any"}});
  ASSERT_TRUE(world.call(64));
  EXPECT_EQ(world.report.candidate, "even");
  // The same key, another problem: the winner cannot run it, the next one can.
  ASSERT_TRUE(world.call(63));
  EXPECT_EQ(world.report.candidate, "any");
  EXPECT_FALSE(world.report.tuned);
}

TEST(Tuner, WhenNoRankedOneIsLegalTheRestIsMeasured) {
  ToyWorld world(toy_script({{"naive", kSlowest}, {"even", 1e-5}, {"any", kFast}}),
                 {{"naive", 1}, {"even", 3, 0, "1", even_only}, {"any", 1}});
  ASSERT_TRUE(world.call(64));
  EXPECT_EQ(world.report.candidate, "even");
  const auto before = world.device->launches("even");
  ASSERT_TRUE(world.call(63));
  EXPECT_TRUE(world.report.tuned);
  EXPECT_EQ(world.report.candidate, "any");
  EXPECT_EQ(world.device->launches("even"), before);
  // Both kinds of problem hit now.
  ASSERT_TRUE(world.call(64));
  EXPECT_FALSE(world.report.tuned);
  EXPECT_EQ(world.report.candidate, "even");
  ASSERT_TRUE(world.call(63));
  EXPECT_FALSE(world.report.tuned);
}

TEST(Tuner, IllegalForThisProblemIsRecordedWithItsReason) {
  ToyWorld world(toy_script({{"naive", kSlowest}, {"even", 1e-5}}),
                 {{"naive"}, {"even", 0, 0, "1", even_only}});
  ASSERT_TRUE(world.call(63));
  EXPECT_EQ(world.report.candidate, "naive");
  EXPECT_EQ(world.decision(63).find("even")->verdict, Verdict::illegal);
  EXPECT_EQ(world.decision(63).find("even")->reason, "needs an even size");
}

TEST(Tuner, AWinnerThatFailsAtAHitIsReplaced) {
  ToyWorld world(toy_script({{"naive", kSlowest}, {"fast", 1e-5}}), {{"naive"}, {"fast"}});
  ASSERT_TRUE(world.call());
  ASSERT_EQ(world.report.candidate, "fast");
  FakeBehaviour broken = toy(1e-5);
  broken.launch_error = Error{ErrorKind::launch_failed, "gone"};
  world.device->set_behaviour("fast", broken);
  ASSERT_TRUE(world.call()) << "the caller must not see it";
  EXPECT_EQ(world.report.candidate, "naive");
  const auto asked = world.device->counts("fast").asked;
  ASSERT_TRUE(world.call());
  EXPECT_EQ(world.device->counts("fast").asked, asked) << "and it is not tried at every call";
}

TEST(Tuner, TheBudgetEndsASearchAndLaterCallsRefineIt) {
  Settings settings;
  settings.autotune.budget_s = 1;
  settings.autotune.background = 0;  // with it, refining is the background's: see its test
  ToyWorld world(toy_script({{"naive", 0.6}, {"slow", 0.55}, {"fast", 0.5}}),
                 {{"naive"}, {"slow"}, {"fast"}}, settings);
  ASSERT_TRUE(world.call());
  Decision decision = world.decision();
  EXPECT_TRUE(decision.partial);
  EXPECT_FALSE(decision.winner.empty());
  EXPECT_LE(decision.cost.launches, 2u);
  for (int call = 0; call < 20 && world.decision().partial; ++call) ASSERT_TRUE(world.call());
  EXPECT_FALSE(world.decision().partial);
  EXPECT_EQ(world.decision().winner, "fast");
  ASSERT_TRUE(world.call());
  EXPECT_FALSE(world.report.tuned);
}

TEST(Tuner, ABudgetOfZeroStillGivesAnAnswer) {
  Settings settings;
  settings.autotune.budget_s = 0;
  ToyWorld world(toy_script({{"naive", 1e-3}, {"fast", 1e-4}}), {{"naive"}, {"fast"}}, settings);
  ASSERT_TRUE(world.call());
  EXPECT_TRUE(world.decision().partial);
  EXPECT_LE(world.decision().cost.launches, 1u);
}

TEST(Tuner, AHangingLaunchEndsThatCandidate) {
  Settings settings;
  settings.autotune.background = 0;
  ToyWorld world(toy_script({{"naive", kSlowest}, {"hanging", 1e4}, {"good", kFast}}),
                 {{"naive"}, {"hanging"}, {"good"}}, settings);
  ASSERT_TRUE(world.call());
  EXPECT_LE(world.device->launches("hanging"), 1u);
  for (int call = 0; call < 5; ++call) ASSERT_TRUE(world.call());
  EXPECT_LE(world.device->launches("hanging"), 1u);
  EXPECT_EQ(world.report.candidate, "good");
}

TEST(Tuner, MemoryForMeasuringIsBounded) {
  Settings settings;
  settings.autotune.memory_bytes = 1000;
  ToyWorld world(toy_script({{"naive", kSlowest}, {"fast", kFast}}), {{"naive"}, {"fast"}},
                 settings);
  ASSERT_TRUE(world.call(4096));
  EXPECT_EQ(world.report.origin, Origin::fallback);
  EXPECT_EQ(world.device->launches(), 1u);
  EXPECT_LE(world.device->allocated_bytes(), 1000u) << "and given back";
}

TEST(Tuner, MeasuringNeverTouchesTheCallersOutput) {
  // The candidate counts in its output: a second run on the caller's memory would show.
  FakeScript script = toy_script({{"naive", kSlowest}, {"fast", kFast}});
  ToyWorld world(script, {{"naive"}, {"fast"}});
  std::vector<float> in(64, 1), out(64, -7);
  int writes = 0;
  for (const char* name : {"naive", "fast"}) {
    FakeBehaviour counting = toy(name == std::string("fast") ? kFast : kSlowest);
    counting.entry = [&](const void* args) {
      writes += static_cast<const ToyArgs*>(args)->out == out.data();
      return toy_kernel(args);
    };
    world.device->set_behaviour(name, counting);
  }
  ASSERT_TRUE(world.tuner->execute(ToyKey{64, ""}, {in.data(), out.data(), 64}, {}));
  EXPECT_EQ(writes, 1);
}

TEST(Tuner, ShortKernelsAreRepeatedForTheClock) {
  FakeScript script = toy_script({{"naive", 3e-7}, {"fast", 1e-7}});
  script.capabilities.clock_resolution_s = 1e-6;
  script.probes.launch_overhead_s = 1e-9;  // or everything would be at the limit
  ToyWorld world(script, {{"naive"}, {"fast"}});
  ASSERT_TRUE(world.call());
  EXPECT_EQ(world.report.candidate, "fast");
  const Decision decision = world.decision();
  EXPECT_NEAR(*decision.find("fast")->estimate_s(), 1e-7, 2e-8);
}

TEST(Tuner, NoiseAndDriftDoNotTurnTheRanking) {
  FakeScript script = toy_script({{"naive", kSlowest}, {"fast", 1.00e-4}, {"close", 1.15e-4}});
  for (auto& [name, behaviour] : script.kernels) {
    behaviour.noise = {
        .sigma = 0.02, .outlier_chance = 0.15, .lucky_chance = 0.02, .lucky_factor = 0.9};
  }
  script.drift = swinging_drift(0.1, 0.05);
  int right = 0;
  constexpr int kRuns = 40;
  for (int run = 0; run < kRuns; ++run) {
    script.seed = static_cast<std::uint64_t>(run + 1);
    Settings settings;
    settings.autotune.cache = false;
    ToyWorld world(script, {{"naive"}, {"fast"}, {"close"}}, settings);
    ASSERT_TRUE(world.call());
    right += world.report.candidate == "fast";
  }
  EXPECT_GE(right, kRuns * 9 / 10);
}

TEST(Tuner, WhatCandidatesThrowIsAFailureLikeAnyOther) {
  FakeScript script = toy_script({{"naive", kSlowest}, {"thrower", 1e-5}, {"good", kFast}});
  script.kernels["thrower"].entry = [](const void*) -> Status { throw std::runtime_error("boom"); };
  ToyWorld world(script, {{"naive"}, {"thrower"}, {"good"}});
  ASSERT_TRUE(world.call());
  EXPECT_EQ(world.report.candidate, "good");
  EXPECT_EQ(world.verdict("thrower"), Verdict::launch_failed);
  EXPECT_THAT(world.decision().find("thrower")->reason, HasSubstr("boom"));
}

// An operation whose own functions fail in every way.
TEST(Tuner, ABrokenDescriptionStillGivesTheFallback) {
  enum class Broken {
    inputs_throw,
    inputs_empty,
    poison_fails,
    poison_throws,
    check_throws,
    bound
  };
  struct BrokenTrial final : Trial<ToyArgs> {
    BrokenTrial(const ToyArgs& args, Broken how_broken) : mine(args), how(how_broken) {
      memory.resize(static_cast<std::size_t>(args.size));
      mine.out = memory.data();
    }
    const ToyArgs& args() const override { return mine; }
    Status poison(Stream) override {
      if (how == Broken::poison_fails) return fail(ErrorKind::internal, "no poison");
      if (how == Broken::poison_throws) throw 7;
      return {};
    }
    Result<Check> check(Stream) override {
      if (how == Broken::check_throws) throw std::runtime_error("no check");
      return Check{};
    }
    std::uint64_t scratch_bytes() const override { return 0; }
    std::vector<float> memory;
    ToyArgs mine;
    Broken how;
  };
  for (const Broken how : {Broken::inputs_throw, Broken::inputs_empty, Broken::poison_fails,
                           Broken::poison_throws, Broken::check_throws, Broken::bound}) {
    ToyWorld world(toy_script({}), {{"naive"}});
    const auto describe = [&](TunableSet<ToyKey, ToyArgs>& set) {
      set.inputs([how](const ToyKey&, const ToyArgs& args,
                       Stream) -> Result<std::unique_ptr<Trial<ToyArgs>>> {
        if (how == Broken::inputs_throw) throw std::runtime_error("no inputs");
        if (how == Broken::inputs_empty) return nullptr;
        return std::make_unique<BrokenTrial>(args, how);
      });
      set.bound([how](const ToyKey&, const ToyArgs&) -> std::optional<Work> {
        if (how == Broken::bound) throw std::runtime_error("no bound");
        return std::nullopt;
      });
      set.add("first", [](const ToyArgs& args, Stream) { return toy_kernel(&args); });
      set.add("second", [](const ToyArgs& args, Stream) { return toy_kernel(&args); });
    };
    Tuner<ToyKey, ToyArgs> tuner(*world.context, "broken", describe);
    std::vector<float> in(8, 3), out(8);
    for (int call = 0; call < 2; ++call) {
      const Status done = tuner.execute(ToyKey{8, ""}, {in.data(), out.data(), 8}, {});
      ASSERT_TRUE(done) << int(how) << ": " << done.error().text;
      EXPECT_EQ(out, std::vector<float>(8, 6));
    }
  }
}

TEST(Tuner, ForcingRunsExactlyThatCandidate) {
  ToyWorld world(toy_script({{"naive", kSlowest}, {"fast", kFast}}),
                 {{"naive"}, {"fast", 0, 0, "1", even_only}});
  std::vector<float> in(64, 1), out(64);
  const ToyArgs args{in.data(), out.data(), 64};
  CallReport report;
  ASSERT_TRUE(world.tuner->force("naive", args, {}, &report));
  EXPECT_EQ(report.origin, Origin::forced);
  EXPECT_EQ(world.device->launches("naive"), 1u);
  EXPECT_EQ(world.device->launches("fast"), 0u);
  const Status unknown = world.tuner->force("fats", args, {});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().kind, ErrorKind::not_found);
  EXPECT_THAT(unknown.error().text, HasSubstr("did you mean"));
  const Status illegal = world.tuner->force("fast", {in.data(), out.data(), 63}, {});
  ASSERT_FALSE(illegal);
  EXPECT_EQ(illegal.error().kind, ErrorKind::illegal);
}

TEST(Tuner, UntunedMeasuresNothing) {
  ToyWorld world(toy_script({{"naive", kSlowest}, {"first", kFast}}), {{"naive", 0}, {"first", 3}});
  std::vector<float> in(64, 1), out(64);
  CallReport report;
  ASSERT_TRUE(world.tuner->untuned(ToyKey{64, ""}, {in.data(), out.data(), 64}, {}, &report));
  EXPECT_EQ(report.candidate, "first");
  EXPECT_EQ(world.device->launches(), 1u);
}

TEST(Tuner, DecisionRecordsAreOneJsonLineEach) {
  TempFolder folder;
  Settings settings;
  settings.autotune.records = RecordSink::file;
  settings.autotune.records_file = folder.path() / "decisions.jsonl";
  ToyWorld world(toy_script({{"naive", kSlowest}, {"fast", kFast}}), {{"naive"}, {"fast"}},
                 settings);
  ASSERT_TRUE(world.call(64));
  ASSERT_TRUE(world.call(64));
  ASSERT_TRUE(world.call(1000, "odd \"tag\"\n"));
  std::ifstream file(settings.autotune.records_file);
  std::string line;
  std::vector<Json> records;
  while (std::getline(file, line)) {
    const auto json = parse_json(line);
    ASSERT_TRUE(json) << line;
    records.push_back(*json);
  }
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0]["winner"], "fast");
  EXPECT_EQ(records[0]["key"]["size"], 64);
  EXPECT_EQ(records[1]["key"]["tag"], "odd \"tag\"\n");
  EXPECT_EQ(records[0]["candidates"].size(), 2u);
  EXPECT_GT(records[0]["cost"]["launches"], 0);
}

TEST(Tuner, CountersAndSpansSayWhatHappened) {
  ToyWorld world(toy_script({{"naive", kSlowest}, {"fast", kFast}}), {{"naive"}, {"fast"}});
  Counters counters;
  world.context->set_subscriber(&counters);
  ASSERT_TRUE(world.call());
  EXPECT_EQ(counters.counts("compile")["fast"], 1u);
  EXPECT_GE(counters.counts("launch")["fast"], 3u);
  EXPECT_EQ(counters.total("tune"), 1u);
  EXPECT_GE(counters.total("verify"), 2u);
  world.context->set_subscriber(nullptr);
  counters.reset();
  ASSERT_TRUE(world.call());
  EXPECT_EQ(counters.total("launch"), 0u);
}

TEST(Tuner, ADecisionSurvivesJson) {
  ToyWorld world(toy_script({{"naive", kSlowest}, {"fast", kFast}}), {{"naive"}, {"fast"}});
  ASSERT_TRUE(world.call());
  const std::string text = to_json(world.decision());
  const auto back = decision_from_json(text);
  ASSERT_TRUE(back) << back.error().text;
  EXPECT_EQ(to_json(*back), text);
  for (std::size_t cut = 0; cut < text.size(); cut += 7) {
    EXPECT_FALSE(decision_from_json(text.substr(0, cut)));
  }
}

}  // namespace
}  // namespace rooftune
