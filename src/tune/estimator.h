// The one estimator of the tree: what a candidate's time is taken to be, given its samples.
#ifndef ROOFTUNE_TUNE_ESTIMATOR_H_
#define ROOFTUNE_TUNE_ESTIMATOR_H_

#include <optional>
#include <span>
#include <vector>

namespace rooftune {

// The samples that count: the very first one of a candidate (cold caches, first touch of memory,
// threads asleep) counts only until three others exist.
std::span<const double> counting(std::span<const double> samples);

// The 25th percentile of the samples that count, interpolated; nothing without a sample.
//
// Why: noise of a shared machine is one-sided (a preempted or throttled launch is slower, hardly
// one is faster), so the middle of the samples moves with the load of the moment; but the minimum
// is not safe either: a burst of clock gives a rare sample that no later call will see, and with
// more samples it only gets luckier. The lower quartile ignores up to three bad samples in four
// and is not decided by a single good one once there are five.
std::optional<double> estimate_s(std::span<const double> samples);

// Percentile p in [0, 1] by linear interpolation between order statistics; nothing when empty.
std::optional<double> percentile(std::span<const double> samples, double p);

// (75th - 25th percentile) / median of the samples that count: how far to trust the estimate.
std::optional<double> relative_spread(std::span<const double> samples);

}  // namespace rooftune

#endif  // ROOFTUNE_TUNE_ESTIMATOR_H_
