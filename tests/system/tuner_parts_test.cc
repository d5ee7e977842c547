// Parts of a key whose best candidate is another one (TunableSet::parts), found in the background.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "toy_operation.h"

namespace rooftune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr double kFast = 1e-4;
constexpr int kOften = 10'000;
constexpr std::int64_t kHome = 128, kFar = 70, kNear = 120;  // one key, three parts
// Of four parts, each far from where another candidate becomes the better one.
constexpr std::int64_t kMiddles[] = {72, 88, 104, 120};

// "steady" takes the same for every size; "steep" grows with it and is better below 96, where a
// part begins.
FakeScript crossing_script() {
  FakeScript script = toy_script({{"naive", 1e-3}, {"steady", kFast}, {"steep", kFast}});
  script.kernels["steep"].seconds_of = [](const FakeLaunch& launch) {
    const auto* args = static_cast<const ToyArgs*>(launch.args);
    return kFast * std::max(double(args->size), 10.0) / 96;
  };
  return script;
}
const std::vector<ToyCandidate> kBoth = {{"naive", -1}, {"steady"}, {"steep"}};

class World {
 public:
  explicit World(std::vector<ToyCandidate> candidates = kBoth, Settings settings = {},
                 const std::filesystem::path& folder = {}, FakeScript script = crossing_script())
      : device(std::make_shared<FakeClient>(std::move(script))) {
    const std::filesystem::path place = folder.empty() ? own_.path() : folder;
    settings.environment = "local";
    settings.autotune.cache = !folder.empty();
    context.emplace(device, settings, Folders{place, place});
    const auto describe = [&](TunableSet<ToyKey, ToyArgs>& set) {
      describe_toy(std::move(candidates))(set);
      set.parts([](const ToyArgs& args) { return std::uint64_t(args.size) / 16; },
                [](std::uint64_t part) { return "sizes from " + std::to_string(16 * part); });
    };
    tuner = static_cast<Tuner<ToyKey, ToyArgs>*>(
        &context->tuner("toy", [&]() -> std::unique_ptr<TunerBase> {
          return std::make_unique<Tuner<ToyKey, ToyArgs>>(*context, "toy", describe);
        }));
  }
  Status call(std::int64_t size, CallReport* seen = nullptr) {
    std::vector<float> in(std::size_t(size), 3), out(in.size());
    Status done =
        tuner->execute(key(size), {in.data(), out.data(), size}, {}, seen ? seen : &report);
    if (done && (out.front() != 6 || out.back() != 6)) {
      return fail(ErrorKind::wrong_result, "not 6");
    }
    return done;
  }
  bool call_often(std::int64_t size, int times = kOften) {
    bool good = true;
    for (int i = 0; i < times; ++i) good = call(size).has_value() && good;
    return good;
  }
  Decision decision(std::int64_t size) {
    return tuner->decision(key(size), {nullptr, nullptr, size}).value_or(Decision{});
  }
  static ToyKey key(std::int64_t size) { return anchored_key(ToyKey{size, ""}, Level::balanced); }

 private:
  TempFolder own_;

 public:
  std::shared_ptr<FakeClient> device;
  std::optional<TuneContext> context;
  Tuner<ToyKey, ToyArgs>* tuner = nullptr;
  CallReport report;
};

TEST(Parts, OneWithAnotherWinnerGetsADecisionOfItsOwn) {
  World world;
  ASSERT_TRUE(world.call(kHome));
  ASSERT_EQ(world.report.candidate, "steady");
  EXPECT_EQ(world.decision(kHome).part, std::uint64_t{kHome} / 16);
  EXPECT_EQ(world.decision(kHome).part_text, "sizes from 128");
  ASSERT_TRUE(world.call(kFar));
  EXPECT_FALSE(world.report.tuned) << "the key is the same";
  EXPECT_EQ(world.report.candidate, "steady");
  ASSERT_TRUE(world.call_often(kFar));
  EXPECT_EQ(world.report.candidate, "steep");
  EXPECT_EQ(world.report.origin, Origin::memory);
  ASSERT_TRUE(world.call(kHome));
  EXPECT_EQ(world.report.candidate, "steady");
  ASSERT_TRUE(world.call(kNear));
  EXPECT_EQ(world.report.candidate, "steady");

  const Decision own = world.decision(kFar);
  EXPECT_TRUE(own.apart);
  EXPECT_EQ(own.winner, "steep");
  EXPECT_THAT(own.ranking, ElementsAre("steep", "steady"));
  EXPECT_THAT(own.replaced, ElementsAre("steady"));
  EXPECT_EQ(own.part_text, "sizes from 64");
  EXPECT_THAT(own.key, HasSubstr("#part"));
  EXPECT_TRUE(own.verified);
  EXPECT_NEAR(*own.find("steep")->estimate_s(), kFar / 96.0 * kFast, 1e-3 * kFast);
  EXPECT_GT(own.cost.background_s, 0);
  EXPECT_GT(own.cost.background_launches, 0u);
  const Decision all = world.decision(kHome);
  EXPECT_FALSE(all.apart);
  EXPECT_THAT(all.split, ElementsAre(std::uint64_t{kFar} / 16));
  EXPECT_THAT(world.tuner->decisions(), SizeIs(2));
}

TEST(Parts, OneThatAgreesIsLookedAtOnce) {
  World world;
  ASSERT_TRUE(world.call(kHome));
  ASSERT_TRUE(world.call_often(kNear));
  EXPECT_EQ(world.report.candidate, "steady");
  EXPECT_THAT(world.decision(kHome).split, IsEmpty());
  EXPECT_FALSE(world.decision(kNear).apart);
  ASSERT_TRUE(world.call_often(kHome));
  EXPECT_FALSE(world.decision(kHome).apart);
  const auto steep = world.device->launches("steep");
  ASSERT_TRUE(world.call_often(kNear));
  ASSERT_TRUE(world.call_often(kHome));
  EXPECT_EQ(world.device->launches("steep"), steep);
}

TEST(Parts, TheShareIsKept) {
  Settings settings;
  settings.autotune.background = 0.05;
  World world(kBoth, settings);
  ASSERT_TRUE(world.call(kHome));
  double in_steps = 0, longest = 0;
  const double begin = world.device->now_s();
  // Which calls stand for others is random, and so is when a part has its turn.
  const auto going_on = [&](int i) {
    return i < 2 * kOften || (i < 20 * kOften && world.decision(kHome).split.size() < 2);
  };
  for (int i = 0; going_on(i); ++i) {
    const auto launches = world.device->launches();
    const double before = world.device->now_s();
    ASSERT_TRUE(world.call(kMiddles[i / 16 % 4]));
    if (world.device->launches() == launches + 1) continue;
    const double step = world.device->now_s() - before - kFast / 2;
    in_steps += step;
    longest = std::max(longest, step);
    // Sizes differ from hit to hit, and one in 64 speaks for all: what is earned is near the truth.
    ASSERT_LE(in_steps, 1.1 * 0.05 * (world.device->now_s() - begin) + longest) << "after " << i;
  }
  EXPECT_THAT(world.decision(kHome).split, UnorderedElementsAre(4u, 5u));
}

TEST(Parts, WithoutABackgroundNothingIsSplit) {
  Settings settings;
  settings.autotune.background = 0;
  World world(kBoth, settings);
  ASSERT_TRUE(world.call(kHome));
  const auto launches = world.device->launches();
  ASSERT_TRUE(world.call_often(kFar));
  EXPECT_EQ(world.report.candidate, "steady");
  EXPECT_EQ(world.device->launches(), launches + kOften);
}

TEST(Parts, AnAnswerIsKeptForOtherProcesses) {
  TempFolder folder;
  Settings settings;
  settings.autotune.background = 1;  // a disk may take long
  {
    World world(kBoth, settings, folder.path());
    ASSERT_TRUE(world.call(kHome));
    for (int i = 0; i < 100 && !world.decision(kFar).apart; ++i) {
      ASSERT_TRUE(world.call_often(kFar, 1000));
    }
    ASSERT_TRUE(world.decision(kFar).apart);
  }
  {
    // Of a process that has not called anything: `why`.
    World world(kBoth, settings, folder.path());
    EXPECT_EQ(world.decision(kFar).winner, "steep");
    EXPECT_EQ(world.decision(kHome).winner, "steady");
  }
  World world(kBoth, settings, folder.path());
  ASSERT_TRUE(world.call(kFar));
  EXPECT_EQ(world.report.origin, Origin::store);
  EXPECT_EQ(world.report.candidate, "steep");
  EXPECT_EQ(world.device->launches(), 1u);
  ASSERT_TRUE(world.call(kFar));
  EXPECT_EQ(world.report.origin, Origin::memory);
  EXPECT_EQ(world.report.candidate, "steep");
  ASSERT_TRUE(world.call(kHome));
  EXPECT_EQ(world.report.candidate, "steady");
}

TEST(Parts, WhatAnotherProcessFoundIsNotMeasuredAgain) {
  TempFolder folder;
  Settings settings;
  settings.autotune.background = 1;
  World one(kBoth, settings, folder.path());
  ASSERT_TRUE(one.call(kHome));
  World two(kBoth, settings, folder.path());
  ASSERT_TRUE(two.call(kHome));
  for (World* world : {&one, &two}) {
    int steps = 0;
    for (int i = 0; i < 100 * kOften && !world->decision(kFar).apart; ++i) {
      const auto launches = world->device->launches();
      ASSERT_TRUE(world->call(kFar));
      steps += world->device->launches() > launches + 1 ? 1 : 0;
    }
    EXPECT_EQ(world->decision(kFar).winner, "steep");
    ASSERT_TRUE(world->call(kFar));
    EXPECT_EQ(world->report.candidate, "steep");
    EXPECT_EQ(steps, world == &one ? 1 : 0);
  }
}

TEST(Parts, AChangedCandidateIsLookedAtAgain) {
  TempFolder folder;
  Settings settings;
  settings.autotune.background = 1;
  {
    World world(kBoth, settings, folder.path());
    ASSERT_TRUE(world.call(kHome));
    for (int i = 0; i < 100 && !world.decision(kFar).apart; ++i) {
      ASSERT_TRUE(world.call_often(kFar, 1000));
    }
  }
  std::vector<ToyCandidate> newer = kBoth;
  newer[2].version = "2";
  World world(newer, settings, folder.path());
  ASSERT_TRUE(world.call(kHome));
  EXPECT_TRUE(world.report.tuned) << "steep is another one now";
  ASSERT_TRUE(world.call(kFar));
  EXPECT_EQ(world.report.candidate, "steady") << "nothing is known of it here";
  for (int i = 0; i < 100 && !world.decision(kFar).apart; ++i) {
    ASSERT_TRUE(world.call_often(kFar, 1000));
  }
  EXPECT_EQ(world.decision(kFar).find("steep")->version, "2");
}

TEST(Parts, GuessesNameWhoMayBeBetter) {
  // "steep" takes three times as long at home, and is not near the front of the ranking.
  FakeScript script = crossing_script();
  script.kernels["steep"].seconds_of = [](const FakeLaunch& launch) {
    const auto* args = static_cast<const ToyArgs*>(launch.args);
    return kFast * (args->size > 100 ? 3 : 0.5);
  };
  std::vector<ToyCandidate> candidates = kBoth;
  World without(candidates, {}, {}, script);
  ASSERT_TRUE(without.call(kHome));
  ASSERT_TRUE(without.call_often(kFar));
  EXPECT_EQ(without.report.candidate, "steady");
  for (ToyCandidate& candidate : candidates) {
    candidate.predicted = [steep = candidate.name == "steep"](const ToyArgs& args) {
      return steep ? (args.size > 100 ? 2e-4 : 1e-5) : 1e-4;
    };
  }
  World with(candidates, {}, {}, script);
  ASSERT_TRUE(with.call(kHome));
  ASSERT_TRUE(with.call_often(kFar));
  EXPECT_EQ(with.report.candidate, "steep");
}

// A guess that is twice too high at home is so elsewhere.
TEST(Parts, GuessesAreHeldAgainstWhatWasMeasuredAtHome) {
  FakeScript script = crossing_script();
  script.kernels["steep"].seconds_of = [](const FakeLaunch& launch) {
    const auto* args = static_cast<const ToyArgs*>(launch.args);
    return kFast * (args->size > 100 ? 1.8 : 0.7);
  };
  std::vector<ToyCandidate> candidates = kBoth;
  for (ToyCandidate& candidate : candidates) {
    candidate.predicted = [steep = candidate.name == "steep"](const ToyArgs& args) {
      return steep ? (args.size > 100 ? 3.6e-4 : 1.4e-4) : 1e-4;
    };
  }
  World world(candidates, {}, {}, script);
  ASSERT_TRUE(world.call(kHome));
  const Decision home = world.decision(kHome);
  EXPECT_EQ(home.find("steep")->verdict, Verdict::eliminated);
  EXPECT_EQ(home.find("steep")->guess_s, 3.6e-4);
  ASSERT_TRUE(world.call_often(kFar));
  EXPECT_EQ(world.report.candidate, "steep") << "although its guess is the higher one here too";
}

// The search leaves out who is expected to take more than 2.5 times as long as another one.
TEST(Parts, TheBestGuessOfThoseNeverMeasuredIsGivenALaunch) {
  FakeScript script = crossing_script();
  script.kernels["steep"].seconds_of = nullptr;
  script.kernels["steep"].seconds = 0.6 * kFast;
  std::vector<ToyCandidate> candidates = kBoth;
  for (const double guess : {5e-4, 9e-4}) {
    for (ToyCandidate& candidate : candidates) {
      candidate.predicted = [seconds = candidate.name == "steep" ? guess : 1e-4](const ToyArgs&) {
        return seconds;
      };
    }
    World world(candidates, {}, {}, script);
    ASSERT_TRUE(world.call(kHome));
    ASSERT_EQ(world.device->launches("steep"), 0u);
    ASSERT_TRUE(world.call_often(kFar));
    EXPECT_EQ(world.report.candidate, guess == 5e-4 ? "steep" : "steady");
  }
}

TEST(Parts, NoiseIsNotTakenForADifference) {
  constexpr int kSeeds = 20;
  for (const double other : {0.93, 1.0}) {
    int split = 0;
    for (int seed = 1; seed <= kSeeds; ++seed) {
      FakeScript script = crossing_script();
      script.seed = std::uint64_t(seed);
      script.kernels["steep"].seconds_of = [other](const FakeLaunch& launch) {
        const auto* args = static_cast<const ToyArgs*>(launch.args);
        return kFast * (args->size > 100 ? 1.2 : other);
      };
      for (const char* name : {"steady", "steep"}) script.kernels[name].noise.sigma = 0.03;
      Settings settings;
      settings.autotune.background = 1;
      World world(kBoth, settings, {}, script);
      ASSERT_TRUE(world.call(kHome));
      ASSERT_EQ(world.report.candidate, "steady");
      ASSERT_TRUE(world.call_often(kFar, 1000));
      split += world.report.candidate == "steep" ? 1 : 0;
    }
    if (other < 1) {
      EXPECT_GE(split, kSeeds * 9 / 10);
    } else {
      EXPECT_EQ(split, 0);
    }
  }
}

TEST(Parts, TheProblemOfTheSearchHasASecondLook) {
  World world;
  ASSERT_TRUE(world.call(kHome));
  ASSERT_EQ(world.report.candidate, "steady");
  // What the search saw of it was not its usual time.
  FakeBehaviour usual = toy(0.8 * kFast);
  world.device->set_behaviour("steep", usual);
  ASSERT_TRUE(world.call_often(kHome));
  EXPECT_EQ(world.report.candidate, "steep");
  const Decision own = world.decision(kHome);
  EXPECT_TRUE(own.apart);
  EXPECT_EQ(own.part, std::uint64_t{kHome} / 16);
  EXPECT_THAT(own.replaced, ElementsAre("steady"));
}

TEST(Parts, AreSettledOnceTheyWereLookedAt) {
  World world;
  const auto settled = [&](std::int64_t size) {
    return world.tuner->settled(World::key(size), {nullptr, nullptr, size});
  };
  EXPECT_FALSE(settled(kHome)) << "nothing is known";
  ASSERT_TRUE(world.call(kHome));
  EXPECT_FALSE(settled(kFar));
  ASSERT_TRUE(world.call_often(kFar));
  EXPECT_TRUE(settled(kFar));
  EXPECT_FALSE(settled(kNear));
  ASSERT_TRUE(world.call_often(kNear));
  EXPECT_TRUE(settled(kNear)) << "it agrees";
  Settings none;
  none.autotune.background = 0;
  World without(kBoth, none);
  ASSERT_TRUE(without.call(kHome));
  EXPECT_TRUE(without.tuner->settled(World::key(kFar), {nullptr, nullptr, kFar}))
      << "it never will be";
}

TEST(Parts, OneThatFailsThereChangesNothing) {
  for (const bool wrong : {false, true}) {
    World world;
    ASSERT_TRUE(world.call(kHome));
    FakeBehaviour broken = toy(0.5 * kFast);
    if (wrong) {
      broken.damage = FakeOutput::wrong;
    } else {
      broken.launch_error = Error{ErrorKind::launch_failed, "not here"};
    }
    world.device->set_behaviour("steep", broken);
    ASSERT_TRUE(world.call_often(kFar));
    EXPECT_EQ(world.report.candidate, "steady");
    EXPECT_THAT(world.decision(kHome).split, IsEmpty());
  }
}

TEST(Parts, AWinnerThatFailsLaterGivesWay) {
  World world;
  ASSERT_TRUE(world.call(kHome));
  ASSERT_TRUE(world.call_often(kFar));
  ASSERT_EQ(world.report.candidate, "steep");
  FakeBehaviour broken = toy(0.5 * kFast);
  broken.launch_error = Error{ErrorKind::launch_failed, "no more"};
  world.device->set_behaviour("steep", broken);
  ASSERT_TRUE(world.call(kFar));
  EXPECT_EQ(world.report.candidate, "steady");
  const auto asked = world.device->counts("steep").asked;
  ASSERT_TRUE(world.call(kFar));
  EXPECT_EQ(world.report.candidate, "steady");
  EXPECT_EQ(world.device->counts("steep").asked, asked) << "it is not tried at every call";
}

TEST(Parts, ThereAreAtMostSixtyFour) {
  World world({{"naive", -1}, {"steady"}, {"steep"}});
  constexpr std::int64_t kKey = 4096;  // 128 parts of 16
  FakeBehaviour steep = toy(kFast);
  steep.seconds_of = [](const FakeLaunch& launch) {
    return kFast * (static_cast<const ToyArgs*>(launch.args)->size == kKey ? 1.2 : 0.5);
  };
  world.device->set_behaviour("steep", steep);
  ASSERT_TRUE(world.call(kKey));
  for (std::int64_t size = kKey / 2 + 16; size < kKey; size += 16) {
    ASSERT_TRUE(world.call_often(size, 1000));
  }
  EXPECT_GT(world.decision(kKey).split.size(), 10u);
  EXPECT_LE(world.decision(kKey).split.size(), 64u);
}

TEST(Parts, AnotherEnvironmentKnowsNothingOfThem) {
  World world;
  ASSERT_TRUE(world.call(kHome));
  ASSERT_TRUE(world.call_often(kFar));
  ASSERT_EQ(world.report.candidate, "steep");
  ASSERT_TRUE(world.context->use_environment("other"));
  ASSERT_TRUE(world.call(kHome));
  EXPECT_TRUE(world.report.tuned);
  ASSERT_TRUE(world.call(kFar));
  EXPECT_EQ(world.report.candidate, "steady");
}

TEST(Parts, ManyThreadsAgreeOnThem) {
  Settings settings;
  // The clock of the device is everybody's: a step seems to last as long as all that others do.
  settings.autotune.background = 0.5;
  World world(kBoth, settings);
  ASSERT_TRUE(world.call(kHome));
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      CallReport mine;
      for (int i = 0; i < 40 * kOften; ++i) {
        wrong += world.call(kMiddles[(i / 100 + t) % 4], &mine) ? 0 : 1;
        if (i % 100 == 0 && world.decision(kHome).split.size() == 2) break;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_THAT(world.decision(kHome).split, UnorderedElementsAre(4u, 5u));
}

}  // namespace
}  // namespace rooftune
