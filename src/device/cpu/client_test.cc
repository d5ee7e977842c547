#include "device/cpu/client.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace rooftune {
namespace {

std::vector<Isa> usable_levels() {
  return detect_under({}, read_cpuid(), request_tile_permission).levels;
}

TEST(CpuClientTest, SaysWhichLevelsAndMatrixUnitsItHas) {
  const std::vector<Isa> levels = usable_levels();
  std::set<std::string> fingerprints;
  for (const Isa cap : levels) {
    const auto client = CpuClient::make({.threads = 1, .isa = cap});
    ASSERT_TRUE(client) << client.error().text;
    const Capabilities& has = (*client)->capabilities();
    for (const std::string_view name : kIsaNames) {
      const bool usable = *parse_isa(name) <= cap &&
                          std::find(levels.begin(), levels.end(), *parse_isa(name)) != levels.end();
      EXPECT_EQ(has.has_feature("isa:" + std::string(name)), usable) << name;
    }
    EXPECT_EQ(has.matrix_units.size(), cap == Isa::amx ? 5u : 0u);
    EXPECT_TRUE(fingerprints.insert((*client)->fingerprint().digest()).second)
        << (*client)->fingerprint().text();
  }
}

TEST(CpuClientTest, ALevelThatIsNotHereIsRefusedWithItsReason) {
  const std::vector<Isa> levels = usable_levels();
  int refused = 0;
  for (const std::string_view name : kIsaNames) {
    if (std::find(levels.begin(), levels.end(), *parse_isa(name)) != levels.end()) continue;
    const auto client = CpuClient::make({.threads = 1, .isa = parse_isa(name)});
    ASSERT_FALSE(client) << name;
    EXPECT_EQ(client.error().kind, ErrorKind::unsupported);
    EXPECT_NE(client.error().text.find(name), std::string::npos) << client.error().text;
    ++refused;
  }
  EXPECT_GE(refused, 1) << "no machine has NEON and AVX2";
}

}  // namespace
}  // namespace rooftune
