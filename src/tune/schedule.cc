#include "tune/schedule.h"

#include <algorithm>
#include <cmath>
#include <span>
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
    // One rival alone is sampled right after the leader: no time for the clock to move.
    constexpr std::size_t kSeveral = 3;
    if (reference_ && states_[*reference_].running() && sampled_.size() >= kSeveral &&
        sampled_.front() == *reference_) {
      checking_ = true;
      return reference_;
    }
    end_pass();
  }
  return std::nullopt;
}

void Schedule::add(std::size_t i, double seconds, std::uint64_t launches) {
  State& state = states_[i];
  spent_s_ += seconds * double(launches);
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
  const auto noise = this->noise(*leader);
  drop_slow(*leader, noise);
  const auto worth_more = [&] {
    return spent_s_ < kWorth * estimate_s(states_[*leader].samples).value_or(INFINITY);
  };
  const bool enough = pass_ >= settings_.min_samples && (all_told(*leader, noise) || !worth_more());
  if (enough || pass_ >= settings_.max_samples) {
    ended_ = true;
    return;
  }
  ++pass_;
  begin_pass();
}

void Schedule::drop_slow(std::size_t leader, const std::optional<Noise>& noise) {
  const double leader_s = *this->leader();
  std::vector<std::size_t> running;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (states_[i].running()) running.push_back(i);
  }
  std::sort(running.begin(), running.end(), [&](std::size_t a, std::size_t b) {
    return best(states_[a]).value_or(0) > best(states_[b]).value_or(0);
  });
  const auto slow = [&](std::size_t i) {
    if (best(states_[i]).value_or(0) > leader_s * settings_.eliminate_ratio) return true;
    if (i == leader || pass_ >= settings_.min_samples) return false;
    const auto found = compared(leader, i, noise);
    return found && found->standing == Standing::slower;
  };
  std::size_t left = running.size();
  for (const std::size_t i : running) {
    if (left <= static_cast<std::size_t>(settings_.survivors)) break;
    if (!slow(i)) continue;
    states_[i].eliminated = true;
    --left;
  }
}

std::optional<Noise> Schedule::noise(std::size_t leader) const {
  std::vector<std::span<const double>> rivals;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (i != leader && states_[i].valid()) rivals.emplace_back(states_[i].samples);
  }
  return pooled_noise(states_[leader].samples, rivals);
}

std::optional<Comparison> Schedule::compared(std::size_t leader, std::size_t rival,
                                             const std::optional<Noise>& noise) const {
  return compare(states_[leader].samples, states_[rival].samples, settings_.margin,
                 settings_.confidence, noise);
}

// Settles those that are slower; true when nobody may still be better than the leader.
bool Schedule::all_told(std::size_t leader, const std::optional<Noise>& noise) {
  bool told = true;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (i == leader || !states_[i].running()) continue;
    const auto found = compared(leader, i, noise);
    if (found && found->standing == Standing::slower) {
      states_[i].settled = true;
    } else if (!found || found->low < 1 / (1 + settings_.margin)) {
      told = false;
    }
  }
  return told;
}

}  // namespace rooftune
