// Trigger: more calling threads, or more threads asked for, than a fixed table holds. Right: no
// fixed limit; a number that makes no sense is refused by name.
#include "issue_testing.h"

namespace rooftune::testing {
namespace {

class OpenBlas2993 : public IssueTest {};

TEST_F(OpenBlas2993, SixHundredCallers) {
  const Watchdog watchdog{std::chrono::seconds(60)};
  auto session = open();
  std::atomic<int> right{0};
  // All of them are there before the first may go: 600 at once.
  run_together(600, [&](int i) {
    const std::int64_t n = 20 + i % 3 * 50;
    for (int call = 0; call < 2; ++call) {
      const std::string wrong = run_product(*session, 30, n, 40);
      EXPECT_EQ(wrong, "");
      if (wrong.empty()) ++right;
    }
  });
  EXPECT_EQ(right, 1200);
}

TEST_F(OpenBlas2993, ThreadNumbersThatAreAllowed) {
  const Watchdog watchdog{std::chrono::seconds(60)};
  for (const int threads : {1, 3, 64, 1024}) {
    Settings settings = default_settings();
    settings.threads = threads;
    settings.autotune.max_samples = 3;
    auto session = open(settings);
    ASSERT_NE(session, nullptr);
    EXPECT_EQ(session->client().capabilities().threads, threads);
    for (int call = 0; call < 2; ++call) {
      EXPECT_EQ(run_product(*session, 150, 160, 170), "") << threads;
      EXPECT_EQ(run_product(*session, 1, 300, 300), "") << threads;
    }
  }
}

TEST_F(OpenBlas2993, ThreadNumbersThatAreNot) {
  for (const int threads : {0, -1, 1025, 100000, -2147483647 - 1}) {
    SessionOptions options;
    options.settings = default_settings();
    options.settings->threads = threads;
    options.folders = {folder_.path(), folder_.path()};
    EXPECT_FALSE(validate(*options.settings));
    const auto opened = Session::open(options);
    ASSERT_FALSE(opened) << threads;
    EXPECT_EQ(opened.error().kind, ErrorKind::settings);
    EXPECT_NE(opened.error().text.find("threads"), std::string::npos);
    EXPECT_NE(opened.error().text.find(std::to_string(threads)), std::string::npos);
    EXPECT_NE(opened.error().text.find("1024"), std::string::npos) << "the values allowed";
  }
}

}  // namespace
}  // namespace rooftune::testing
