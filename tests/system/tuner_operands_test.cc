// Operands that are cold or warm while a search measures (autotune.operands).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "toy_operation.h"

namespace rooftune {
namespace {

using ::testing::SizeIs;

// A call of 64 elements moves 512 bytes: more than a quarter of this cache, which 2 further places
// fill.
constexpr std::int64_t kSize = 64;
constexpr std::uint64_t kCache = 1024;
constexpr std::size_t kPlaces = 3;

const std::vector<ToyCandidate> kTwo = {{"one"}, {"other"}};

// Which inputs each kernel was given, in order.
using Inputs = std::map<std::string, std::vector<const float*>>;

FakeScript recording_script(Inputs& inputs) {
  FakeScript script;
  script.capabilities.last_level_cache_bytes = kCache;
  for (const ToyCandidate& candidate : kTwo) {
    FakeBehaviour behaviour = toy(1e-5);
    behaviour.entry = [&seen = inputs[candidate.name]](const void* args) {
      seen.push_back(static_cast<const ToyArgs*>(args)->in);
      return toy_kernel(args);
    };
    script.kernels[candidate.name] = behaviour;
  }
  return script;
}

Settings with(Operands operands) {
  Settings settings;
  settings.autotune.level = Level::full;
  settings.autotune.operands = operands;
  return settings;
}

std::set<const float*> places(const Inputs& inputs) {
  std::set<const float*> all;
  for (const auto& [name, seen] : inputs) all.insert(seen.begin(), seen.end());
  return all;
}

TEST(TunerOperands, LaunchesTakeTurnsOverPlacesThatNoCacheHolds) {
  Inputs inputs;
  ToyWorld world(recording_script(inputs), kTwo, with(Operands::automatic));
  ASSERT_TRUE(world.call(kSize));
  EXPECT_THAT(places(inputs), SizeIs(kPlaces));
  EXPECT_EQ(world.decision(kSize).operands, Operands::cold);
  EXPECT_GE(world.decision(kSize).cost.scratch_bytes, (kPlaces - 1) * kSize * sizeof(float));
}

// The first launch is checked, and what is checked is the trial's own output.
TEST(TunerOperands, TheCheckedLaunchIsOnTheTrialsOwn) {
  Inputs inputs;
  ToyWorld world(recording_script(inputs), kTwo, with(Operands::automatic));
  ASSERT_TRUE(world.call(kSize));
  EXPECT_EQ(inputs["one"].front(), inputs["other"].front());
}

TEST(TunerOperands, SmallOnesAreWarm) {
  Inputs inputs;
  ToyWorld world(recording_script(inputs), kTwo, with(Operands::automatic));
  ASSERT_TRUE(world.call(kSize / 2));
  EXPECT_THAT(places(inputs), SizeIs(1));
  EXPECT_EQ(world.decision(kSize / 2).operands, Operands::warm);
}

TEST(TunerOperands, TheSettingDecides) {
  {
    Inputs inputs;
    ToyWorld world(recording_script(inputs), kTwo, with(Operands::warm));
    ASSERT_TRUE(world.call(kSize));
    EXPECT_THAT(places(inputs), SizeIs(1));
    EXPECT_EQ(world.decision(kSize).operands, Operands::warm);
  }
  {
    Inputs inputs;
    ToyWorld world(recording_script(inputs), kTwo, with(Operands::cold));
    ASSERT_TRUE(world.call(kSize / 2));
    EXPECT_EQ(world.decision(kSize / 2).operands, Operands::cold);
    EXPECT_GT(places(inputs).size(), kPlaces);
  }
}

TEST(TunerOperands, WithoutRoomForCopiesTheyAreWarm) {
  Inputs inputs;
  Settings settings = with(Operands::cold);
  settings.autotune.memory_bytes = 2 * kSize * sizeof(float);
  ToyWorld world(recording_script(inputs), kTwo, settings);
  ASSERT_TRUE(world.call(kSize));
  EXPECT_EQ(world.decision(kSize).operands, Operands::warm);
  EXPECT_THAT(places(inputs), SizeIs(1));
}

TEST(TunerOperands, DecisionsUnderAnotherSettingAreOthers) {
  TempFolder folder;
  const auto tuned = [&](Operands operands) {
    Inputs inputs;
    ToyWorld world(recording_script(inputs), kTwo, with(operands), folder.path());
    EXPECT_TRUE(world.call(kSize));
    return world.report.tuned;
  };
  EXPECT_TRUE(tuned(Operands::automatic));
  EXPECT_TRUE(tuned(Operands::warm));
  EXPECT_TRUE(tuned(Operands::cold));
  for (const Operands operands : {Operands::automatic, Operands::warm, Operands::cold}) {
    EXPECT_FALSE(tuned(operands)) << to_string(operands);
  }
}

// Two problems of one key may lie on either side of a quarter of the cache.
TEST(TunerOperands, TimesInAnotherStateAreNotGoneOnWith) {
  constexpr std::int64_t kWarm = 40, kCold = 60;
  TempFolder folder;
  const auto call = [&](std::int64_t size, double seconds, double budget_s) {
    Settings settings = with(Operands::automatic);
    settings.autotune.level = Level::balanced;
    settings.autotune.budget_s = budget_s;
    FakeScript script;
    script.capabilities.last_level_cache_bytes = 4 * 8 * 50;
    for (const ToyCandidate& candidate : kTwo) script.kernels[candidate.name] = toy(seconds);
    ToyWorld world(script, kTwo, settings, folder.path());
    EXPECT_TRUE(world.call(size));
    return world.decision(size);
  };
  const Decision first = call(kWarm, 1e-5, 1e-9);
  ASSERT_TRUE(first.partial);
  ASSERT_EQ(first.operands, Operands::warm);
  const Decision second = call(kCold, 5e-5, 1);
  ASSERT_EQ(second.key, first.key);
  EXPECT_EQ(second.operands, Operands::cold);
  EXPECT_NEAR(*second.find(second.winner)->min_s(), 5e-5, 1e-6);
}

}  // namespace
}  // namespace rooftune
