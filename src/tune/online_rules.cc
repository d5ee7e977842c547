#include <algorithm>

#include "tune/online.h"

namespace rooftune::detail {

bool fits_in_call(double leader_s, double check_s) {
  // A launch beside calls takes caches and memory's rate from them, and where every processor is
  // busy a call may have to wait while the scheduler lets it run: some milliseconds, measured,
  // which is more than checks of short products take together.
  constexpr double kShort = 1e-3, kDear = 3;
  return check_s < kShort || check_s <= kDear * leader_s;
}

bool fits_in_call_on_stream(double leader_s, double check_s) {
  // A first launch comes with some tenths of a millisecond of the host's time: code is loaded,
  // memory allocated, and the check waits for its kernels. One beside the calls takes as much of
  // the device as several calls do, and a call that meets it waits for that long: of 0.37 ms such
  // calls took 8.5 times as long, and 2.8 times with a first launch and its check in them.
  constexpr double kLong = 0.2e-3, kMostShare = 1;
  return leader_s >= kLong && check_s <= kMostShare * leader_s;
}

bool first_launches_at_once(std::optional<double> expected_s) {
  // What belongs to a first launch takes some 20 us and more, measured.
  constexpr double kVeryShort = 5e-5;
  return expected_s && *expected_s <= kVeryShort;
}

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
