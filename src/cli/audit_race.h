// Finds the fastest of many ways to do one thing by timing all of them, and lets the few that
// matter meet once more.
#ifndef ROOFTUNE_CLI_AUDIT_RACE_H_
#define ROOFTUNE_CLI_AUDIT_RACE_H_

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cli/audit_summary.h"
#include "rooftune/device.h"
#include "rooftune/error.h"

namespace rooftune::cli {

struct Racer {
  std::string name;
  // Runs it `runs` times in a row; the seconds of one run.
  std::function<Result<double>(int runs)> time;
  bool kept = false;  // timed to the end, however slow it is

  // Filled in by race().
  std::vector<double> samples_s = {};  // of one run; the estimator's view of them counts
  int runs = 1;                        // in a sample
  bool dropped = false;                // too slow to be worth more samples
  Status status = {};                  // what stopped it; its samples then do not count

  double estimate_s() const;  // infinite when it was stopped
};

struct RacePlan {
  double seconds = 1.5;  // of all racers together; what is begun is finished
  double shortest_sample_s = 200e-6;
  int least_runs = 1;  // in a sample
  int most_runs = 100'000;
  std::function<double()> now_s;  // the clock that the seconds are counted on
};

// How a device is timed. The client must outlive the plan.
RacePlan race_plan(const Client& client, double seconds);

// Racers slower than this times the fastest are dropped at once: no noise makes a good one look so
// bad.
inline constexpr double kHopeless = 3;

// All take turns, with a run that is not timed before each short sample, since the one before has
// left its own data in the caches. Each has at least kRacePasses samples, but those that are far
// behind; then those that are near the fastest go on until the seconds are over. Long runs vary
// less, and cost more: fewer will do, and less is far behind.
inline constexpr int kRacePasses = 5, kLongRacePasses = 3;
void race(std::span<Racer> racers, const RacePlan& plan);

// The fastest that was not stopped; null when there is none.
Racer* fastest(std::span<Racer> racers);

// Fresh samples of those that have raced, so that the luck that made one of them the fastest does
// not count: the best of many noisy estimates is too good to be true. In every pass each has one
// sample, and another one begins. At least kDuelPasses passes (fewer of long runs), and
// plan.seconds / 3 for each; up to three times as long while the ratio of any to the first is not
// known to within 2 %. Errors: of the first racer that cannot be timed.
inline constexpr std::size_t kDuelPasses = 9, kLongDuelPasses = 6;
Result<Duel> duel(std::span<Racer* const> racers, const RacePlan& plan);

}  // namespace rooftune::cli

#endif  // ROOFTUNE_CLI_AUDIT_RACE_H_
