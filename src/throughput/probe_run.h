// The measurement of one ceiling, in turns: others take theirs in between, so that each has samples
// from all of the time that is spent. A machine is at its best in some moments only: clocks move,
// and guests of a host lose their processors for tens of milliseconds.
#ifndef ROOFTUNE_THROUGHPUT_PROBE_RUN_H_
#define ROOFTUNE_THROUGHPUT_PROBE_RUN_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rooftune/device.h"
#include "rooftune/error.h"
#include "rooftune/function_ref.h"

namespace rooftune {

// The best of several turns. A probe is settled when its best was met again within a small share in
// so many turns and was not bettered by more in as many.
class TurnBests {
 public:
  void add(double rate);
  bool agree() const;
  double best() const { return best_; }
  std::size_t size() const { return rates_.size(); }

 private:
  std::vector<double> rates_;
  double best_ = 0;
  std::size_t settled_ = 0;  // turns from here on were not much better than the best before them
};

class ProbeRun {
 public:
  // Seconds of one of `repeats` launches in a row.
  using Timed = FunctionRef<Result<double>(const ProbeKernel&, const ProbeArgs&, int repeats)>;

  // A compute peak, or the launch overhead.
  ProbeRun(ProbeKernel kernel, ProbeKind kind, void* sink);
  // A point of the memory curve, measured in the `bytes` that begin at `memory`.
  ProbeRun(ProbeKernel kernel, ProbeKind kind, void* sink, void* memory, std::uint64_t bytes);

  // Finds how long launches have to be. Once, before the first turn.
  Status prepare(Timed timed, double clock_resolution_s);
  // Takes a few samples. `now_s` is the device's clock (Client::now_s), here and in done().
  Status turn(Timed timed, double now_s);
  // True when another turn would hardly say more.
  bool done(double now_s, std::size_t most_turns) const;

  // Operations or bytes per second; of the launch overhead, seconds a launch. After a turn.
  double value() const;

 private:
  bool is_memory() const { return bytes_ > 0; }
  bool in_parts() const { return part_ < bytes_; }
  Status lengthen(Timed timed);
  Result<double> launch(Timed timed, std::uint64_t repeats);
  Status warm_up(Timed timed);
  Result<double> launch_sample(Timed timed);

  ProbeKernel kernel_;
  ProbeKind kind_;
  ProbeArgs args_;
  std::byte* memory_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::uint64_t part_ = 0;    // of the set in one pass
  std::uint64_t cursor_ = 0;  // in the set: the part that was not used for longest begins here
  std::uint64_t repeats_ = 1;
  double wanted_s_ = 0;    // how long a launch should last
  double shortest_s_ = 0;  // of the launches with so many repeats; 0: there was none
  double began_s_ = 0;     // the first turn
  TurnBests turns_;
};

}  // namespace rooftune

#endif  // ROOFTUNE_THROUGHPUT_PROBE_RUN_H_
