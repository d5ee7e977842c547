#include "tune/build_ahead.h"

#include <unistd.h>

#include <algorithm>

namespace rooftune::detail {

BuildAhead::BuildAhead() : owner_(getpid()) {}

BuildAhead::~BuildAhead() {
  if (getpid() != owner_) static_cast<void>(preparation_.release());  // nobody to wait for
}

bool BuildAhead::ready(const Problem& problem, const std::vector<std::size_t>& members) {
  if (!problem.client().capabilities().compiles_at_run_time) return true;
  if (getpid() != owner_) return false;
  if (preparation_ == nullptr || members != members_) {
    preparation_.reset();
    members_ = members;
    problem_ = problem.kept();
    preparation_ = std::make_unique<Preparation>(
        problem.client(), members_, [this](std::size_t i) { return problem_->prepare(i); }, 1);
  }
  return std::all_of(members.begin(), members.end(),
                     [&](std::size_t i) { return preparation_->ready(i).has_value(); });
}

}  // namespace rooftune::detail
