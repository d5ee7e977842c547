// Runs, times and checks one candidate at a time: with search.cc the part of this room that drives
// a device.
#ifndef ROOFTUNE_TUNE_MEASUREMENT_H_
#define ROOFTUNE_TUNE_MEASUREMENT_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "rooftune/decision.h"
#include "rooftune/detail/problem.h"
#include "rooftune/tune_context.h"
#include "tune/preparation.h"
#include "tune/turn.h"

namespace rooftune::detail {

// What happens to a candidate goes into its evidence in the decision, and what it cost into the
// decision's cost. The trial of the problem has been made. For one search, on one thread.
class Measurement {
 public:
  Measurement(TuneContext& context, Problem& problem, Decision& decision, TuningTurn& turn);

  // First meeting: waits until the candidate is built, runs it once on a poisoned output and
  // verifies. Gives the seconds of that launch, 0 when they were too few for the clock, or nothing
  // when the candidate is out.
  std::optional<double> first_launch(std::size_t i, Preparation& preparation);

  // Times a row of launches that lasts at least `shortest` seconds; gives the seconds of one, or
  // nothing when the candidate is out. How many launches that takes is learned from row to row, and
  // begins with what one launch of `once` seconds says (0: too few for the clock).
  // Where operands are warm and the device's caches ask for it, an untimed launch comes before a
  // short row after another candidate.
  std::optional<double> row(std::size_t i, double shortest);
  void expect(std::size_t i, double once, double shortest);

  // How long the last row of this candidate took.
  double row_s(std::size_t i) const { return visits_[i].repeats * visits_[i].seconds; }

  bool launched(std::size_t i) const { return visits_[i].launched; }
  // Ran, but could not be timed.
  bool untimed(std::size_t i) const { return visits_[i].untimed; }
  // Seconds spent waiting for candidates to be built.
  double waited_s() const { return waited_s_; }
  // Nothing can be measured any more, by whoever's fault: the trial or the device is lost.
  const std::optional<Error>& trial_error() const { return trial_error_; }

 private:
  struct Visit {
    bool launched = false;
    int repeats = 1;     // launches per row
    double seconds = 0;  // of one, in the last row
    bool untimed = false;
  };

  CandidateEvidence& evidence(std::size_t i) { return decision_.candidates[i]; }
  Status wait_until_built(std::size_t i, Preparation& preparation);
  bool bring_into_place(std::size_t i);
  // The first launch, with nothing before it or beside it that is measured: who loses the device
  // is then known.
  std::optional<double> launched_alone(std::size_t i);
  std::optional<double> timed(std::size_t i, int repeats, FunctionRef<Status()> run);
  void not_timed(std::size_t i, std::string reason);
  bool verify(std::size_t i);
  // Takes a candidate out that failed.
  void failed(std::size_t i, Verdict verdict, const Error& error);
  // What a failure says about this search as a whole.
  void note_failure(const Error& error);

  TuneContext& context_;
  const AutotuneSettings& settings_;
  Problem& problem_;
  Client& client_;
  Decision& decision_;
  TuningTurn& turn_;
  std::vector<Visit> visits_;  // by candidate
  double waited_s_ = 0;
  std::optional<std::size_t> last_;  // whose operands the caches hold
  std::optional<Error> trial_error_;
};

}  // namespace rooftune::detail

#endif  // ROOFTUNE_TUNE_MEASUREMENT_H_
