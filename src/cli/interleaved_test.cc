#include "cli/interleaved.h"

#include <chrono>
#include <string>
#include <thread>

#include "gtest/gtest.h"

namespace rooftune::cli {
namespace {

TEST(Interleaved, TakesTurnsAndKeepsAFailureToItsOwner) {
  std::string order;
  std::vector<Contestant> contestants;
  const auto add = [&](char name, double seconds, int fail_after) {
    contestants.push_back({std::string(1, name), by_host_clock([&order, name, seconds, fail_after,
                                                                runs = 0]() mutable -> Status {
                             if (order.empty() || order.back() != name) order += name;
                             if (runs++ == fail_after) return fail(ErrorKind::unsupported, "no");
                             std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
                             return {};
                           })});
  };
  add('a', 5e-3, -1);
  add('b', 10e-3, -1);
  add('c', 0, 0);
  time_interleaved(contestants, kProcessorPace);
  EXPECT_EQ(order.substr(0, 8), "abcababa");
  EXPECT_GE(contestants[0].samples_s.size(), static_cast<std::size_t>(kRounds));
  EXPECT_GE(contestants[1].samples_s.size(), static_cast<std::size_t>(kRounds));
  for (const double sample : contestants[0].samples_s) EXPECT_GE(sample, 5e-3);
  for (const double sample : contestants[1].samples_s) EXPECT_GE(sample, 10e-3);
  EXPECT_TRUE(contestants[0].status);
  ASSERT_FALSE(contestants[2].status);
  EXPECT_EQ(contestants[2].status.error().text, "no");
}

TEST(Interleaved, ASampleIsOfManyShortRunsUpToALimit) {
  std::vector<int> asked;
  std::vector<Contestant> contestants;
  contestants.push_back({"short", [&asked](int runs) -> Result<double> {
                           asked.push_back(runs);
                           return 1e-6;
                         }});
  Pace pace = kDevicePace;
  pace.warm_up_s = pace.seconds = 0;  // one run each
  time_interleaved(contestants, pace);
  ASSERT_EQ(asked.size(), 2u * kRounds);
  EXPECT_EQ(asked[0], 1);
  EXPECT_EQ(asked[1], 300);
  pace.most_runs = 30;
  time_interleaved(contestants, pace);
  EXPECT_EQ(asked.back(), 30);
}

TEST(Interleaved, NoTimeIsAFailure) {
  std::vector<Contestant> contestants;
  contestants.push_back({"stopped", [](int) -> Result<double> { return 0.0; }});
  time_interleaved(contestants, kDevicePace);
  ASSERT_FALSE(contestants[0].status);
  EXPECT_EQ(contestants[0].status.error().kind, ErrorKind::not_timed);
}

}  // namespace
}  // namespace rooftune::cli
