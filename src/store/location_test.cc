#include "store/location.h"

#include <fstream>

#include "gtest/gtest.h"
#include "store/store_testing.h"

namespace rooftune {
namespace {

namespace fs = std::filesystem;

class Location : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(deep_); }

  void touch(const fs::path& file) { std::ofstream(file) << "\n"; }

  ScratchFolder scratch_;
  fs::path outer_ = scratch_.path() / "outer";
  fs::path inner_ = outer_ / "inner";
  fs::path deep_ = inner_ / "src" / "deep";
  fs::path cache_ = scratch_.path() / "cache";
};

TEST_F(Location, ProjectIsBesideTheOutermostMarker) {
  touch(inner_ / "CMakeLists.txt");
  EXPECT_EQ(resolve_environment("project", deep_, cache_), inner_ / ".rooftune/default.db");
  touch(outer_ / "rooftune.toml");
  EXPECT_EQ(resolve_environment("project", deep_, cache_), outer_ / ".rooftune/default.db");
  EXPECT_EQ(resolve_environment("project", outer_, cache_), outer_ / ".rooftune/default.db");
  touch(deep_ / "rooftune.toml");
  EXPECT_EQ(resolve_environment("project", deep_, cache_), outer_ / ".rooftune/default.db");
}

TEST_F(Location, ProjectWithoutMarkerFallsBackToTheCacheFolder) {
  EXPECT_EQ(resolve_environment("project", deep_, cache_), cache_ / "rooftune/default.db");
}

TEST_F(Location, AFolderWithTheMarkersNameIsNoMarker) {
  fs::create_directory(outer_ / "CMakeLists.txt");
  EXPECT_EQ(resolve_environment("project", deep_, cache_), cache_ / "rooftune/default.db");
}

TEST_F(Location, AStartFolderThatIsNotThereIsWalkedAllTheSame) {
  touch(outer_ / "rooftune.toml");
  EXPECT_EQ(resolve_environment("project", outer_ / "gone" / "away", cache_),
            outer_ / ".rooftune/default.db");
}

TEST_F(Location, TheOtherNames) {
  touch(outer_ / "rooftune.toml");
  EXPECT_EQ(resolve_environment("local", deep_, cache_), deep_ / ".rooftune/default.db");
  EXPECT_EQ(resolve_environment("global", deep_, cache_), cache_ / "rooftune/default.db");
  EXPECT_EQ(resolve_environment("prod", deep_, cache_), cache_ / "rooftune/prod/default.db");
  EXPECT_EQ(resolve_environment("name with spaces ü", deep_, cache_),
            cache_ / "rooftune/name with spaces ü/default.db");
  EXPECT_EQ(resolve_environment("/srv/tunes", deep_, cache_), "/srv/tunes/default.db");
  EXPECT_EQ(resolve_environment("./tunes", deep_, cache_), deep_ / "tunes/default.db");
  EXPECT_EQ(resolve_environment("sub/tunes/", deep_, cache_), deep_ / "sub/tunes/default.db");
}

TEST_F(Location, NamesThatCannotBeFoldersAreClearErrors) {
  for (const std::string& name :
       {std::string(), std::string(".."), std::string("../x"), std::string("a/../b"),
        std::string("a/.."), std::string("."), std::string(".hidden"), std::string("a\nb"),
        std::string("a\0b", 3), std::string("\x7f"), std::string("~/x"), std::string("~"),
        std::string("default.db"), std::string("default.db.damaged-1"), std::string(300, 'x'),
        "a/" + std::string(256, 'x'), std::string(5000, '/')}) {
    const auto resolved = resolve_environment(name, deep_, cache_);
    ASSERT_FALSE(resolved) << *resolved;
    EXPECT_EQ(resolved.error().kind, ErrorKind::invalid_argument);
    EXPECT_NE(resolved.error().text.find("environment name"), std::string::npos);
    EXPECT_EQ(resolved.error().text.find('\n'), std::string::npos);
  }
}

TEST_F(Location, NoCacheFolderIsAnErrorOnlyForNamesThatNeedIt) {
  EXPECT_TRUE(resolve_environment("local", deep_, ""));
  EXPECT_TRUE(resolve_environment("./x", deep_, ""));
  for (const char* name : {"global", "prod", "project"}) {
    const auto resolved = resolve_environment(name, deep_, "");
    ASSERT_FALSE(resolved);
    EXPECT_EQ(resolved.error().kind, ErrorKind::not_found);
  }
  EXPECT_FALSE(resolve_environment("global", deep_, "relative/cache"));
  EXPECT_EQ(resolve_environment("local", "relative", cache_).error().kind,
            ErrorKind::invalid_argument);
}

}  // namespace
}  // namespace rooftune
