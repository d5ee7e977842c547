#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "rooftune/key.h"

namespace rooftune {
namespace {

__extension__ typedef unsigned __int128 Wide;

constexpr std::int64_t kLargest = std::int64_t{1} << 62;

// The grid of base = numerator / 2: for i = 0, 1, ... the whole part of base^i, and whether there
// is a rest. Exact: numerator^i is kept as a product of whole numbers, never as a logarithm.
struct Grid {
  std::array<std::int64_t, 128> whole{};
  std::array<bool, 128> rest{};
  int size = 0;

  constexpr explicit Grid(unsigned numerator) {
    // Little-endian limbs of 32 bits; 1.5^106 > 2^62, and 3^106 < 2^169.
    std::array<std::uint64_t, 8> power{1};
    for (int i = 0; i < 128; ++i) {
      // power / 2^i, split into whole part and rest.
      Wide value = 0;
      bool remainder = false;
      for (int bit = 255; bit >= 0; --bit) {
        const bool set = (power[static_cast<std::size_t>(bit / 32)] >> (bit % 32)) & 1;
        if (bit >= i) {
          value = value << 1 | Wide{set};
        } else {
          remainder = remainder || set;
        }
      }
      if (value > Wide{static_cast<std::uint64_t>(kLargest)}) break;
      whole[static_cast<std::size_t>(size)] = static_cast<std::int64_t>(value);
      rest[static_cast<std::size_t>(size)] = remainder;
      ++size;
      std::uint64_t carry = 0;
      for (auto& limb : power) {
        const std::uint64_t product = limb * numerator + carry;
        limb = product & 0xffffffffu;
        carry = product >> 32;
      }
    }
  }

  std::int64_t up(std::int64_t x) const {
    for (int i = 0; i < size; ++i) {
      // base^i >= x for a whole x means that its whole part is.
      const auto at = static_cast<std::size_t>(i);
      if (whole[at] >= x) return whole[at] + (rest[at] ? 1 : 0);
    }
    return x;
  }
};

constexpr Grid kMinimal(5), kBalanced(4), kExtensive(3);

// The largest size of each step of the grid that is four times as fine.
struct Steps {
  std::vector<std::int64_t> last;

  Steps(const Grid& grid, double base) {
    for (int i = 0; i + 1 < grid.size; ++i) {
      const auto at = static_cast<std::size_t>(i);
      // An anchor's own step ends exactly with it.
      last.push_back(grid.whole[at]);
      for (const double part : {0.25, 0.5, 0.75}) {
        const double exact = std::pow(base, i + part);
        last.push_back(
            std::clamp(static_cast<std::int64_t>(exact), grid.whole[at], grid.whole[at + 1]));
      }
    }
  }
};

const Steps& steps_of(Level level) {
  static const Steps minimal(kMinimal, 2.5), balanced(kBalanced, 2), extensive(kExtensive, 1.5);
  return level == Level::minimal ? minimal : level == Level::balanced ? balanced : extensive;
}

}  // namespace

int anchor_step(std::int64_t x, Level level) {
  if (level == Level::full) return 0;
  const auto& last = steps_of(level).last;
  return static_cast<int>(std::lower_bound(last.begin(), last.end(), x) - last.begin());
}

std::pair<std::int64_t, std::int64_t> anchor_step_sizes(int step, Level level) {
  if (level == Level::full || step < 0) return {0, 0};
  const auto& last = steps_of(level).last;
  const auto at = static_cast<std::size_t>(step);
  if (at >= last.size() || (at > 0 && last[at - 1] == last[at])) return {0, 0};
  return {at > 0 ? last[at - 1] + 1 : 1, last[at]};
}

std::int64_t anchor(std::int64_t x, Level level) {
  if (x < 1 || x > kLargest) return x;
  switch (level) {
    case Level::minimal:
      return kMinimal.up(x);
    case Level::balanced:
      return static_cast<std::int64_t>(std::uint64_t{1}
                                       << (64 - __builtin_clzll(static_cast<std::uint64_t>(x)) -
                                           ((x & (x - 1)) == 0 ? 1 : 0)));
    case Level::extensive:
      return kExtensive.up(x);
    case Level::full:
      return x;
  }
  return x;
}

}  // namespace rooftune
