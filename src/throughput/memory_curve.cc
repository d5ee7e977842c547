#include "throughput/memory_curve.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

namespace rooftune {
namespace {

// Well inside a first-level cache.
constexpr double kSmallestSet = 12 << 10;
// Beyond the last cache the rate no longer depends on the size. Twice the cache, for each of the
// regions a probe uses, keeps most of what a pass reads out of it; more would cost more to touch
// than to measure.
constexpr double kBeyondCache = 2;
// On a device with memory of its own touching more costs next to nothing, and its cache serves what
// the other half of a copy has not pushed out yet.
constexpr double kBeyondDeviceCache = 8;
constexpr double kCacheUnknown = 32 << 20;
// Memory that the system has to provide first costs more than all that is measured on it. Guests
// are told of all of their host's last cache, hundreds of megabytes, of which they get a share: so
// the curve ends here, and goes on to the second only when somebody asks for so large a set.
constexpr double kLargestHostSet = 64 << 20, kLargestAskedFor = 256 << 20;

// Where the points about a cache lie, as shares of it; found on curves of 50 sizes.
// A first-level cache is addressed by the program's own addresses: it serves a set whole until it
// is full, and one slightly larger hardly at all.
constexpr double kAboutFirst[] = {3. / 4, 9. / 8};
// In those behind it sets lie as their pages happen to: the rate falls from half of the cache on.
constexpr double kAboutMiddle[] = {1. / 2, 4. / 5, 6. / 5};
// The last is shared with other programs and guests.
constexpr double kAboutLast[] = {1. / 4, 1. / 2, 5. / 4};
// Between these the rate changes little by little: no gap is wider than this factor. On a device
// with memory of its own small sets are passed over in the time that it takes to reach memory at
// all, so that the rate depends on the size everywhere; and time for more points is there.
constexpr double kWidestGap = 13, kWidestDeviceGap = 5;
// None so close to the largest set that it would tell the same.
constexpr double kApart = 1.5;

// Halves of a set begin at a page, like the operands of a program.
constexpr double kGrain = 8192;

std::span<const double> points_about(std::size_t level, std::size_t levels) {
  if (level + 1 == levels) return kAboutLast;
  if (level == 0) return kAboutFirst;
  return kAboutMiddle;
}

// `points` and as many more in each gap, evenly on a logarithmic scale, as it takes.
std::vector<double> without_wide_gaps(const std::vector<double>& points, double widest) {
  std::vector<double> all;
  for (const double point : points) {
    if (!all.empty()) {
      const double low = all.back(), gap = point / low;
      const int steps = std::max(1, int(std::ceil(std::log(gap) / std::log(widest))));
      for (int step = 1; step < steps; ++step) {
        const double bytes = low * std::pow(gap, double(step) / steps);
        all.push_back(std::floor(bytes / kGrain) * kGrain);
      }
    }
    all.push_back(point);
  }
  return all;
}

}  // namespace

std::vector<double> curve_points(const Capabilities& capabilities, bool to_the_end) {
  std::vector<std::uint64_t> levels = capabilities.cache_reach_bytes;
  if (levels.empty() && capabilities.last_level_cache_bytes > 0) {
    levels.push_back(capabilities.last_level_cache_bytes);
  }
  const double last = levels.empty() ? kCacheUnknown : double(levels.back());
  const double beyond = last * (capabilities.host_memory ? kBeyondCache : kBeyondDeviceCache);
  const double largest = capabilities.host_memory ? std::min(beyond, kLargestHostSet) : beyond;
  std::vector<double> points = {kSmallestSet};
  for (std::size_t level = 0; level < levels.size(); ++level) {
    for (const double share : points_about(level, levels.size())) {
      const double bytes = std::floor(share * double(levels[level]) / kGrain) * kGrain;
      if (bytes > points.back() && bytes * kApart <= largest) points.push_back(bytes);
    }
  }
  points.push_back(std::max(largest, 2 * kSmallestSet));
  points = without_wide_gaps(points, capabilities.host_memory ? kWidestGap : kWidestDeviceGap);
  if (to_the_end && beyond > largest) points.push_back(std::min(beyond, kLargestAskedFor));
  return points;
}

double between_points(double low, double low_rate, double high, double high_rate, double bytes) {
  const double share = std::log(bytes / low) / std::log(high / low);
  return std::exp(std::lerp(std::log(low_rate), std::log(high_rate), share));
}

}  // namespace rooftune
