// Trigger: a filled store that its user may not write, with or without a log beside it, cannot even
// be opened. Right: it serves hits, nothing is written, one warning.
#include "issue_testing.h"

namespace rooftune::testing {
namespace {

namespace fs = std::filesystem;

class PyTorch126942 : public IssueTest {
 protected:
  void SetUp() override {
    auto session = open();
    ASSERT_EQ(run_product(*session, 30, 40, 50), "");
  }
  // Hits come from the store; another key is measured and kept in memory.
  void expect_served(std::size_t warnings) {
    const std::string before = contents(database());
    const bool right = in_child(
        [&] {
          auto session = open();
          CallReport report;
          EXPECT_EQ(run_product(*session, 30, 40, 50, DType::f32, {}, &report), "");
          EXPECT_EQ(report.origin, Origin::store);
          EXPECT_EQ(run_product(*session, 3, 4, 5, DType::f32, {}, &report), "");
          EXPECT_EQ(report.origin, Origin::measured);
          EXPECT_EQ(run_product(*session, 3, 4, 5, DType::f32, {}, &report), "");
          EXPECT_EQ(report.origin, Origin::memory);
          EXPECT_EQ(warnings_.count(), warnings) << PrintToString(warnings_);
        },
        true);
    EXPECT_TRUE(right);
    EXPECT_EQ(contents(database()), before);
  }
  void mode(const fs::path& path, int bits) { ASSERT_EQ(chmod(path.c_str(), mode_t(bits)), 0); }
  void TearDown() override { chmod(database().parent_path().c_str(), 0755); }
};

TEST_F(PyTorch126942, TheFileAndItsFolder) {
  mode(database(), 0444);
  mode(database().parent_path(), 0555);
  expect_served(1);
}

TEST_F(PyTorch126942, TheFileOnly) {
  mode(database(), 0444);
  mode(database().parent_path(), 0777);
  expect_served(1);
}

TEST_F(PyTorch126942, TheFolderOnly) {
  mode(database(), 0666);
  mode(database().parent_path(), 0555);
  expect_served(1);
}

TEST_F(PyTorch126942, WithALogLeftBesideIt) {
  // Another writer keeps the log alive; a copy of the three files is what an image holds.
  {
    auto writer = open();
    ASSERT_EQ(run_product(*writer, 60, 70, 80), "");
    fs::create_directory(folder_.path() / "copy");
    for (const auto& entry : fs::directory_iterator(database().parent_path())) {
      fs::copy(entry.path(), folder_.path() / "copy" / entry.path().filename());
    }
  }
  fs::remove_all(database().parent_path());
  fs::rename(folder_.path() / "copy", database().parent_path());
  ASSERT_TRUE(fs::exists(database().native() + "-wal"));
  for (const auto& entry : fs::directory_iterator(database().parent_path())) {
    mode(entry.path(), 0444);
  }
  mode(database().parent_path(), 0555);
  expect_served(1);
}

}  // namespace
}  // namespace rooftune::testing
