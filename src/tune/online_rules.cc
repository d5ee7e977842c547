#include <algorithm>

#include "tune/online.h"

namespace rooftune::detail {

double most_expected_ratio(double leader_s, double check_s) {
  constexpr double kToSpare = 0.1;
  const double share = check_s / leader_s;
  if (share > kMostPerCall - 1 - kToSpare) return kFar;
  return std::min(kFar, kMostPerCall - kToSpare - share);
}

std::optional<double> Likeness::scale(const std::optional<Size>& work) {
  // Of so many sizes in a row one would have come back, were they to come back.
  constexpr int kMostStrangers = 32;
  if (!begun_) {
    begun_ = true;
    first_ = work;
  }
  if (work == first_) {
    strangers_ = 0;
    return 1;
  }
  any_ = any_ || ++strangers_ >= kMostStrangers;
  if (!any_ || !work || !first_ || !(work->ops > 0) || !(first_->ops > 0)) return std::nullopt;
  return first_->ops / work->ops;
}

}  // namespace rooftune::detail
