// Which candidate of a round is sampled next, and when to stop: a state machine without a device.
#ifndef ROOFTUNE_TUNE_SCHEDULE_H_
#define ROOFTUNE_TUNE_SCHEDULE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "rooftune/settings.h"
#include "tune/comparison.h"

namespace rooftune {

// Candidates are sampled in turn, one sample each per pass, so that a drifting clock hits all of
// them alike. After each pass those whose best sample is more than eliminate_ratio times the
// leader's best are dropped, slowest first, as long as more than `survivors` remain; so are, once a
// second pass shows the noise, those that are slower than it by more than the margin with the
// confidence of the settings (comparison.h). From min_samples on such ones are settled: they keep
// their place in the ranking and are sampled no more. The round ends
//   - at the limit: one candidate has `confirmations` samples at or below it (a first such sample
//     is confirmed at once, without waiting for the rest of the pass);
//   - from min_samples on, when every other one is settled, or with the same confidence not faster
//     than the leader by more than the margin (which of them is chosen then: choice.h);
//   - from min_samples on, when all launches together have taken kWorth times the leader's time:
//     what the samples of one search have in common (where its memory lies) no more of them take
//     away, and a search is to cost less than it can save soon;
//   - at max_samples each; or when nobody is left.
// From the second pass on the leader is sampled first, and once more at the end where several
// others came between: where these two differ by more than kDrift the clock has moved meanwhile,
// nothing of the pass can be compared, and it is repeated, kMostRepeated times in a round at most:
// where more passes differ so much, it is single samples that do.
class Schedule {
 public:
  static constexpr double kDrift = 0.05;
  static constexpr int kMostRepeated = 1;
  static constexpr double kWorth = 60;

  // `prior[i]` are samples that candidate i already has; they stand for as many passes.
  Schedule(const AutotuneSettings& settings, std::optional<double> limit_s,
           std::vector<std::vector<double>> prior);

  // The candidate to sample now; nothing when the round has ended.
  std::optional<std::size_t> next();
  // A good sample of the candidate that next() gave, in seconds for one launch, and how many
  // launches it cost, with those that were not timed.
  void add(std::size_t i, double seconds, std::uint64_t launches = 1);
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
  int repeated_passes() const { return repeated_; }

 private:
  struct State {
    std::vector<double> samples;
    bool failed = false;
    bool eliminated = false;
    bool settled = false;
    bool retired = false;
    int at_limit = 0;
    bool running() const { return !failed && !eliminated && !settled && !retired; }
    bool valid() const { return !failed && !samples.empty(); }
  };
  std::optional<double> best(const State& state) const;
  // The one that the others are compared with: the least estimate.
  std::optional<std::size_t> best_estimate() const;
  bool wants_sample(std::size_t i) const;
  void begin_pass();
  void end_pass();
  // What the samples of all show of it, against the leader's.
  std::optional<Noise> noise(std::size_t leader) const;
  std::optional<Comparison> compared(std::size_t leader, std::size_t rival,
                                     const std::optional<Noise>& noise) const;
  void drop_slow(std::size_t leader, const std::optional<Noise>& noise);
  bool all_told(std::size_t leader, const std::optional<Noise>& noise);

  const AutotuneSettings settings_;
  std::optional<double> limit_s_;
  std::vector<State> states_;
  std::size_t cursor_ = 0;
  int pass_ = 1;
  int repeated_ = 0;
  double spent_s_ = 0;  // by all launches
  // Of the pass in progress: who was sampled, and the one that shows drift.
  std::vector<std::size_t> sampled_;
  std::optional<std::size_t> reference_;
  bool checking_ = false;  // its second sample is asked for
  std::optional<std::size_t> confirm_;
  std::optional<std::size_t> short_circuit_;
  bool ended_ = false;
};

}  // namespace rooftune

#endif  // ROOFTUNE_TUNE_SCHEDULE_H_
