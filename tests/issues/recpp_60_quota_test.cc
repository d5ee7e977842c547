// Trigger: threads of the host where a quota allows fewer, and winners of such runs used later with
// all of them. Right: the number of threads in force is in the key, so neither is used for the
// other. (Where the number comes from: src/device/cpu/topology_test.cc and cgroup_test.cc.)
#include "issue_testing.h"

namespace rooftune::testing {
namespace {

class ReCpp60 : public IssueTest {};

TEST_F(ReCpp60, AWinnerOfFewerThreadsIsNotReused) {
  const auto origin = [&](int threads) {
    Settings settings = default_settings();
    settings.threads = threads;
    auto session = open(settings);
    CallReport report;
    EXPECT_EQ(run_product(*session, 120, 130, 140, DType::f32, {}, &report), "");
    const auto decision = decision_of(*session, 120, 130, 140);
    EXPECT_NE(decision->key.find("\"threads\":" + std::to_string(threads)), std::string::npos)
        << decision->key;
    return report.origin;
  };
  EXPECT_EQ(origin(2), Origin::measured);
  EXPECT_EQ(origin(1), Origin::measured);
  EXPECT_EQ(origin(2), Origin::store);
  EXPECT_EQ(origin(1), Origin::store);
  EXPECT_EQ(origin(3), Origin::measured);
}

// Without a setting, no more threads than this process may use.
TEST_F(ReCpp60, TheDefaultIsWhatIsAllowed) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  Settings settings = default_settings();
  settings.threads.reset();
  {
    auto session = open(settings);
    EXPECT_GE(session->client().capabilities().threads, 1);
    EXPECT_LE(session->client().capabilities().threads, CPU_COUNT(&before));
  }
  CPU_ZERO(&one);
  for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++i) {
    if (CPU_ISSET(i, &before)) CPU_SET(i, &one);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  {
    auto session = open(settings);
    EXPECT_EQ(session->client().capabilities().threads, 1);
    EXPECT_EQ(run_product(*session, 120, 130, 140), "");
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

}  // namespace
}  // namespace rooftune::testing
