#include "tune/schedule.h"

#include <algorithm>
#include <utility>

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

bool Schedule::repeatable(const State& state) {
  const auto counted = counting(state.samples);
  if (counted.size() < 2) return false;
  std::vector<double> sorted(counted.begin(), counted.end());
  std::partial_sort(sorted.begin(), sorted.begin() + 2, sorted.end());
  return sorted[1] <= sorted[0] * (1 + kAgreement);
}

std::optional<std::size_t> Schedule::next() {
  if (confirm_ && states_[*confirm_].running() && !short_circuit_) return confirm_;
  confirm_.reset();
  while (!ended_ && !short_circuit_) {
    for (; cursor_ < states_.size(); ++cursor_) {
      const State& state = states_[cursor_];
      if (state.running() && state.samples.size() < static_cast<std::size_t>(pass_)) {
        return cursor_;
      }
    }
    end_pass();
  }
  return std::nullopt;
}

void Schedule::add(std::size_t i, double seconds) {
  State& state = states_[i];
  state.samples.push_back(seconds);
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
  // Whoever was dropped because of its times is back in the race.
  for (State& state : states_) state.eliminated = false;
  if (short_circuit_ == i) short_circuit_.reset();
  if (confirm_ == i) confirm_.reset();
}

void Schedule::retire(std::size_t i) {
  states_[i].retired = true;
  if (confirm_ == i) confirm_.reset();
}

void Schedule::drop_limit() {
  limit_s_.reset();
  short_circuit_.reset();
  confirm_.reset();
}

bool Schedule::any_valid() const {
  return std::any_of(states_.begin(), states_.end(),
                     [](const State& state) { return !state.failed && !state.samples.empty(); });
}

std::optional<double> Schedule::leader() const {
  std::optional<double> least;
  for (const State& state : states_) {
    const auto time = best(state);
    if (time && (!least || *time < *least)) least = time;
  }
  return least;
}

void Schedule::end_pass() {
  const std::optional<double> leader = this->leader();
  std::vector<std::size_t> running;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (states_[i].running()) running.push_back(i);
  }
  if (!leader || running.empty()) {
    ended_ = true;
    return;
  }

  std::sort(running.begin(), running.end(), [&](std::size_t a, std::size_t b) {
    return best(states_[a]).value_or(0) > best(states_[b]).value_or(0);
  });
  std::size_t left = running.size();
  for (const std::size_t i : running) {
    const auto time = best(states_[i]);
    if (left <= static_cast<std::size_t>(settings_.survivors) || !time ||
        *time <= *leader * settings_.eliminate_ratio) {
      break;
    }
    states_[i].eliminated = true;
    --left;
  }

  const bool gained = !best_before_ || *leader < *best_before_ * (1 - kGain);
  passes_without_gain_ = gained ? 0 : passes_without_gain_ + 1;
  best_before_ = leader;
  const bool converged = pass_ >= settings_.min_samples && passes_without_gain_ >= 2 &&
                         std::all_of(states_.begin(), states_.end(), [&](const State& state) {
                           return !state.running() || repeatable(state);
                         });
  if (converged || pass_ >= settings_.max_samples) {
    ended_ = true;
    return;
  }
  ++pass_;
  cursor_ = 0;
}

}  // namespace rooftune
