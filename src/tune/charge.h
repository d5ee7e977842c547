// What a part of tuning costs.
#ifndef ROOFTUNE_TUNE_CHARGE_H_
#define ROOFTUNE_TUNE_CHARGE_H_

#include <algorithm>

#include "rooftune/device.h"

namespace rooftune::detail {

// The seconds since its construction on the client's clock, which is the one that budgets are kept
// by. A clock that runs backwards takes nothing off a cost.
class Stopwatch {
 public:
  explicit Stopwatch(const Client& client) : client_(client), start_(client.now_s()) {}
  double seconds() const { return std::max(client_.now_s() - start_, 0.0); }

 private:
  const Client& client_;
  const double start_;
};

// Adds the seconds of its scope to a cost.
class Charge {
 public:
  Charge(const Client& client, double& account) : account_(account), watch_(client) {}
  ~Charge() { account_ += watch_.seconds(); }
  Charge(const Charge&) = delete;
  Charge& operator=(const Charge&) = delete;

 private:
  double& account_;
  const Stopwatch watch_;
};

}  // namespace rooftune::detail

#endif  // ROOFTUNE_TUNE_CHARGE_H_
