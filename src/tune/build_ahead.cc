#include "tune/build_ahead.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>

namespace rooftune::detail {

BuildAhead::BuildAhead() : owner_(getpid()) {}

BuildAhead::~BuildAhead() {
  if (getpid() != owner_) static_cast<void>(preparation_.release());  // nobody to wait for
}

bool BuildAhead::ready(const Problem& problem, const std::vector<std::size_t>& members) {
  if (!problem.client().capabilities().compiles_at_run_time) return true;
  if (getpid() != owner_) return false;
  if (preparation_ != nullptr) {
    const bool done = std::all_of(members_.begin(), members_.end(), [&](std::size_t i) {
      return preparation_->ready(i).has_value();
    });
    if (!done) return false;  // and to begin with others would wait for it
    for (const std::size_t i : members_) built_.emplace(problem_->part(), i);
    preparation_.reset();
  }
  members_.clear();
  std::copy_if(members.begin(), members.end(), std::back_inserter(members_), [&](std::size_t i) {
    return !built_.contains({problem.part(), i});
  });
  if (members_.empty()) return true;
  problem_ = problem.kept();
  preparation_ = std::make_unique<Preparation>(
      problem.client(), members_, [this](std::size_t i) { return problem_->prepare(i); }, 1);
  return false;
}

}  // namespace rooftune::detail
