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
  std::function<Status()> run;  // returns when the work is done

  // Filled in by time_interleaved.
  std::vector<double> samples_s;  // of one run
  Status status = {};             // what stopped it; its samples then do not count
};

// All contestants take turns, so that a machine that slows down slows all of them; at least
// kRounds turns with one sample each, and about kSeconds each. Before each turn the threads of the
// one before are given time to go to sleep, since libraries let theirs spin for a while; then
// untimed runs wake one's own.
inline constexpr int kRounds = 7;
inline constexpr double kSeconds = 0.3;
void time_interleaved(std::vector<Contestant>& contestants);

}  // namespace rooftune::cli

#endif  // ROOFTUNE_CLI_INTERLEAVED_H_
