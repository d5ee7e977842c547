// What a part of tuning costs.
#ifndef ROOFTUNE_TUNE_CHARGE_H_
#define ROOFTUNE_TUNE_CHARGE_H_

#include "base/clock.h"

namespace rooftune::detail {

// Adds the seconds of its scope to a cost, on the process's clock.
class Charge {
 public:
  explicit Charge(double& account) : account_(account), start_(steady_now_s()) {}
  ~Charge() { account_ += steady_now_s() - start_; }
  Charge(const Charge&) = delete;
  Charge& operator=(const Charge&) = delete;

 private:
  double& account_;
  const double start_;
};

}  // namespace rooftune::detail

#endif  // ROOFTUNE_TUNE_CHARGE_H_
