#include "cli/interleaved.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "base/clock.h"

namespace rooftune::cli {
namespace {

// OpenBLAS lets idle threads look for work for 2^26 clock cycles, the longest of all.
constexpr auto kSettle = std::chrono::milliseconds(30);
// Untimed: wakes threads and brings the operands back into the caches.
constexpr double kWarmUp_s = 2e-3;
// Far above the step of the clock and the cost of reading it, some 30 ns.
constexpr double kShortestSample_s = 100e-6;

// Seconds of `runs` runs together.
Result<double> timed(Contestant& contestant, int runs) {
  const double begin = steady_now_s();
  for (int i = 0; i < runs; ++i) {
    if (Status done = contestant.run(); !done) return std::unexpected(done.error());
  }
  return steady_now_s() - begin;
}

// The seconds of one run, from as many as fill the time of the warm-up.
Result<double> warm_up(Contestant& contestant) {
  const double begin = steady_now_s();
  double shortest = INFINITY;
  do {
    const auto seconds = timed(contestant, 1);
    if (!seconds) return seconds;
    shortest = std::min(shortest, *seconds);
  } while (steady_now_s() - begin < kWarmUp_s);
  return shortest;
}

Status turn(Contestant& contestant) {
  std::this_thread::sleep_for(kSettle);
  const auto once = warm_up(contestant);
  if (!once) return std::unexpected(once.error());
  const double runs = std::ceil(kShortestSample_s / std::max(*once, 1e-9));
  const int per_sample = static_cast<int>(std::clamp(runs, 1.0, 1e5));
  const double begin = steady_now_s();
  do {
    const auto seconds = timed(contestant, per_sample);
    if (!seconds) return std::unexpected(seconds.error());
    if (!(*seconds > 0)) return fail(ErrorKind::not_timed, "the clock stood still");
    contestant.samples_s.push_back(*seconds / per_sample);
  } while (steady_now_s() - begin < kSeconds / kRounds);
  return {};
}

}  // namespace

void time_interleaved(std::vector<Contestant>& contestants) {
  for (int round = 0; round < kRounds; ++round) {
    for (Contestant& contestant : contestants) {
      if (contestant.status) contestant.status = turn(contestant);
    }
  }
}

}  // namespace rooftune::cli
