#include "tune/plan.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>

namespace rooftune {

std::vector<std::vector<std::size_t>> make_plan(const std::vector<Memberships>& candidates) {
  std::map<std::pair<int, int>, std::vector<std::size_t>, std::greater<>> rounds;
  std::vector<std::size_t> ungrouped;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (candidates[i].empty()) {
      ungrouped.push_back(i);
      continue;
    }
    // The largest pair is the first round that reaches this candidate.
    std::optional<std::pair<int, int>> first;
    for (const auto& membership : candidates[i]) {
      if (membership.first < 0 || membership.second < 0) continue;
      if (!first || membership > *first) first = membership;
    }
    if (first) rounds[*first].push_back(i);
  }
  std::vector<std::vector<std::size_t>> plan;
  for (auto& [priority, members] : rounds) plan.push_back(std::move(members));
  if (!ungrouped.empty()) {
    if (plan.empty()) plan.emplace_back();
    std::vector<std::size_t> merged;
    std::merge(ungrouped.begin(), ungrouped.end(), plan[0].begin(), plan[0].end(),
               std::back_inserter(merged));
    plan[0] = std::move(merged);
  }
  return plan;
}

}  // namespace rooftune
