#include "tune/guesses.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace rooftune::detail {

std::vector<std::size_t> by_guess(const Problem& problem, std::vector<std::size_t> members,
                                  std::vector<Hopeless>* hopeless) {
  std::vector<std::pair<double, std::size_t>> order;
  for (const std::size_t i : members) {
    const auto seconds = problem.predicted_s(i);
    if (!seconds) return members;
    order.emplace_back(*seconds, i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  // A compiler takes some tenths of a second for each on one core, and machines with such devices
  // have a dozen cores or more. Guesses are better than a factor of 2.5.
  constexpr std::size_t kMost = 16;
  constexpr double kWorst = 2.5;
  members.clear();
  for (const auto& [seconds, i] : order) {
    const double ratio = seconds / order.front().first;
    if (hopeless == nullptr || (ratio <= kWorst && members.size() < kMost)) {
      members.push_back(i);
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
