#include "base/units.h"

#include <limits>

#include "gtest/gtest.h"

namespace rooftune {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(FormatSeconds, ThreeDigitsInTheUnitThatFits) {
  EXPECT_EQ(format_seconds(300e-9), "300 ns");
  EXPECT_EQ(format_seconds(12.34e-6), "12.3 us");
  EXPECT_EQ(format_seconds(4.213e-3), "4.21 ms");
  EXPECT_EQ(format_seconds(75), "75.0 s");
  EXPECT_EQ(format_seconds(1), "1.00 s");
  EXPECT_EQ(format_seconds(12345), "12345 s");
  EXPECT_EQ(format_seconds(0), "0 ns");
  EXPECT_EQ(format_seconds(1.5e-9), "1.50 ns");
  EXPECT_EQ(format_seconds(-2e-6), "-2.00 us");
}

TEST(FormatSeconds, RoundingNeverOverflowsTheUnit) {
  EXPECT_EQ(format_seconds(999.4e-9), "999 ns");
  EXPECT_EQ(format_seconds(999.6e-9), "1.00 us");
  EXPECT_EQ(format_seconds(999.96e-6), "1.00 ms");
  EXPECT_EQ(format_seconds(0.9999), "1.00 s");
  EXPECT_EQ(format_seconds(9.996e-6), "10.0 us");
  EXPECT_EQ(format_seconds(99.96e-6), "100 us");
}

TEST(FormatQuantity, RatesAndBytes) {
  EXPECT_EQ(format_ops_rate(198.31e9), "198.3 GFLOP/s");
  EXPECT_EQ(format_ops_rate(9.044321e12), "9.0 TFLOP/s");
  EXPECT_EQ(format_bytes_rate(41.2e9), "41.2 GB/s");
  EXPECT_EQ(format_bytes(12'582'912), "12.6 MB");
  EXPECT_EQ(format_bytes(512), "512 B");
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(999), "999 B");
  EXPECT_EQ(format_bytes(1000), "1.0 kB");
  EXPECT_EQ(format_bytes(999'970), "1.0 MB");
  EXPECT_EQ(format_bytes(std::numeric_limits<std::uint64_t>::max()), "18.4 EB");
  EXPECT_EQ(format_quantity(12.5, "B"), "12.5 B");
  EXPECT_EQ(format_quantity(1e30, "B"), "1000000000000.0 EB");
}

TEST(Format, NotANumberIsNotAvailable) {
  EXPECT_EQ(format_seconds(kInfinity), "n/a");
  EXPECT_EQ(format_seconds(std::numeric_limits<double>::quiet_NaN()), "n/a");
  EXPECT_EQ(format_ops_rate(-kInfinity), "n/a");
}

}  // namespace
}  // namespace rooftune
