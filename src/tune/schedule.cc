#include "tune/schedule.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "tune/comparison.h"
#include "tune/estimator.h"

namespace rooftune {

Schedule::Schedule(const AutotuneSettings& settings, std::optional<double> limit_s,
                   std::vector<std::vector<double>> prior)
    : settings_(settings), limit_s_(limit_s), states_(prior.size()) {
  for (std::size_t i = 0; i < prior.size(); ++i) states_[i].samples = std::move(prior[i]);
}

std::optional<double> Schedule::best(const State& state) const {
  const auto counted = counting(state.samples);
  if (state.failed || counted.empty()) return std::nullopt;
  return *std::min_element(counted.begin(), counted.end());
}

std::optional<std::size_t> Schedule::best_estimate() const {
  std::optional<std::size_t> least;
  double least_s = 0;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (states_[i].failed) continue;
    const auto seconds = estimate_s(states_[i].samples);
    if (seconds && (!least || *seconds < least_s)) {
      least = i;
      least_s = *seconds;
    }
  }
  return least;
}

bool Schedule::wants_sample(std::size_t i) const {
  return states_[i].running() && states_[i].samples.size() < static_cast<std::size_t>(pass_);
}

std::optional<std::size_t> Schedule::next() {
  if (confirm_ && states_[*confirm_].running() && !short_circuit_) return confirm_;
  confirm_.reset();
  while (!ended_ && !short_circuit_) {
    if (reference_ && sampled_.empty() && wants_sample(*reference_)) return reference_;
    for (; cursor_ < states_.size(); ++cursor_) {
      if (wants_sample(cursor_)) return cursor_;
    }
    // Only a pass in which others came between the two samples can be compared.
    if (reference_ && states_[*reference_].running() && sampled_.size() > 1 &&
        sampled_.front() == *reference_) {
      checking_ = true;
      return reference_;
    }
    end_pass();
  }
  return std::nullopt;
}

void Schedule::add(std::size_t i, double seconds) {
  State& state = states_[i];
  if (checking_) {
    checking_ = false;
    const double drift = std::abs(std::log(seconds / state.samples.back()));
    if (drift > std::log(1 + kDrift) && repeated_ < kMostRepeated) {
      ++repeated_;
      for (const std::size_t other : sampled_) {
        State& void_one = states_[other];
        if (limit_s_ && void_one.samples.back() <= *limit_s_) --void_one.at_limit;
        void_one.samples.pop_back();
      }
      begin_pass();
    } else {
      end_pass();
    }
    return;
  }
  state.samples.push_back(seconds);
  sampled_.push_back(i);
  if (!limit_s_ || seconds > *limit_s_) {
    confirm_.reset();
    return;
  }
  ++state.at_limit;
  if (state.at_limit >= settings_.confirmations) {
    short_circuit_ = i;
    confirm_.reset();
  } else {
    confirm_ = i;
  }
}

void Schedule::fail(std::size_t i) {
  states_[i].failed = true;
  checking_ = false;
  // Whoever was dropped because of its times is back in the race.
  for (State& state : states_) state.eliminated = state.settled = false;
  if (short_circuit_ == i) short_circuit_.reset();
  if (confirm_ == i) confirm_.reset();
}

void Schedule::retire(std::size_t i) {
  states_[i].retired = true;
  checking_ = false;
  if (confirm_ == i) confirm_.reset();
}

void Schedule::drop_limit() {
  limit_s_.reset();
  short_circuit_.reset();
  confirm_.reset();
}

bool Schedule::any_valid() const {
  return std::any_of(states_.begin(), states_.end(),
                     [](const State& state) { return state.valid(); });
}

std::optional<double> Schedule::leader() const {
  std::optional<double> least;
  for (const State& state : states_) {
    const auto time = best(state);
    if (time && (!least || *time < *least)) least = time;
  }
  return least;
}

void Schedule::begin_pass() {
  cursor_ = 0;
  sampled_.clear();
  reference_ = pass_ > 1 ? best_estimate() : std::nullopt;
}

void Schedule::end_pass() {
  const auto leader = best_estimate();
  const bool anybody = std::any_of(states_.begin(), states_.end(),
                                   [](const State& state) { return state.running(); });
  if (!leader || !anybody) {
    ended_ = true;
    return;
  }
  drop_slow();
  const bool enough =
      pass_ >= settings_.min_samples &&
      (all_told(*leader) || spent_s() >= kWorth * estimate_s(states_[*leader].samples).value_or(0));
  if (enough || pass_ >= settings_.max_samples) {
    ended_ = true;
    return;
  }
  ++pass_;
  begin_pass();
}

void Schedule::drop_slow() {
  const double leader = *this->leader();
  std::vector<std::size_t> running;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (states_[i].running()) running.push_back(i);
  }
  std::sort(running.begin(), running.end(), [&](std::size_t a, std::size_t b) {
    return best(states_[a]).value_or(0) > best(states_[b]).value_or(0);
  });
  std::size_t left = running.size();
  for (const std::size_t i : running) {
    const auto time = best(states_[i]);
    if (left <= static_cast<std::size_t>(settings_.survivors) || !time ||
        *time <= leader * settings_.eliminate_ratio) {
      break;
    }
    states_[i].eliminated = true;
    --left;
  }
}

double Schedule::spent_s() const {
  double seconds = 0;
  for (const State& state : states_) {
    seconds = std::accumulate(state.samples.begin(), state.samples.end(), seconds);
  }
  return seconds;
}

// Settles those that are slower; true when nobody may still be better than the leader.
bool Schedule::all_told(std::size_t leader) {
  bool told = true;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    State& state = states_[i];
    if (i == leader || !state.running()) continue;
    const auto compared =
        compare(states_[leader].samples, state.samples, settings_.margin, settings_.confidence);
    if (compared && compared->standing == Standing::slower) {
      state.settled = true;
    } else if (!compared || compared->low < 1 / (1 + settings_.margin)) {
      told = false;
    }
  }
  return told;
}

}  // namespace rooftune
