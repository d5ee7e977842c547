// Times several ways to do one thing so that they can be compared.
#ifndef ROOFTUNE_CLI_INTERLEAVED_H_
#define ROOFTUNE_CLI_INTERLEAVED_H_

#include <functional>
#include <string>
#include <vector>

#include "rooftune/error.h"

namespace rooftune::cli {

struct Contestant {
  std::string name;
  // Runs it `runs` times or a few more in a row; the seconds of one run, the mean of them.
  std::function<Result<double>(int runs)> time;

  // Filled in by time_interleaved.
  std::vector<double> samples_s = {};  // of one run
  Status status = {};                  // what stopped it; its samples then do not count
};

// Contestant::time for what is done when `run` returns.
std::function<Result<double>(int runs)> by_host_clock(std::function<Status()> run);

// How a kind of device is timed.
struct Pace {
  double settle_s;           // before each turn, for the threads of the one before to go to sleep
  double warm_up_s;          // untimed, at the begin of each turn
  double shortest_sample_s;  // a sample is of as many runs as take that long
  int most_runs;             // but no more than this
  double seconds;            // of each contestant, in all turns together
};
// OpenBLAS lets idle threads look for work for 2^26 clock cycles, the longest of all; runs before
// the first sample wake one's own and bring the operands back into the caches. Samples are far
// above the step of the clock and the cost of reading it, some 30 ns.
inline constexpr Pace kProcessorPace{0.03, 2e-3, 100e-6, 100'000, 0.3};
// Nothing spins there. Its clock has steps of half a microsecond, and what starts a sample may take
// ten: a sample a hundred times as long, or of hundreds of launches, tells the time of a kernel to
// within 1 or 2 %.
inline constexpr Pace kDevicePace{0, 2e-3, 1e-3, 300, 0.15};

// All contestants take turns, so that a machine that slows down slows all of them; kRounds turns
// with at least one sample each.
inline constexpr int kRounds = 7;
void time_interleaved(std::vector<Contestant>& contestants, const Pace& pace);

}  // namespace rooftune::cli

#endif  // ROOFTUNE_CLI_INTERLEAVED_H_
