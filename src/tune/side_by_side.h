// Measures candidates beside one that is known: what every step of the background does.
#ifndef ROOFTUNE_TUNE_SIDE_BY_SIDE_H_
#define ROOFTUNE_TUNE_SIDE_BY_SIDE_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "rooftune/decision.h"
#include "rooftune/detail/problem.h"
#include "rooftune/tune_context.h"
#include "tune/measurement.h"
#include "tune/schedule.h"

namespace rooftune::detail {

// The decision with its candidates in the order of the problem's, and behind them those that the
// problem does not have.
Decision aligned(const Decision& decision, const Problem& problem);

// For one problem, on one thread. What happens to candidates goes into the evidence of the decision
// (which is aligned), but for their samples, what it costs into its background_launches, and the
// state of the operands into its own.
class SideBySide {
 public:
  SideBySide(TuneContext& context, Problem& problem, Decision& decision);
  SideBySide(const SideBySide&) = delete;
  SideBySide& operator=(const SideBySide&) = delete;

  // The shortest row of launches that is timed.
  double shortest_s() const { return shortest_; }
  // What so many rivals cost at most, where none takes much longer than `each_s`.
  double expected_s(std::size_t rivals, double each_s) const;

  // Samples all in turn, the first being the reference, until their times can be told apart; then
  // the reference and the best of those that may be used, if that is another one, until it is known
  // whether it is better. False: it came to nothing, and the decision is not to be used. The
  // evidence of the reference stays as it was, unless it is found wrong.
  bool run(const std::vector<std::size_t>& members, TuningTurn& turn);

  const std::vector<double>& samples(std::size_t member) const {
    return schedule_->samples(member);
  }
  bool failed(std::size_t member) const { return schedule_->failed(member); }
  // The member that is faster than the reference by more than the margin; nothing when none is.
  std::optional<std::size_t> better() const { return better_; }
  // Its first launch took so much longer than the reference that it was the last.
  bool hopeless(std::size_t member) const { return hopeless_[member]; }

 private:
  void measure(const std::vector<std::size_t>& members);
  // The fastest member that was verified, where the others were: 0 is the reference.
  std::size_t fastest(const std::vector<std::size_t>& members) const;
  // Whether a member is better than the reference, by samples of its own: those that made it the
  // fastest of many may have been lucky.
  bool beats_reference(const std::vector<std::size_t>& members, std::size_t member);
  // False: the member is out.
  bool first_launch(std::size_t i, std::size_t member, Preparation& preparation);

  TuneContext& context_;
  const AutotuneSettings& settings_;
  Problem& problem_;
  Client& client_;
  Decision& decision_;
  std::optional<Measurement> measurement_;
  const double shortest_;
  std::optional<Schedule> schedule_;
  std::vector<bool> hopeless_;
  std::optional<std::size_t> better_;
};

}  // namespace rooftune::detail

#endif  // ROOFTUNE_TUNE_SIDE_BY_SIDE_H_
