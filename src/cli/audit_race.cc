#include "cli/audit_race.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "base/clock.h"
#include "tune/estimator.h"

namespace rooftune::cli {
namespace {

// After the first passes only those near the fastest are worth the time.
constexpr double kInTheRace = 1.3;
// What a launch finds in the caches is worth a few hundred microseconds at most.
constexpr double kLong_s = 5e-3;

// Runs that take a pass of all candidates into minutes.
constexpr double kVeryLong_s = 0.1, kHopelessWhenLong = 1.5;

// A row of runs that is not too short for the clock.
Result<double> timed(Racer& racer, int& runs, const RacePlan& plan) {
  for (;;) {
    auto seconds = racer.time(runs);
    if (seconds && *seconds > 0 && std::isfinite(*seconds)) return seconds;
    const bool too_short = !seconds && seconds.error().kind == ErrorKind::not_timed;
    if (!too_short || runs >= plan.most_runs) {
      return seconds ? fail(ErrorKind::not_timed, "the clock gave no time") : std::move(seconds);
    }
    runs = std::min(16 * runs, plan.most_runs);
  }
}

// A first look: one run, or more when that was short and not hopeless.
Status enter(Racer& racer, double best_s, const RacePlan& plan) {
  // The first run may have loaded code, or woken threads: it gets a wide berth. And on a machine
  // with more to do than processors any run may have been put aside.
  constexpr int kLooks = 3;
  const double limit = std::max(3 * kHopeless * best_s, plan.shortest_sample_s);
  int runs = plan.least_runs;
  auto once = timed(racer, runs, plan);
  for (int look = 1; once && *once > limit && *once < kVeryLong_s && look < kLooks; ++look) {
    const auto again = timed(racer, runs, plan);
    if (!again) return std::unexpected(again.error());
    once = std::min(*once, *again);
  }
  if (!once) return std::unexpected(once.error());
  racer.samples_s = {*once};
  if (!racer.kept && *once > limit) {
    racer.dropped = true;
    return {};
  }
  if (*once >= kLong_s) {
    racer.runs = plan.least_runs;
    return {};
  }
  const auto again = timed(racer, runs, plan);
  if (!again) return std::unexpected(again.error());
  const double needed = std::ceil(plan.shortest_sample_s / std::min(*once, *again));
  racer.runs =
      static_cast<int>(std::clamp(needed, double(plan.least_runs), double(plan.most_runs)));
  const auto sample = racer.time(racer.runs);
  if (!sample) return std::unexpected(sample.error());
  racer.samples_s = {*sample};
  return {};
}

Result<double> sampled(Racer& racer, double expected_s, const RacePlan& plan) {
  if (expected_s < kLong_s) {
    int runs = plan.least_runs;
    if (const auto untimed = timed(racer, runs, plan); !untimed) return untimed;
  }
  return racer.time(racer.runs);
}

void sample(Racer& racer, const RacePlan& plan) {
  const auto seconds = sampled(racer, racer.estimate_s(), plan);
  if (seconds) {
    racer.samples_s.push_back(*seconds);
  } else {
    racer.status = std::unexpected(seconds.error());
  }
}

// Of few samples one that was not disturbed is enough to stay.
bool is_behind(const Racer& racer, double limit, bool few) {
  if (racer.kept) return false;
  return few ? *std::ranges::min_element(racer.samples_s) > limit : racer.estimate_s() > limit;
}

double best_estimate(std::span<const Racer> racers) {
  double best = std::numeric_limits<double>::infinity();
  for (const Racer& racer : racers) best = std::min(best, racer.estimate_s());
  return best;
}

bool unclear(const Duel& duel) {
  constexpr double kClear = 1.02;
  return std::ranges::any_of(duel.sides, [&](const Duel::Side& side) {
    const Comparison met = duel.meet(side.name, duel.sides.front().name);
    return !(met.high <= kClear * met.low);
  });
}

}  // namespace

double Racer::estimate_s() const {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  return status ? rooftune::estimate_s(samples_s).value_or(kNever) : kNever;
}

RacePlan race_plan(const Client& client, double seconds) {
  RacePlan plan;
  plan.seconds = seconds;
  // What starts a sample on a device with a queue may take some steps of its clock.
  constexpr double kSteps = 500;
  plan.shortest_sample_s =
      std::max(plan.shortest_sample_s, kSteps * client.capabilities().clock_resolution_s);
  if (client.capabilities().compiles_at_run_time) {
    // Several launches are replayed as one piece there, one is not; and not any number of them.
    plan.least_runs = 2;
    plan.most_runs = 1000;
  }
  // A device with a clock of its own may let it stand still, or run far ahead of ours.
  plan.now_s = [&client, begin_s = client.now_s(), own_begin_s = steady_now_s()] {
    return std::max(client.now_s() - begin_s, steady_now_s() - own_begin_s);
  };
  return plan;
}

void race(std::span<Racer> racers, const RacePlan& plan) {
  double best = std::numeric_limits<double>::infinity();
  for (Racer& racer : racers) {
    if (!racer.status) continue;
    racer.samples_s.clear();
    racer.dropped = false;
    racer.status = enter(racer, best, plan);
    best = std::min(best, racer.estimate_s());
  }
  const double begin = plan.now_s();
  const bool very_long = best >= kVeryLong_s;
  const int passes = very_long ? kLongRacePasses : kRacePasses;
  const double hopeless = very_long ? kHopelessWhenLong : kHopeless;
  for (int pass = 1; pass < passes || plan.now_s() - begin < plan.seconds; ++pass) {
    const bool few = pass < passes;
    const double limit = best_estimate(racers) * (few ? hopeless : kInTheRace);
    bool any = false;
    for (Racer& racer : racers) {
      if (racer.dropped || !racer.status) continue;
      if (is_behind(racer, limit, few)) {
        racer.dropped = true;
        continue;
      }
      sample(racer, plan);
      any = true;
    }
    if (!any) return;
  }
}

Racer* fastest(std::span<Racer> racers) {
  const auto best = std::min_element(
      racers.begin(), racers.end(),
      [](const Racer& a, const Racer& b) { return a.estimate_s() < b.estimate_s(); });
  return best != racers.end() && std::isfinite(best->estimate_s()) ? &*best : nullptr;
}

Result<Duel> duel(std::span<Racer* const> racers, const RacePlan& plan) {
  Duel result;
  for (const Racer* racer : racers) result.sides.push_back({racer->name, {}});
  const double begin = plan.now_s();
  const double most_s = plan.seconds * double(racers.size());
  const bool very_long = racers.front()->estimate_s() >= kVeryLong_s;
  const std::size_t least = very_long ? kLongDuelPasses : kDuelPasses;
  const auto goes_on = [&](std::size_t passes) {
    constexpr std::size_t kBetweenLooks = 8;  // to look takes as long as a short sample
    const double spent_s = plan.now_s() - begin;
    if (passes < least || spent_s < most_s / 3) return true;
    return spent_s < most_s && (passes % kBetweenLooks != 0 || unclear(result));
  };
  for (std::size_t pass = 0; goes_on(pass); ++pass) {
    for (std::size_t turn = 0; turn < racers.size(); ++turn) {
      // Whoever goes first finds the machine in another state, and so does whoever comes next.
      const std::size_t place = pass % 2 == 0 ? turn : racers.size() - 1 - turn;
      const std::size_t i = (pass / 2 + place) % racers.size();
      const auto once = sampled(*racers[i], racers[i]->estimate_s(), plan);
      if (!once) return std::unexpected(once.error());
      result.sides[i].samples_s.push_back(*once);
    }
  }
  return result;
}

}  // namespace rooftune::cli
