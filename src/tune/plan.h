// The plan: in which order candidates are measured. A pure function of the priorities.
#ifndef ROOFTUNE_TUNE_PLAN_H_
#define ROOFTUNE_TUNE_PLAN_H_

#include <cstddef>
#include <utility>
#include <vector>

namespace rooftune {

// (group priority, inner priority) of each group that a candidate joined, for one key.
using Memberships = std::vector<std::pair<int, int>>;

// Rounds of candidate indices. Groups of equal priority merge; the highest group comes first, and
// inside it the highest inner priority. A candidate appears once, in the first round that reaches
// it; a negative group or inner priority removes a membership, and a candidate that has lost all
// of its memberships does not appear. Candidates without a group are in the first round. Within a
// round the declared order is kept.
std::vector<std::vector<std::size_t>> make_plan(const std::vector<Memberships>& candidates);

}  // namespace rooftune

#endif  // ROOFTUNE_TUNE_PLAN_H_
