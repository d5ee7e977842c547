// Roofline arithmetic: pure functions, pinned by tests.
#ifndef ROOFTUNE_THROUGHPUT_ROOFLINE_H_
#define ROOFTUNE_THROUGHPUT_ROOFLINE_H_

#include <optional>

namespace rooftune {

struct RooflineInput {
  double ops = 0, bytes = 0;
  double peak_ops_per_s = 0, peak_bytes_per_s = 0;
  double launch_overhead_s = 0;
};

// max(ops / peak_compute, bytes / peak_memory): no kernel can be faster. Nothing when a peak is
// zero, negative or not finite, or the work is.
std::optional<double> ideal_time_s(const RooflineInput& input);

// ideal / threshold + launch_overhead: a candidate at or below it is good enough to stop. Nothing
// without an ideal time, or for a threshold outside (0, 1].
std::optional<double> limit_s(const RooflineInput& input, double threshold);

// A sample may undercut the ideal time by this share before the probes are distrusted: the 5 % to
// which they promise to be right.
inline constexpr double kProbeTolerance = 0.05;

// Whether a sample proves that a probe is wrong.
bool breaks_roofline(double sample_s, const RooflineInput& input);

}  // namespace rooftune

#endif  // ROOFTUNE_THROUGHPUT_ROOFLINE_H_
