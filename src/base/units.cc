#include "base/units.h"

#include <array>
#include <cmath>

#include "fmt/format.h"

namespace rooftune {
namespace {

// Decimals that leave three significant digits. The thresholds are where rounding carries over:
// 9.995 is written 10.0, not 9.99 or 10.00.
int decimals_of(double magnitude) { return magnitude < 9.995 ? 2 : magnitude < 99.95 ? 1 : 0; }

}  // namespace

std::string format_seconds(double seconds) {
  struct Unit {
    double scale;
    const char* name;
  };
  constexpr std::array<Unit, 3> kUnits = {{{1e9, "ns"}, {1e6, "us"}, {1e3, "ms"}}};
  if (!std::isfinite(seconds)) return "n/a";
  if (seconds == 0) return "0 ns";
  for (const Unit& unit : kUnits) {
    const double value = seconds * unit.scale;
    // 999.5 would be written 1000: the next unit says it better.
    if (std::abs(value) < 999.5) {
      return fmt::format("{:.{}f} {}", value, decimals_of(std::abs(value)), unit.name);
    }
  }
  return fmt::format("{:.{}f} s", seconds, decimals_of(std::abs(seconds)));
}

std::string format_quantity(double value, const char* unit) {
  constexpr std::array<const char*, 7> kPrefixes = {"", "k", "M", "G", "T", "P", "E"};
  if (!std::isfinite(value)) return "n/a";
  std::size_t prefix = 0;
  // From 999.95 on, one decimal would be written 1000.0.
  while (std::abs(value) >= (prefix == 0 ? 1000 : 999.95) && prefix + 1 < kPrefixes.size()) {
    value /= 1000;
    ++prefix;
  }
  const bool whole = prefix == 0 && value == std::trunc(value);
  return fmt::format("{:.{}f} {}{}", value, whole ? 0 : 1, kPrefixes[prefix], unit);
}

}  // namespace rooftune
