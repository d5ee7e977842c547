#include <array>
#include <cstdint>

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

constexpr Grid kMinimal(5), kExtensive(3);

}  // namespace

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
