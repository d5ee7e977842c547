#include "tune/build_ahead.h"

#include <algorithm>

namespace rooftune::detail {

bool BuildAhead::ready(const Problem& problem, const std::vector<std::size_t>& members) {
  if (!problem.client().capabilities().compiles_at_run_time) return true;
  if (!preparation_ || members != members_) {
    preparation_.reset();  // before the problem that it works on
    members_ = members;
    problem_ = problem.kept();
    preparation_.emplace(
        problem.client(), members_, [this](std::size_t i) { return problem_->prepare(i); }, 1);
  }
  return std::all_of(members.begin(), members.end(),
                     [&](std::size_t i) { return preparation_->ready(i).has_value(); });
}

}  // namespace rooftune::detail
