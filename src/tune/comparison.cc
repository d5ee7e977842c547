#include "tune/comparison.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <numeric>
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

// A call that is a sample compares all candidates at the end of a pass, and may take a few
// microseconds by itself: the points of the few degrees of freedom that there are, are kept.
double kept_quantile(double p, int degrees_of_freedom) {
  struct Kept {
    double p = 0;
    std::array<double, 32> points{};  // 0: not known
  };
  thread_local Kept kept;
  const auto at = static_cast<std::size_t>(degrees_of_freedom);
  if (at >= kept.points.size()) return student_quantile(p, degrees_of_freedom);
  if (kept.p != p) kept = {p, {}};
  double& point = kept.points[at];
  if (point == 0) point = student_quantile(p, degrees_of_freedom);
  return point;
}

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
  return {middle, error * kept_quantile(confidence, int(kept) - 1)};
}

// The logarithms of the ratios of the pairs that count.
std::vector<double> log_ratios(std::span<const double> leader, std::span<const double> rival) {
  const std::size_t pairs = std::min(leader.size(), rival.size());
  const auto first = counting(leader.first(pairs)), second = counting(rival.first(pairs));
  std::vector<double> ratios;
  for (std::size_t i = 0; i < first.size(); ++i) ratios.push_back(std::log(second[i] / first[i]));
  return ratios;
}

}  // namespace

double student_quantile(double p, int degrees_of_freedom) {
  // The distribution is concave above 0: Newton's steps from there never pass the point.
  const double degrees = degrees_of_freedom;
  const double density_at_0 = std::exp(std::lgamma((degrees + 1) / 2) - std::lgamma(degrees / 2)) /
                              std::sqrt(degrees * std::numbers::pi);
  constexpr int kMostSteps = 100;
  double t = 0;
  for (int step = 0; step < kMostSteps; ++step) {
    const double density = density_at_0 * std::pow(1 + t * t / degrees, -(degrees + 1) / 2);
    const double further = (p - student_cdf(t, degrees_of_freedom)) / density;
    if (!(further > 1e-12 * (1 + t))) break;
    t += further;
  }
  return t;
}

std::optional<Noise> pooled_noise(std::span<const double> leader,
                                  const std::vector<std::span<const double>>& rivals) {
  // What no clock and no machine keeps to.
  constexpr double kLeast = 0.005;
  // Of a normal distribution the deviation by the median of the distances from the mean.
  constexpr double kDeviations = 1.4826;
  std::vector<double> distances;
  double squares = 0;
  Noise noise;
  for (const auto& rival : rivals) {
    const std::vector<double> ratios = log_ratios(leader, rival);
    const double n = double(ratios.size());
    if (n < 2) continue;
    const double mean = std::accumulate(ratios.begin(), ratios.end(), 0.0) / n;
    for (const double ratio : ratios) {
      // As far as one would be from a mean that it had no part in.
      distances.push_back(std::abs(ratio - mean) * std::sqrt(n / (n - 1)));
      squares += distances.back() * distances.back();
    }
    noise.degrees_of_freedom += int(ratios.size()) - 1;
  }
  if (distances.empty()) return std::nullopt;
  const auto middle = distances.begin() + static_cast<std::ptrdiff_t>(distances.size() / 2);
  std::nth_element(distances.begin(), middle, distances.end());
  const double usual = std::sqrt(squares / double(distances.size()));
  noise.deviation = std::max(std::min(kDeviations * *middle, usual), kLeast);
  return noise;
}

std::optional<Comparison> compare(std::span<const double> leader, std::span<const double> rival,
                                  double margin, double confidence,
                                  const std::optional<Noise>& noise) {
  std::vector<double> ratios = log_ratios(leader, rival);
  if (ratios.empty()) return std::nullopt;
  std::sort(ratios.begin(), ratios.end());
  auto [middle, half_width] = trimmed(ratios, confidence);
  // More of them know better themselves.
  constexpr std::size_t kFew = 5;
  if (noise && ratios.size() >= 2 && ratios.size() <= kFew) {
    const double error = noise->deviation / std::sqrt(double(ratios.size()));
    half_width = std::min(half_width, error * kept_quantile(confidence, noise->degrees_of_freedom));
  }
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
