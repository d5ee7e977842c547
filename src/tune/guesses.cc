#include "tune/guesses.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <numbers>
#include <string_view>
#include <utility>

#include "rooftune/tuner.h"
#include "tune/conclusion.h"

namespace rooftune::detail {

namespace {

struct Guess {
  double seconds;
  std::size_t member;
};

// Takes those with a guess out of the members, the best first.
std::vector<Guess> take_guesses(const Problem& problem, std::vector<std::size_t>& members) {
  std::vector<Guess> guesses;
  std::erase_if(members, [&](std::size_t i) {
    const auto seconds = problem.predicted_s(i);
    if (seconds) guesses.push_back({*seconds, i});
    return seconds.has_value();
  });
  std::stable_sort(guesses.begin(), guesses.end(),
                   [](const Guess& a, const Guess& b) { return a.seconds < b.seconds; });
  return guesses;
}

}  // namespace

std::vector<std::size_t> by_guess(const Problem& problem, std::vector<std::size_t> members) {
  for (const Guess& guess : take_guesses(problem, members)) members.push_back(guess.member);
  return members;
}

std::vector<std::size_t> short_list(const Problem& problem, std::vector<std::size_t> members,
                                    std::vector<Hopeless>& hopeless) {
  const std::vector<Guess> guesses = take_guesses(problem, members);
  const Shortlist limits = problem.shortlist();
  const auto leave_out = [&](const Guess& guess, const char* why) {
    char text[96];
    std::snprintf(text, sizeof text, "expected to take %.2f times as long as the best guess%s",
                  guess.seconds / guesses.front().seconds, why);
    hopeless.push_back({guess.member, text});
  };
  std::map<std::string_view, std::size_t> seen_of_kind;
  std::vector<std::vector<Guess>> turns;  // who is first of a kind, who is second, ...
  for (const Guess& guess : guesses) {
    const std::string& kind = problem.kind(guess.member);
    const std::size_t before = kind.empty() ? 0 : seen_of_kind[kind]++;
    if (before >= limits.most_of_a_kind) {
      leave_out(guess, ", like better ones of its kind");
    } else if (guess.seconds > limits.worst_ratio * guesses.front().seconds) {
      leave_out(guess, "");
    } else {
      turns.resize(std::max(turns.size(), before + 1));
      turns[before].push_back(guess);
    }
  }
  std::size_t kept = 0;
  for (const auto& turn : turns) {
    for (const Guess& guess : turn) {
      if (kept++ < limits.most) {
        members.push_back(guess.member);
      } else {
        leave_out(guess, "");
      }
    }
  }
  return members;
}

std::vector<std::size_t> untuned_order(const Problem& problem) {
  std::vector<std::size_t> order;
  for (const auto& round : plan_of(problem)) {
    const auto members = by_guess(problem, round);
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

void GuessCheck::add(std::string_view kind, double guess_s, double measured_s) {
  errors_.push_back({std::string(kind), std::log(measured_s / guess_s)});
}

double GuessCheck::mean() const {
  // Of two kinds the one of which more were measured says no more than the other.
  std::map<std::string_view, std::pair<double, std::size_t>> kinds;
  double sum = 0;
  std::size_t count = 0;
  for (const Error& error : errors_) {
    if (error.kind.empty()) {
      sum += error.log;
      ++count;
    } else {
      auto& [of_kind, many] = kinds[error.kind];
      of_kind += error.log;
      ++many;
    }
  }
  for (const auto& [kind, of_kind] : kinds) {
    sum += of_kind.first / double(of_kind.second);
    ++count;
  }
  return sum / double(count);
}

std::optional<double> GuessCheck::mean_of(std::string_view kind) const {
  double sum = 0;
  std::size_t count = 0;
  for (const Error& error : errors_) {
    if (kind.empty() || error.kind != kind) continue;
    sum += error.log;
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / double(count);
}

double GuessCheck::deviation() const {
  const double middle = mean();
  double squares = 0;
  for (const Error& error : errors_) squares += (error.log - middle) * (error.log - middle);
  return std::max(std::sqrt(squares / double(errors_.size() - 1)), kLeastDeviation);
}

std::optional<double> GuessCheck::expected_s(std::string_view kind, double guess_s) const {
  if (errors_.empty()) return std::nullopt;
  return guess_s * std::exp(mean_of(kind).value_or(mean()));
}

bool GuessCheck::promising(std::string_view kind, double guess_s, double leader_s,
                           double sibling_ratio) const {
  // The errors of few guesses are all that is known: with two deviations a search left out the best
  // of all twice as often, by chance and therefore not every time.
  constexpr double kDeviations = 3;
  // What guesses of another kind may be off by. With half of it the best of all was left out three
  // times as often, in times of all candidates on a CPU; with more nothing more was found.
  constexpr double kOtherKind = std::numbers::e;
  if (errors_.empty()) return true;
  if (kind.empty()) {
    if (errors_.size() < kFewest) return true;
    return std::log(guess_s) + mean() - kDeviations * deviation() < std::log(leader_s);
  }
  const double factor = mean_of(kind) ? sibling_ratio : kOtherKind;
  return *expected_s(kind, guess_s) <= factor * leader_s;
}

bool GuessCheck::surprising(double guess_s, double measured_s) const {
  constexpr double kDeviations = 3, kLeastFactor = 2;
  if (errors_.size() < kFewest) return false;
  const double beyond = std::log(measured_s / guess_s) - mean();
  return beyond > std::max(kDeviations * deviation(), std::log(kLeastFactor));
}

}  // namespace rooftune::detail
