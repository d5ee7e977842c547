// Measured quantities as people read them. The decimal point is a point in every locale.
#ifndef ROOFTUNE_BASE_UNITS_H_
#define ROOFTUNE_BASE_UNITS_H_

#include <cstdint>
#include <string>

namespace rooftune {

// Three significant digits: "300 ns", "12.3 us", "4.21 ms", "75.0 s"; "n/a" when not finite.
std::string format_seconds(double seconds);

// One decimal, powers of 1000: "198.3 GFLOP/s", "12.6 MB"; below 1000 as it is: "512 B".
// "n/a" when not finite.
std::string format_quantity(double value, const char* unit);

inline std::string format_ops_rate(double ops_per_s) {
  return format_quantity(ops_per_s, "FLOP/s");
}
inline std::string format_bytes_rate(double bytes_per_s) {
  return format_quantity(bytes_per_s, "B/s");
}
inline std::string format_bytes(std::uint64_t bytes) { return format_quantity(double(bytes), "B"); }

}  // namespace rooftune

#endif  // ROOFTUNE_BASE_UNITS_H_
