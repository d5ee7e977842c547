#include "tune/choice.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tune/comparison.h"

namespace rooftune {

Choice choose(std::span<const CandidateEvidence> candidates, std::vector<std::size_t> measured,
              std::optional<std::size_t> untuned, double margin, double confidence) {
  const auto eliminated = [&](std::size_t i) {
    return candidates[i].verdict == Verdict::eliminated;
  };
  const auto rank = [&](std::size_t i) {
    return std::pair(eliminated(i), candidates[i].estimate_s().value_or(INFINITY));
  };
  std::stable_sort(measured.begin(), measured.end(),
                   [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
  Choice choice{std::move(measured), {}};
  if (choice.ranking.empty()) return choice;
  const std::size_t best = choice.ranking.front();
  for (const std::size_t i : choice.ranking) {
    const auto compared =
        compare(candidates[best].samples, candidates[i].samples, margin, confidence);
    if (i == best || (!eliminated(i) && as_good(compared, margin))) choice.same.push_back(i);
  }
  const bool keep = untuned && std::ranges::find(choice.same, *untuned) != choice.same.end();
  const std::size_t chosen = keep ? *untuned : std::ranges::min(choice.same);
  std::erase(choice.same, chosen);
  std::erase(choice.ranking, chosen);
  choice.ranking.insert(choice.ranking.begin(), chosen);
  return choice;
}

}  // namespace rooftune
