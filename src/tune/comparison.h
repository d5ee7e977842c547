// The one test of the tree whether a candidate is slower than another.
#ifndef ROOFTUNE_TUNE_COMPARISON_H_
#define ROOFTUNE_TUNE_COMPARISON_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace rooftune {

enum class Standing : std::uint8_t {
  slower,   // by more than the margin, with the confidence asked for
  same,     // within the margin either way, likewise
  unclear,  // the samples do not tell yet
};

struct Comparison {
  Standing standing = Standing::unclear;
  double ratio = 1;  // of the rival's time to the leader's
  double low = 0;    // the true ratio is above this with the confidence asked for,
  double high = 0;   // and below this likewise; infinite while they are unknown
};

// How much the logarithm of the ratio of two samples of one pass varies, and from how many free
// differences that is known.
struct Noise {
  double deviation = 0;
  int degrees_of_freedom = 0;
};

// What all rivals of a leader show of it together, each around its own mean: after two passes a
// pair knows next to nothing of its own noise, but eight candidates know what it is here and now.
// Robust against single samples that were disturbed. Nothing before some rival has two pairs.
std::optional<Noise> pooled_noise(std::span<const double> leader,
                                  const std::vector<std::span<const double>>& rivals);

// Sample i of both was taken in pass i; what one of them has more is not looked at. Nothing when
// there is no pair. margin: 0.02 is 2 %. confidence: one-sided, in (0.5, 1).
//
// The ratio of two samples of one pass is free of what slows down a whole pass (a falling clock, a
// busy neighbour), so ratios and not times are averaged, as logarithms: a ratio and its inverse
// count alike. Of five pairs and more the fifth part with the largest and the fifth with the
// smallest ratios is set aside, since a preempted launch says nothing about a kernel. The interval
// is that of a trimmed mean with winsorised variance:
//   K. K. Yuen, The two-sample trimmed t for unequal population variances, Biometrika 61 (1974).
// Where the noise of the round is known, few pairs have no wider interval than it makes likely.
// As everywhere, the first sample counts only until three others exist.
std::optional<Comparison> compare(std::span<const double> leader, std::span<const double> rival,
                                  double margin, double confidence,
                                  const std::optional<Noise>& noise = std::nullopt);

// Whether samples do not show the rival to be slower than the leader by more than the margin: such
// a one may win in its place. Of one pair alone nothing is known.
bool as_good(const std::optional<Comparison>& compared, double margin);

// The point that a variable of Student's t distribution stays below with probability p in [0.5, 1).
double student_quantile(double p, int degrees_of_freedom);

}  // namespace rooftune

#endif  // ROOFTUNE_TUNE_COMPARISON_H_
