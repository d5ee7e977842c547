// Trigger: a store that is broken by an unclean stop makes every later start fail until somebody
// deletes it. Right: it is put aside, a new one is made, one warning, and work goes on.
#include <random>

#include "issue_testing.h"

namespace rooftune::testing {
namespace {

namespace fs = std::filesystem;

class Kolibri6482 : public IssueTest {
 protected:
  // A store of a few decisions, closed.
  void SetUp() override {
    auto session = open();
    for (const std::int64_t m : {1, 10, 100}) ASSERT_EQ(run_product(*session, m, 20, 30), "");
  }
  std::string random_bytes(std::size_t count) {
    std::string bytes(count, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random_());
    return bytes;
  }
  void overwrite(std::size_t at, const std::string& with) {
    std::string bytes = contents(database());
    ASSERT_GE(bytes.size(), at + with.size());
    write_file(database(), bytes.replace(at, with.size(), with));
  }
  // This start answers right and warns at most once; the next one finds what this one kept.
  void expect_healed(std::size_t least_warnings = 1) {
    {
      auto session = open();
      for (int call = 0; call < 2; ++call) {
        EXPECT_EQ(run_product(*session, 10, 20, 30), "");
        EXPECT_EQ(run_product(*session, 50, 60, 70), "");
      }
    }
    EXPECT_GE(warnings_.count(), least_warnings);
    EXPECT_LE(warnings_.count(), 1u) << PrintToString(warnings_);
    auto session = open();
    CallReport report;
    EXPECT_EQ(run_product(*session, 50, 60, 70, DType::f32, {}, &report), "");
    EXPECT_EQ(report.origin, Origin::store);
    EXPECT_LE(warnings_.count(), 1u) << PrintToString(warnings_);
  }
  std::mt19937 random_{11};
};

TEST_F(Kolibri6482, NoBytes) {
  write_file(database(), "");
  expect_healed(0);
}

TEST_F(Kolibri6482, FirstHalf) {
  fs::resize_file(database(), fs::file_size(database()) / 2);
  expect_healed();
}

TEST_F(Kolibri6482, FirstPageRandom) {
  overwrite(0, random_bytes(4096));
  expect_healed();
}

TEST_F(Kolibri6482, FirstPageRandomBehindTheHeader) {
  overwrite(100, random_bytes(3996));
  expect_healed();
}

TEST_F(Kolibri6482, AMiddlePageRandom) {
  const std::size_t pages = fs::file_size(database()) / 4096;
  for (std::size_t page = 1; page < pages; page += 3) overwrite(page * 4096, random_bytes(4096));
  expect_healed();
}

TEST_F(Kolibri6482, AFolder) {
  fs::remove(database());
  fs::create_directory(database());
  expect_healed();
}

TEST_F(Kolibri6482, AFolderWithSomethingInIt) {
  fs::remove(database());
  fs::create_directory(database());
  write_file(database() / "precious", "x");
  expect_healed();
  std::size_t found = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) {
    found += entry.path().filename() == "precious";
  }
  EXPECT_EQ(found, 1u);
}

TEST_F(Kolibri6482, AText) {
  write_file(database(), "this is not the database you are looking for\n");
  expect_healed();
}

TEST_F(Kolibri6482, TheTableIsGone) {
  sql(database(), "DROP TABLE entries");
  expect_healed();
}

TEST_F(Kolibri6482, AColumnIsGone) {
  sql(database(), "ALTER TABLE entries DROP COLUMN value");
  expect_healed();
}

TEST_F(Kolibri6482, AFileInPlaceOfTheFolder) {
  fs::remove_all(database().parent_path());
  write_file(database().parent_path(), "x");
  auto session = open();
  for (int call = 0; call < 2; ++call) EXPECT_EQ(run_product(*session, 50, 60, 70), "");
  EXPECT_EQ(warnings_.count(), 1u) << PrintToString(warnings_);
}

// Damage under a running session.
TEST_F(Kolibri6482, WhileItIsInUse) {
  auto session = open();
  EXPECT_EQ(run_product(*session, 10, 20, 30), "");
  write_file(database(), random_bytes(20000));
  for (const std::int64_t m : {1, 10, 100, 200, 400}) {
    EXPECT_EQ(run_product(*session, m, 20, 30), "");
  }
  EXPECT_LE(warnings_.count(), 1u) << PrintToString(warnings_);
}

}  // namespace
}  // namespace rooftune::testing
