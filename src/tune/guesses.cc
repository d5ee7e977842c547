#include "tune/guesses.h"

#include <algorithm>
#include <cstdio>
#include <utility>

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
  // A compiler takes some tenths of a second for each on one core, and machines with such devices
  // have a dozen cores or more. Guesses are better than a factor of 2.5.
  constexpr std::size_t kMost = 16;
  constexpr double kWorst = 2.5;
  std::erase_if(members, [&](std::size_t i) { return problem.predicted_s(i).has_value(); });
  std::size_t kept = 0;
  for (const auto& [seconds, i] : order) {
    const double ratio = seconds / order.front().first;
    if (hopeless == nullptr || (ratio <= kWorst && kept < kMost)) {
      members.push_back(i);
      ++kept;
    } else {
      char text[64];
      std::snprintf(text, sizeof text, "expected to take %.2f times as long as the best guess",
                    ratio);
      hopeless->push_back({i, text});
    }
  }
  return members;
}

}  // namespace rooftune::detail
