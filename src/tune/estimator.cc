#include "tune/estimator.h"

#include <algorithm>
#include <cmath>

namespace rooftune {
namespace {

constexpr std::size_t kOthersThatReplaceTheFirst = 3;

}  // namespace

std::span<const double> counting(std::span<const double> samples) {
  return samples.size() > kOthersThatReplaceTheFirst ? samples.subspan(1) : samples;
}

std::optional<double> percentile(std::span<const double> samples, double p) {
  if (samples.empty()) return std::nullopt;
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  const double place = std::clamp(p, 0.0, 1.0) * double(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - double(below));
}

std::optional<double> estimate_s(std::span<const double> samples) {
  return percentile(counting(samples), 0.25);
}

std::optional<double> relative_spread(std::span<const double> samples) {
  const auto counted = counting(samples);
  const auto median = percentile(counted, 0.5);
  if (!median || *median <= 0) return std::nullopt;
  return (*percentile(counted, 0.75) - *percentile(counted, 0.25)) / *median;
}

}  // namespace rooftune
