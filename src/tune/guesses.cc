#include "tune/guesses.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

#include "rooftune/tuner.h"
#include "tune/conclusion.h"

namespace rooftune::detail {

std::vector<std::size_t> by_guess(const Problem& problem, std::vector<std::size_t> members,
                                  std::vector<Hopeless>* hopeless) {
  std::vector<std::pair<double, std::size_t>> order;
  for (const std::size_t i : members) {
    if (const auto seconds = problem.predicted_s(i)) order.emplace_back(*seconds, i);
  }
  if (order.empty()) return members;
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  const Shortlist limits = problem.shortlist();
  std::erase_if(members, [&](std::size_t i) { return problem.predicted_s(i).has_value(); });
  std::size_t kept = 0;
  std::map<std::string_view, std::size_t> kept_of_kind;
  for (const auto& [seconds, i] : order) {
    const double ratio = seconds / order.front().first;
    const std::string& kind = problem.kind(i);
    const bool like_others = !kind.empty() && kept_of_kind[kind] >= limits.most_of_a_kind;
    if (hopeless == nullptr ||
        (ratio <= limits.worst_ratio && kept < limits.most && !like_others)) {
      members.push_back(i);
      ++kept;
      ++kept_of_kind[kind];
    } else {
      char text[96];
      std::snprintf(text, sizeof text, "expected to take %.2f times as long as the best guess%s",
                    ratio, like_others ? ", like better ones of its kind" : "");
      hopeless->push_back({i, text});
    }
  }
  return members;
}

std::vector<std::size_t> untuned_order(const Problem& problem) {
  std::vector<std::size_t> order;
  for (const auto& round : plan_of(problem)) {
    const auto members = by_guess(problem, round, nullptr);
    order.insert(order.end(), members.begin(), members.end());
  }
  order.push_back(0);
  return order;
}

namespace {

// With fewer the spread of their errors is anybody's guess.
constexpr std::size_t kFewest = 4;
// Guesses that agree better with each other than this do so by chance.
constexpr double kLeastDeviation = 0.1;

}  // namespace

void GuessCheck::add(double guess_s, double measured_s) {
  errors_.push_back(std::log(measured_s / guess_s));
}

double GuessCheck::mean() const {
  return std::accumulate(errors_.begin(), errors_.end(), 0.0) / double(errors_.size());
}

double GuessCheck::deviation() const {
  const double middle = mean();
  double squares = 0;
  for (const double error : errors_) squares += (error - middle) * (error - middle);
  return std::max(std::sqrt(squares / double(errors_.size() - 1)), kLeastDeviation);
}

std::optional<double> GuessCheck::expected_s(double guess_s) const {
  if (errors_.empty()) return std::nullopt;
  return guess_s * std::exp(mean());
}

bool GuessCheck::promising(double guess_s, double leader_s) const {
  if (errors_.size() < kFewest) return true;
  // The errors of few guesses are all that is known: with two deviations a search left out the best
  // of all twice as often, by chance and therefore not every time.
  constexpr double kDeviations = 3;
  return std::log(guess_s) + mean() - kDeviations * deviation() < std::log(leader_s);
}

bool GuessCheck::surprising(double guess_s, double measured_s) const {
  constexpr double kDeviations = 3, kLeastFactor = 2;
  if (errors_.size() < kFewest) return false;
  const double beyond = std::log(measured_s / guess_s) - mean();
  return beyond > std::max(kDeviations * deviation(), std::log(kLeastFactor));
}

}  // namespace rooftune::detail
