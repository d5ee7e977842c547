// Trigger: jobs share one store and the last writer wipes what the others found. Right: everything
// that was finished is there afterwards. (Kills at any moment: src/store/processes_test.cc.)
#include "issue_testing.h"

namespace rooftune::testing {
namespace {

class TensorRtLlm14441 : public IssueTest {};

TEST_F(TensorRtLlm14441, ProcessesKeepEachOthersWinners) {
  constexpr int kProcesses = 8, kKeys = 3;
  const Watchdog watchdog{std::chrono::seconds(120)};
  const auto size = [](int process) { return std::int64_t{1} << process; };
  const auto other = [](int key) { return std::int64_t{5} << (2 * key); };
  Settings settings = default_settings();
  settings.autotune.max_samples = 3;
  std::vector<pid_t> children;
  std::fflush(nullptr);
  for (int process = 0; process < kProcesses; ++process) {
    const pid_t child = fork();
    if (child == 0) {
      {
        auto session = open(settings);
        for (int key = 0; key < kKeys; ++key) {
          EXPECT_EQ(run_product(*session, size(process), other(key), 9), "");
        }
      }
      _exit(HasFailure() ? 1 : 0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  auto session = open(settings);
  for (int process = 0; process < kProcesses; ++process) {
    for (int key = 0; key < kKeys; ++key) {
      CallReport report;
      EXPECT_EQ(run_product(*session, size(process), other(key), 9, DType::f32, {}, &report), "");
      EXPECT_EQ(report.origin, Origin::store) << process << " " << key;
    }
  }
  EXPECT_EQ(sql(database(), "PRAGMA integrity_check"), std::vector<std::string>{"ok"});
  EXPECT_EQ(warnings_.count(), 0u) << PrintToString(warnings_);
}

}  // namespace
}  // namespace rooftune::testing
