#include "tune/comparison.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "tune/estimator.h"

namespace rooftune {
namespace {

// P(T <= t) for t >= 0: the finite sums for whole degrees of freedom.
//   M. Abramowitz, I. A. Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4.
double student_cdf(double t, int degrees_of_freedom) {
  const double angle = std::atan(t / std::sqrt(degrees_of_freedom));
  const double cosine = std::cos(angle), sine = std::sin(angle);
  const bool odd = degrees_of_freedom % 2 != 0;
  double term = odd ? cosine : 1, sum = 0;
  for (int i = odd ? 2 : 1; i < degrees_of_freedom; i += 2) {
    sum += term;
    term *= cosine * cosine * i / (i + 1);
  }
  const double both = odd ? 2 / std::numbers::pi * (angle + sine * sum) : sine * sum;
  return 0.5 + both / 2;
}

struct Interval {
  double middle, half_width;
};

// Of sorted numbers, at least one.
Interval trimmed(std::span<const double> sorted, double confidence) {
  const std::size_t n = sorted.size(), cut = n / 5;
  double sum = 0;
  for (const double x : sorted.subspan(cut, n - 2 * cut)) sum += x;
  const double kept = double(n - 2 * cut);
  const double middle = sum / kept;
  if (n < 2) return {middle, std::numeric_limits<double>::infinity()};
  double winsorised_sum = 0;
  const auto winsorised = [&](std::size_t i) { return sorted[std::clamp(i, cut, n - 1 - cut)]; };
  for (std::size_t i = 0; i < n; ++i) winsorised_sum += winsorised(i);
  const double mean = winsorised_sum / double(n);
  double squares = 0;
  for (std::size_t i = 0; i < n; ++i) squares += std::pow(winsorised(i) - mean, 2);
  const double error = std::sqrt(squares / double(n - 1)) * std::sqrt(double(n)) / kept;
  return {middle, error * student_quantile(confidence, int(kept) - 1)};
}

}  // namespace

double student_quantile(double p, int degrees_of_freedom) {
  double low = 0, high = 1;
  while (student_cdf(high, degrees_of_freedom) < p && high < 1e9) high *= 2;
  for (int step = 0; step < 60; ++step) {
    const double middle = (low + high) / 2;
    (student_cdf(middle, degrees_of_freedom) < p ? low : high) = middle;
  }
  return high;
}

std::optional<Comparison> compare(std::span<const double> leader, std::span<const double> rival,
                                  double margin, double confidence) {
  const std::size_t pairs = std::min(leader.size(), rival.size());
  const auto first = counting(leader.first(pairs)), second = counting(rival.first(pairs));
  if (first.empty()) return std::nullopt;
  std::vector<double> ratios;
  for (std::size_t i = 0; i < first.size(); ++i) ratios.push_back(std::log(second[i] / first[i]));
  std::sort(ratios.begin(), ratios.end());
  const auto [middle, half_width] = trimmed(ratios, confidence);
  Comparison result;
  result.ratio = std::exp(middle);
  result.low = std::exp(middle - half_width);
  result.high = std::exp(middle + half_width);
  if (result.low > 1 + margin) {
    result.standing = Standing::slower;
  } else if (result.high <= 1 + margin && result.low >= 1 / (1 + margin)) {
    result.standing = Standing::same;
  }
  return result;
}

bool as_good(const std::optional<Comparison>& compared, double margin) {
  return compared && std::isfinite(compared->high) && compared->standing != Standing::slower &&
         compared->ratio <= 1 + margin;
}

}  // namespace rooftune
