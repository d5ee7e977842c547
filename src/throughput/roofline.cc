#include "throughput/roofline.h"

#include <algorithm>
#include <cmath>

namespace rooftune {
namespace {

bool positive(double value) { return std::isfinite(value) && value > 0; }

}  // namespace

std::optional<double> ideal_time_s(const RooflineInput& input) {
  if (!positive(input.peak_ops_per_s) || !positive(input.peak_bytes_per_s)) return std::nullopt;
  if (!std::isfinite(input.ops) || input.ops < 0 || !std::isfinite(input.bytes) ||
      input.bytes < 0) {
    return std::nullopt;
  }
  const double ideal =
      std::max(input.ops / input.peak_ops_per_s, input.bytes / input.peak_bytes_per_s);
  if (!positive(ideal)) return std::nullopt;
  return ideal;
}

std::optional<double> limit_s(const RooflineInput& input, double threshold) {
  if (!positive(threshold) || threshold > 1) return std::nullopt;
  const std::optional<double> ideal = ideal_time_s(input);
  if (!ideal) return std::nullopt;
  // A launch overhead that could not be measured only makes the limit stricter.
  const double overhead = positive(input.launch_overhead_s) ? input.launch_overhead_s : 0;
  return *ideal / threshold + overhead;
}

bool breaks_roofline(double sample_s, const RooflineInput& input) {
  const std::optional<double> ideal = ideal_time_s(input);
  return ideal && positive(sample_s) && sample_s < *ideal * (1 - kProbeTolerance);
}

}  // namespace rooftune
