// Decisions and the store: what of a stored decision may still be believed. Pure functions.
#ifndef ROOFTUNE_TUNE_STORED_DECISION_H_
#define ROOFTUNE_TUNE_STORED_DECISION_H_

#include "rooftune/decision.h"
#include "rooftune/detail/problem.h"
#include "rooftune/tune_context.h"

namespace rooftune {

class Environment;

// Drops the evidence of candidates that the problem does not have at that version, and what
// depends on it (ranking, winner, short-circuit). Nor does a quarantine count that was there when
// it was stored: see exclusion.h for those of today.
Decision believable(Decision stored, const detail::Problem& problem);

// Whether a believable decision needs nothing more: every candidate of the rounds up to the
// decided one has evidence, or the search ended at the limit by one that is still there.
bool is_complete(const Decision& decision, const detail::Problem& problem);

// The newer decision, with evidence that only the older one has: samples of candidates that were
// not tried now, and candidates that this build does not know.
Decision merged(const Decision& older, Decision newer);

namespace detail {

// Writes what is known so far to the store, if there is not more in it. No record is written:
// keep_decision() does that at the end.
void keep_evidence(TuneContext& context, const Decision& partial);

// As in rooftune/tuner.h, to the environment in which the key was first met.
// The time that this took is added to one of the decision's costs.
void keep_decision(TuneContext& context, Decision& decision, Environment& environment,
                   double Cost::*account = &Cost::store_s);

}  // namespace detail

}  // namespace rooftune

#endif  // ROOFTUNE_TUNE_STORED_DECISION_H_
