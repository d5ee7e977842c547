// Candidates' guesses of their time (Candidate::predicted): they order a round, and cut it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <tuple>

#include "toy_operation.h"

namespace rooftune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

constexpr double kSlowest = 1e-3, kFast = 1e-4;

ToyCandidate guessed(const std::string& name, double seconds, int group = 0) {
  ToyCandidate candidate{name, group};
  candidate.predicted = [seconds](const ToyArgs&) { return seconds; };
  return candidate;
}

// Every kernel takes the same time, so that none is eliminated: what is left out, guesses left out.
FakeScript equal_script(const std::vector<ToyCandidate>& candidates) {
  FakeScript script;
  for (const ToyCandidate& candidate : candidates) script.kernels[candidate.name] = toy(kFast);
  return script;
}

// No limit ends these searches.
Settings thorough() {
  Settings settings;
  settings.autotune.level = Level::full;
  return settings;
}

// The kernels of candidates in the order of their first launches.
std::vector<std::string> launched(const FakeClient& device,
                                  const std::vector<ToyCandidate>& candidates) {
  std::vector<std::string> order;
  for (const FakeCall& call : device.calls()) {
    const bool ours = std::any_of(candidates.begin(), candidates.end(),
                                  [&](const auto& one) { return one.name == call.kernel; });
    if (!ours || call.kind != FakeCallKind::launch || !call.done) continue;
    if (std::find(order.begin(), order.end(), call.kernel) == order.end()) {
      order.push_back(call.kernel);
    }
  }
  return order;
}

std::vector<std::string> first_launches(const std::vector<ToyCandidate>& candidates) {
  ToyWorld world(equal_script(candidates), candidates, thorough());
  EXPECT_TRUE(world.call());
  return launched(*world.device, candidates);
}

TEST(Guesses, ARoundIsMeasuredInTheirOrder) {
  EXPECT_THAT(first_launches({guessed("naive", 3e-4), guessed("b", 2e-4), guessed("a", 1.5e-4),
                              guessed("c", 2e-4)}),
              ElementsAre("a", "b", "c", "naive"));
}

TEST(Guesses, TheMeasurementDecidesNotTheGuess) {
  ToyWorld world(toy_script({{"naive", kSlowest}, {"promising", 2 * kFast}, {"fast", kFast}}),
                 {guessed("naive", 2e-4), guessed("promising", 1e-4), guessed("fast", 1.5e-4)});
  ASSERT_TRUE(world.call());
  EXPECT_EQ(world.report.candidate, "fast");
}

TEST(Guesses, OnlyTheirRatiosCount) {
  EXPECT_THAT(first_launches({guessed("naive", 2e9), guessed("a", 1e9)}),
              ElementsAre("a", "naive"));
  EXPECT_THAT(first_launches({guessed("naive", 2e-30), guessed("a", 1e-30)}),
              ElementsAre("a", "naive"));
}

TEST(Guesses, OneWithoutComesFirst) {
  EXPECT_THAT(first_launches({guessed("naive", 9e-4), {"silent"}, guessed("a", 1e-4)}),
              ElementsAre("silent", "a"));
}

TEST(Guesses, UselessOnesAreNone) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double useless : {0.0, -1.0, kNan, kInfinity, -kInfinity}) {
    EXPECT_THAT(
        first_launches({guessed("naive", 9e-4), guessed("useless", useless), guessed("a", 1e-4)}),
        ElementsAre("useless", "a"))
        << useless;
  }
  ToyCandidate throwing{"throwing"};
  throwing.predicted = [](const ToyArgs&) -> double { throw std::runtime_error("no idea"); };
  EXPECT_THAT(first_launches({guessed("naive", 9e-4), throwing, guessed("a", 1e-4)}),
              ElementsAre("throwing", "a"));
}

TEST(Guesses, ThoseFarBehindTheBestAreNotTried) {
  const std::vector<ToyCandidate> candidates = {guessed("naive", 2.6e-4), guessed("near", 2.4e-4),
                                                guessed("best", 1e-4)};
  ToyWorld world(equal_script(candidates), candidates, thorough());
  ASSERT_TRUE(world.call());
  EXPECT_THAT(launched(*world.device, candidates), ElementsAre("best", "near"));
  EXPECT_EQ(world.device->counts("naive").builds, 0u) << "building it is what takes long";
  const Decision decision = world.decision();
  EXPECT_EQ(decision.find("naive")->verdict, Verdict::eliminated);
  EXPECT_THAT(decision.find("naive")->reason,
              HasSubstr("expected to take 2.60 times as long as the best guess"));
  EXPECT_THAT(decision.ranking, UnorderedElementsAre("best", "near"));
  EXPECT_FALSE(decision.partial) << "there is nothing to come back for";
  ASSERT_TRUE(world.call());
  EXPECT_FALSE(world.report.tuned);
}

TEST(Guesses, OfManyTheBestSixteenAreTried) {
  std::vector<ToyCandidate> candidates;
  for (int i = 19; i >= 0; --i) {
    candidates.push_back(guessed("k" + std::to_string(i), 1e-4 * (1 + 0.01 * i)));
  }
  ToyWorld world(equal_script(candidates), candidates, thorough());
  ASSERT_TRUE(world.call());
  const auto order = launched(*world.device, candidates);
  ASSERT_EQ(order.size(), 16u);
  const Decision decision = world.decision();
  for (int i = 0; i < 20; ++i) {
    const std::string name = "k" + std::to_string(i);
    if (i < 16) {
      EXPECT_EQ(order[static_cast<std::size_t>(i)], name);
    } else {
      EXPECT_EQ(decision.find(name)->verdict, Verdict::eliminated);
      EXPECT_THAT(decision.find(name)->reason, HasSubstr("times as long as the best guess"));
    }
  }
}

TEST(Guesses, OfAKindOnlySomeAreMeasured) {
  std::vector<ToyCandidate> candidates = {guessed("naive", 2e-4)};
  for (const auto& [name, kind, seconds] : {std::tuple{"tile1", "tile", 1.0e-4},
                                            {"tile2", "tile", 1.1e-4},
                                            {"tile3", "tile", 1.2e-4},
                                            {"strip1", "strip", 1.3e-4},
                                            {"own1", "", 1.4e-4},
                                            {"own2", "", 1.5e-4},
                                            {"own3", "", 1.6e-4}}) {
    candidates.push_back(guessed(name, seconds));
    candidates.back().kind = kind;
  }
  ToyWorld world(
      std::make_shared<FakeClient>(equal_script(candidates)), candidates, thorough(), {},
      [](auto& set) { set.shortlist({.most = 16, .worst_ratio = 2.5, .most_of_a_kind = 2}); });
  ASSERT_TRUE(world.call());
  EXPECT_THAT(launched(*world.device, candidates),
              ElementsAre("tile1", "strip1", "own1", "own2", "own3", "naive", "tile2"));
  const Decision decision = world.decision();
  EXPECT_EQ(decision.find("tile3")->verdict, Verdict::eliminated);
  EXPECT_THAT(decision.find("tile3")->reason, HasSubstr("its kind"));
}

// The first of a kind shows how good it is here: the others of a bad one are not launched, however
// good their guesses look.
TEST(Guesses, TheFirstOfAKindSpeaksForTheOthers) {
  std::vector<ToyCandidate> candidates = {guessed("naive", 2.9e-4)};
  for (const auto& [name, kind, seconds] : {std::tuple{"bad1", "bad", 1.0e-4},
                                            {"bad2", "bad", 1.1e-4},
                                            {"good1", "good", 1.4e-4},
                                            {"good2", "good", 1.5e-4},
                                            {"good3", "good", 2.0e-4}}) {
    candidates.push_back(guessed(name, seconds));
    candidates.back().kind = kind;
  }
  ToyWorld world(std::make_shared<FakeClient>(toy_script({{"naive", 9e-4},
                                                          {"bad1", 4e-4},
                                                          {"bad2", 4.4e-4},
                                                          {"good1", 1.4e-4},
                                                          {"good2", 1.3e-4},
                                                          {"good3", 2e-4}})),
                 candidates, thorough(), {},
                 [](auto& set) { set.shortlist({.most = 16, .worst_ratio = 3}); });
  ASSERT_TRUE(world.call());
  EXPECT_EQ(world.report.candidate, "good2");
  EXPECT_EQ(world.device->launches("bad1"), 2u) << "the one that is checked, and one that is timed";
  EXPECT_EQ(world.device->launches("bad2"), 0u);
  EXPECT_EQ(world.device->launches("good3"), 0u);
  EXPECT_THAT(world.decision().find("bad2")->reason, HasSubstr("not expected to come near"));
}

TEST(Guesses, SoManyAreLaunchedAtMost) {
  std::vector<ToyCandidate> candidates = {guessed("naive", 1.9e-4)};
  for (int i = 0; i < 9; ++i) {
    candidates.push_back(guessed("k" + std::to_string(i), 1e-4 * (1 + 0.01 * i)));
  }
  ToyWorld world(
      std::make_shared<FakeClient>(equal_script(candidates)), candidates, thorough(), {},
      [](auto& set) { set.shortlist({.most = 9, .most_measured = 5, .worst_ratio = 3}); });
  ASSERT_TRUE(world.call());
  EXPECT_THAT(launched(*world.device, candidates), ElementsAre("k0", "k1", "k2", "k3", "k4"));
  const Decision decision = world.decision();
  EXPECT_THAT(decision.find("k7")->reason, HasSubstr("as many as a search is to launch"));
  EXPECT_THAT(decision.find("naive")->reason, HasSubstr("times as long as the best guess"));
}

// Were those to fail, the others have their turn.
TEST(Guesses, SoManyAtMostDoesNotLeaveACallWithoutAResult) {
  std::vector<ToyCandidate> candidates = {guessed("naive", 1.9e-4)};
  FakeScript script;
  for (int i = 0; i < 4; ++i) {
    const std::string name = "k" + std::to_string(i);
    candidates.push_back(guessed(name, 1e-4 * (1 + 0.01 * i)));
    script.kernels[name] = toy(kFast);
    if (i < 2) script.kernels[name].damage = FakeOutput::wrong;
  }
  script.kernels["naive"] = toy(kSlowest);
  ToyWorld world(std::make_shared<FakeClient>(script), candidates, thorough(), {},
                 [](auto& set) { set.shortlist({.most = 9, .most_measured = 2}); });
  ASSERT_TRUE(world.call());
  EXPECT_EQ(world.report.candidate, "k2");
}

TEST(Guesses, AreComparedInsideOfARound) {
  // The first round has no result, so the second is tried; what the first expected does not matter.
  const std::vector<ToyCandidate> candidates = {guessed("naive", 9e-4), guessed("slow", 5e-4, 1),
                                                guessed("fails", 1e-6, 2)};
  FakeScript script = equal_script(candidates);
  script.kernels["fails"].launch_error = Error{ErrorKind::launch_failed, "too many registers"};
  ToyWorld world(script, candidates, thorough());
  ASSERT_TRUE(world.call());
  EXPECT_EQ(world.report.candidate, "slow");
}

TEST(Guesses, OfIllegalCandidatesDoNotCount) {
  ToyCandidate illegal = guessed("illegal", 1e-6);
  illegal.illegal_because = [](const ToyArgs&) { return "not today"; };
  EXPECT_THAT(first_launches({guessed("naive", 2e-4), illegal, guessed("a", 1e-4)}),
              ElementsAre("a", "naive"));
}

TEST(Guesses, TheFarOnesAreTriedWhenTheOthersFail) {
  const std::vector<ToyCandidate> candidates = {guessed("naive", 9e-4), guessed("slow", 5e-4),
                                                guessed("fails", 1e-4), guessed("wrong", 1.2e-4)};
  FakeScript script = equal_script(candidates);
  script.kernels["fails"].launch_error = Error{ErrorKind::launch_failed, "too many registers"};
  script.kernels["wrong"].damage = FakeOutput::wrong;
  ToyWorld world(script, candidates, thorough());
  ASSERT_TRUE(world.call());
  EXPECT_THAT(launched(*world.device, candidates), ElementsAre("wrong", "slow", "naive"));
  const Decision decision = world.decision();
  EXPECT_EQ(decision.winner, world.report.candidate);
  EXPECT_EQ(decision.find(decision.winner)->reason, "");
}

TEST(Guesses, ACallThatDoesNotTuneRunsTheBestOfTheFirstRound) {
  const std::vector<ToyCandidate> candidates = {guessed("naive", 1e-6), guessed("b", 2e-4, 3),
                                                guessed("a", 1e-4, 3), guessed("far", 9e-4, 3)};
  ToyWorld world(equal_script(candidates), candidates);
  std::vector<float> in(64, 1), out(64);
  CallReport report;
  const ToyArgs args{in.data(), out.data(), 64};
  ASSERT_TRUE(world.tuner->untuned(ToyKey{64, ""}, args, {}, &report));
  EXPECT_EQ(report.candidate, "a");
  EXPECT_EQ(world.device->launches(), 1u);
  // One that cannot run gives way to the next best.
  FakeBehaviour broken = toy(kFast);
  broken.launch_error = Error{ErrorKind::launch_failed, "too many registers"};
  world.device->set_behaviour("a", broken);
  ASSERT_TRUE(world.tuner->untuned(ToyKey{64, ""}, args, {}, &report));
  EXPECT_EQ(report.candidate, "b");
}

}  // namespace
}  // namespace rooftune
