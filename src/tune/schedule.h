// Which candidate of a round is sampled next, and when to stop: a state machine without a device.
#ifndef ROOFTUNE_TUNE_SCHEDULE_H_
#define ROOFTUNE_TUNE_SCHEDULE_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "rooftune/settings.h"

namespace rooftune {

// Candidates are sampled in turn, one sample each per pass, so that a drifting clock hits all of
// them alike. After each pass those whose best sample is more than eliminate_ratio times the
// leader's best are dropped, slowest first, as long as more than `survivors` remain. The round ends
//   - at the limit: one candidate has `confirmations` samples at or below it (a first such sample
//     is confirmed at once, without waiting for the rest of the pass);
//   - when converged: everyone left has min_samples, of which the two best agree within kAgreement
//     (neither a disturbed nor a lucky sample stands alone), and the best time has not fallen by
//     more than kGain in each of two passes;
//   - at max_samples each; or when nobody is left.
class Schedule {
 public:
  static constexpr double kGain = 0.02;
  static constexpr double kAgreement = 0.05;

  // `prior[i]` are samples that candidate i already has; they stand for as many passes.
  Schedule(const AutotuneSettings& settings, std::optional<double> limit_s,
           std::vector<std::vector<double>> prior);

  // The candidate to sample now; nothing when the round has ended.
  std::optional<std::size_t> next();
  // A good sample of the candidate that next() gave, in seconds for one launch.
  void add(std::size_t i, double seconds);
  // The candidate cannot go on (failed, wrong, not timed): its samples no longer count. May be
  // called at any time; next() goes on without it, and with those it had eliminated.
  void fail(std::size_t i);
  // The candidate is sampled no more but keeps what it has (a launch longer than the budget).
  void retire(std::size_t i);
  // From now on no sample ends the round (a probe was found wrong).
  void drop_limit();

  const std::vector<double>& samples(std::size_t i) const { return states_[i].samples; }
  bool failed(std::size_t i) const { return states_[i].failed; }
  bool eliminated(std::size_t i) const { return states_[i].eliminated; }
  // The candidate that ended the round at the limit.
  std::optional<std::size_t> short_circuit() const { return short_circuit_; }
  bool any_valid() const;
  // The best sample of all; nothing before the first one.
  std::optional<double> leader() const;
  int passes() const { return pass_; }

 private:
  struct State {
    std::vector<double> samples;
    bool failed = false;
    bool eliminated = false;
    bool retired = false;
    int at_limit = 0;
    bool running() const { return !failed && !eliminated && !retired; }
  };
  std::optional<double> best(const State& state) const;
  static bool repeatable(const State& state);
  void end_pass();

  const AutotuneSettings settings_;
  std::optional<double> limit_s_;
  std::vector<State> states_;
  std::size_t cursor_ = 0;
  int pass_ = 1;
  int passes_without_gain_ = 0;
  std::optional<double> best_before_;
  std::optional<std::size_t> confirm_;
  std::optional<std::size_t> short_circuit_;
  bool ended_ = false;
};

}  // namespace rooftune

#endif  // ROOFTUNE_TUNE_SCHEDULE_H_
