// What is left to measure beyond a decision. A pure function.
#ifndef ROOFTUNE_TUNE_AGENDA_H_
#define ROOFTUNE_TUNE_AGENDA_H_

#include <cstddef>
#include <optional>

#include "rooftune/decision.h"
#include "rooftune/detail/problem.h"
#include "rooftune/settings.h"

namespace rooftune::detail {

// The first of the ranking that can run the problem; nothing when nobody can.
std::optional<std::size_t> runner(const Decision& decision, const Problem& problem);

// The one whose turn it is to be measured against the reference. Candidates are numbered as in the
// problem, times are on the scale of the decision's.
struct Agenda {
  std::size_t reference = 0;  // who runs this problem now
  double reference_s = 0;
  std::size_t rival = 0;
  double rival_s = 0;    // what one launch of it may take, as far as anybody knows
  bool missing = false;  // the search should have measured it: the decision is partial
};

// Nothing when nothing is left for this problem. The candidates of the decision stand in the order
// of the problem's.
//
// Their order: what a partial decision has not measured, or not often enough; the later rounds of
// the plan, each in the order of the guesses; those that were left out because of their guesses.
// Never tried are candidates that are not for this key, that have failed, or that are expected to
// take more than twice as long as the reference; nor is the fallback, but where the decision misses
// it. Once the reference has reached the limit nothing is left but what a partial decision misses.
std::optional<Agenda> agenda(const Decision& decision, const Problem& problem,
                             const AutotuneSettings& settings);

}  // namespace rooftune::detail

#endif  // ROOFTUNE_TUNE_AGENDA_H_
