#include "rooftune/error.h"

#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rooftune {
namespace {

TEST(Error, EveryKindHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (int i = 0; i <= int(ErrorKind::internal); ++i) {
    const std::string_view name = to_string(ErrorKind(i));
    EXPECT_NE(name, "unknown") << i;
    EXPECT_THAT(std::string(name), testing::MatchesRegex("[a-z_]+"));
    EXPECT_TRUE(names.insert(name).second) << name;
  }
  EXPECT_EQ(to_string(ErrorKind::shape_mismatch), "shape_mismatch");
  EXPECT_EQ(to_string(ErrorKind(200)), "unknown");
}

TEST(Error, FailMakesAnyResult) {
  const auto broken = []() -> Result<int> { return fail(ErrorKind::io, "disk full"); }();
  ASSERT_FALSE(broken.has_value());
  EXPECT_EQ(broken.error().kind, ErrorKind::io);
  EXPECT_EQ(broken.error().text, "disk full");
  const auto passed_on = [&]() -> Status { return std::unexpected(broken.error()); }();
  EXPECT_EQ(passed_on.error().text, "disk full");
}

}  // namespace
}  // namespace rooftune
