#include "cli/audit_race.h"

#include <limits>
#include <string>
#include <vector>

#include "device/fake/fake_client.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rooftune::cli {
namespace {

using testing::Each;
using testing::ElementsAre;

// Racers on a clock that only they move.
class Track {
 public:
  RacePlan plan(double seconds = 0.1) const {
    RacePlan plan;
    plan.seconds = seconds;
    plan.now_s = [this] { return now_s_; };
    return plan;
  }

  // Each run takes `seconds`, after the first one, which takes longer by `first`.
  Racer racer(std::string name, double seconds, double first = 0) {
    Racer racer;
    racer.name = name;
    racer.time = [this, name, seconds, first, begun = false](int runs) mutable -> Result<double> {
      const double all = runs * seconds + (begun ? 0 : first);
      begun = true;
      now_s_ += all;
      order += name;
      return all / runs;
    };
    return racer;
  }
  static Racer broken(std::string name, ErrorKind kind) {
    Racer racer;
    racer.name = std::move(name);
    racer.time = [kind](int) -> Result<double> { return fail(kind, "broken"); };
    return racer;
  }

  std::string order;

 private:
  double now_s_ = 0;
};

TEST(AuditRace, FindsTheFastestAndMeasuresTheOthersAsLongAsTheyAreNear) {
  Track track;
  std::vector<Racer> racers = {track.racer("a", 12e-6, 1e-3), track.racer("b", 10e-6),
                               track.racer("c", 20e-6), track.racer("d", 1)};
  race(racers, track.plan());
  ASSERT_NE(fastest(racers), nullptr);
  EXPECT_EQ(fastest(racers)->name, "b");
  EXPECT_NEAR(racers[0].estimate_s(), 12e-6, 1e-9);
  EXPECT_GE(racers[0].runs * 12e-6, 199e-6);  // long enough for the clock
  EXPECT_GT(racers[0].samples_s.size(), 50u);
  EXPECT_TRUE(racers[2].dropped);  // twice as slow: not hopeless, but not near
  EXPECT_GE(racers[2].samples_s.size(), 4u);
  EXPECT_LE(racers[2].samples_s.size(), 6u);
  EXPECT_TRUE(racers[3].dropped);
  EXPECT_EQ(racers[3].samples_s.size(), 1u);
}

TEST(AuditRace, ADisturbedRunDropsNobody) {
  Track track;
  // Every second row of runs of b is put aside for a while, its first ones too.
  Racer disturbed = track.racer("b", 1e-3);
  disturbed.time = [time = disturbed.time, turn = 0](int runs) mutable -> Result<double> {
    return *time(runs) + (turn++ % 2 == 0 ? 20e-3 : 0);
  };
  std::vector<Racer> racers = {track.racer("a", 1.1e-3), disturbed};
  race(racers, track.plan(0));
  EXPECT_FALSE(racers[1].dropped);
  EXPECT_EQ(racers[1].samples_s.size(), static_cast<std::size_t>(kRacePasses));
}

TEST(AuditRace, LongRunsAreFew) {
  Track track;
  std::vector<Racer> racers = {track.racer("a", 1.1), track.racer("b", 1), track.racer("c", 2)};
  race(racers, track.plan());
  EXPECT_EQ(fastest(racers)->name, "b");
  EXPECT_EQ(track.order, "abcabab");
  const std::vector<Racer*> both = {&racers[1], &racers[0]};
  const auto met = duel(both, track.plan());
  ASSERT_TRUE(met);
  EXPECT_EQ(met->sides[0].samples_s.size(), kLongDuelPasses);
}

TEST(AuditRace, KeepsThoseThatItIsToldToKeep) {
  Track track;
  std::vector<Racer> racers = {track.racer("a", 10e-6), track.racer("b", 10e-3)};
  racers[1].kept = true;
  race(racers, track.plan());
  EXPECT_FALSE(racers[1].dropped);
  EXPECT_EQ(racers[1].samples_s.size(), racers[0].samples_s.size());
}

TEST(AuditRace, OneThatFailsStopsAlone) {
  Track track;
  std::vector<Racer> racers = {Track::broken("a", ErrorKind::launch_failed),
                               Track::broken("b", ErrorKind::not_timed), track.racer("c", 1e-3)};
  race(racers, track.plan());
  EXPECT_FALSE(racers[0].status);
  EXPECT_FALSE(racers[1].status);
  EXPECT_EQ(racers[0].estimate_s(), std::numeric_limits<double>::infinity());
  EXPECT_EQ(fastest(racers)->name, "c");
  racers.pop_back();
  race(racers, track.plan());  // and comes to an end without anybody
  EXPECT_EQ(fastest(racers), nullptr);
}

TEST(AuditRace, ARunTooShortForTheClockIsRepeated) {
  Track track;
  Racer racer = track.racer("a", 1e-6);
  racer.time = [time = racer.time](int runs) -> Result<double> {
    if (runs < 20) return fail(ErrorKind::not_timed, "too short");
    return time(runs);
  };
  std::vector<Racer> racers = {std::move(racer)};
  race(racers, track.plan());
  EXPECT_TRUE(racers[0].status);
  EXPECT_NEAR(racers[0].estimate_s(), 1e-6, 1e-9);
}

TEST(AuditDuel, TakesFreshSamplesInTurnsAndAnotherBeginsEachPass) {
  Track track;
  std::vector<Racer> racers = {track.racer("a", 10e-3), track.racer("b", 11e-3)};
  race(racers, track.plan(0));
  track.order.clear();
  const std::vector<Racer*> both = {&racers[0], &racers[1]};
  const auto met = duel(both, track.plan(0));
  ASSERT_TRUE(met) << met.error().text;
  ASSERT_EQ(met->sides.size(), 2u);
  EXPECT_EQ(met->sides[0].samples_s.size(), kDuelPasses);
  EXPECT_EQ(met->sides[1].samples_s.size(), kDuelPasses);
  EXPECT_NEAR(met->ratio("b", "a"), 1.1, 1e-6);
  EXPECT_EQ(track.order.substr(0, 8), "abbabaab");
}

TEST(AuditDuel, GoesOnWhileTheRatioIsUnclear) {
  Track track;
  const auto passes = [&](double noise) {
    Racer steady = track.racer("a", 10e-3), noisy = track.racer("b", 10e-3);
    noisy.time = [time = noisy.time, noise, turn = 0](int runs) mutable -> Result<double> {
      return *time(runs) * (turn++ % 3 == 0 ? 1 + noise : 1);
    };
    std::vector<Racer> racers = {steady, noisy};
    for (Racer& racer : racers) racer.samples_s = {10e-3};
    const std::vector<Racer*> both = {&racers[0], &racers[1]};
    const auto met = duel(both, track.plan(1.5));
    EXPECT_TRUE(met);
    return met->sides[0].samples_s.size();
  };
  EXPECT_EQ(passes(0), 56u);               // a third of 3 s, and on to the next look
  EXPECT_NEAR(double(passes(3)), 150, 1);  // all of it
}

TEST(AuditDuel, FailsWithTheFirstThatCannotBeTimed) {
  Track track;
  Racer good = track.racer("a", 1e-3), bad = Track::broken("b", ErrorKind::launch_failed);
  const std::vector<Racer*> both = {&good, &bad};
  const auto met = duel(both, track.plan());
  ASSERT_FALSE(met);
  EXPECT_EQ(met.error().text, "broken");
}

TEST(AuditRacePlan, OnADeviceWithAQueueSamplesAreOfSeveralRunsAndLongForItsClock) {
  FakeScript script;
  script.capabilities.clock_resolution_s = 2e-6;
  script.capabilities.compiles_at_run_time = true;
  const FakeClient queue(script);
  const RacePlan plan = race_plan(queue, 1);
  EXPECT_NEAR(plan.shortest_sample_s, 1e-3, 1e-9);
  EXPECT_EQ(plan.least_runs, 2);
  EXPECT_LE(plan.most_runs, 1024);  // what CUDA replays as one piece
}

TEST(AuditRacePlan, CountsTheClockThatIsAhead) {
  FakeClient device;
  const RacePlan plan = race_plan(device, 1);
  EXPECT_LT(plan.now_s(), 100);
  device.advance(100);
  EXPECT_GE(plan.now_s(), 100);
}

}  // namespace
}  // namespace rooftune::cli
