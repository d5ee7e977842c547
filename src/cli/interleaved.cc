#include "cli/interleaved.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>
#include <utility>

#include "base/clock.h"

namespace rooftune::cli {
namespace {

// The seconds of one run, from more and more of them until they fill the time of the warm-up: what
// starts a few runs on a device may take longer than they do.
Result<double> warm_up(Contestant& contestant, const Pace& pace) {
  const double begin = steady_now_s();
  double shortest = INFINITY;
  int runs = 1;
  do {
    const auto seconds = contestant.time(runs);
    if (!seconds) return seconds;
    shortest = std::min(shortest, *seconds);
    runs = std::min(2 * runs, pace.most_runs);
  } while (steady_now_s() - begin < pace.warm_up_s);
  return shortest;
}

Status turn(Contestant& contestant, const Pace& pace) {
  if (pace.settle_s > 0) {
    std::this_thread::sleep_for(std::chrono::duration<double>(pace.settle_s));
  }
  const auto once = warm_up(contestant, pace);
  if (!once) return std::unexpected(once.error());
  const double runs = std::ceil(pace.shortest_sample_s / std::max(*once, 1e-9));
  const int per_sample = static_cast<int>(std::clamp(runs, 1.0, double(pace.most_runs)));
  const double begin = steady_now_s();
  do {
    const auto seconds = contestant.time(per_sample);
    if (!seconds) return std::unexpected(seconds.error());
    if (!(*seconds > 0)) return fail(ErrorKind::not_timed, "the clock stood still");
    contestant.samples_s.push_back(*seconds);
  } while (steady_now_s() - begin < pace.seconds / kRounds);
  return {};
}

}  // namespace

std::function<Result<double>(int runs)> by_host_clock(std::function<Status()> run) {
  return [run = std::move(run)](int runs) -> Result<double> {
    const double begin = steady_now_s();
    for (int i = 0; i < runs; ++i) {
      if (Status done = run(); !done) return std::unexpected(done.error());
    }
    return (steady_now_s() - begin) / runs;
  };
}

void time_interleaved(std::vector<Contestant>& contestants, const Pace& pace) {
  for (int round = 0; round < kRounds; ++round) {
    for (Contestant& contestant : contestants) {
      if (contestant.status) contestant.status = turn(contestant, pace);
    }
  }
}

}  // namespace rooftune::cli
