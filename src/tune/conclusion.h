// The beginning and the end of a decision: what a search of its own and calls that are sampled
// (online.h) have in common. Nothing here drives a device.
#ifndef ROOFTUNE_TUNE_CONCLUSION_H_
#define ROOFTUNE_TUNE_CONCLUSION_H_

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "rooftune/decision.h"
#include "rooftune/detail/problem.h"
#include "rooftune/settings.h"
#include "tune/schedule.h"

namespace rooftune::detail {

using Plan = std::vector<std::vector<std::size_t>>;

// Failed in a way that no other problem of the key would help.
bool disqualified(Verdict verdict);
// Takes a candidate out of the race.
void disqualify(CandidateEvidence& candidate, Verdict verdict, std::string reason);

// The plan of a problem.
Plan plan_of(const Problem& problem);

// A decision without a winner: what the problem is, its plan, and of each candidate the evidence in
// `prior` (or null) that is of its version.
Decision begin_decision(const AutotuneSettings& settings, const std::string& tuner,
                        const Problem& problem, const Plan& plan, const Decision* prior);

// Those of a round that can run this problem and have not failed before, in the order of their
// guesses. `later` gets the members that the guesses leave out. Evidence of who is not among the
// members says why.
std::vector<std::size_t> members_of_round(Decision& decision, const Problem& problem,
                                          const std::vector<std::size_t>& round,
                                          std::vector<std::size_t>& later);

// Records what a verification found; false: the candidate is wrong, and out. An error of the check
// itself is no fault of the candidate, which then stays unverified.
bool record_check(CandidateEvidence& candidate, const Result<Check>& check);

// Writes what the schedule of a round has found into the evidence of its members. `untried` says of
// those that had no turn why.
void record_round(Decision& decision, std::span<const std::size_t> members,
                  const Schedule& schedule, const AutotuneSettings& settings,
                  const std::string& untried);

// From evidence to a ranking and its winner. `untimed` are those that ran, but could not be timed:
// the first of them is used, and not stored, where nobody has a time. Errors: no_candidate with the
// reasons when nothing ran.
Result<Decision> conclude(Decision decision, const Problem& problem, const Plan& plan,
                          const AutotuneSettings& settings, const std::vector<bool>& untimed);

// The decision of a set that has only one candidate.
Decision only_candidate(Decision decision);

}  // namespace rooftune::detail

#endif  // ROOFTUNE_TUNE_CONCLUSION_H_
