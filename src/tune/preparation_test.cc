#include "tune/preparation.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <thread>
#include <vector>

#include "device/fake/fake_client.h"

namespace rooftune::detail {
namespace {

const FakeClient kClient{FakeScript{}};

TEST(PreparationTest, WithoutThreadsBuildsWhenAsked) {
  std::vector<std::size_t> built;
  Preparation preparation(
      kClient, {3, 1, 2},
      [&](std::size_t i) {
        built.push_back(i);
        return Status{};
      },
      0);
  EXPECT_TRUE(built.empty());
  EXPECT_TRUE(preparation.wait(1).status.has_value());
  EXPECT_TRUE(preparation.wait(1).status.has_value());
  EXPECT_EQ(built, std::vector<std::size_t>{1});
}

TEST(PreparationTest, ReadyDoesNotWaitForAThread) {
  std::latch asked(1);
  Preparation preparation(
      kClient, {7},
      [&](std::size_t) -> Status {
        asked.wait();
        return fail(ErrorKind::build_failed, "seven");
      },
      1);
  EXPECT_FALSE(preparation.ready(7));
  asked.count_down();
  EXPECT_FALSE(preparation.wait(7).status);
  const auto built = preparation.ready(7);
  ASSERT_TRUE(built);
  EXPECT_FALSE(built->status);
}

TEST(PreparationTest, WithoutThreadsReadyBuilds) {
  int built = 0;
  Preparation preparation(
      kClient, {1},
      [&](std::size_t) {
        ++built;
        return Status{};
      },
      0);
  EXPECT_TRUE(preparation.ready(1));
  EXPECT_TRUE(preparation.ready(1));
  EXPECT_EQ(built, 1);
}

TEST(PreparationTest, ThreadsBuildAtTheSameTimeAndEachOnce) {
  constexpr std::size_t kMembers = 4;
  std::latch all_begun(kMembers);  // nobody ends before everybody has begun
  std::atomic<int> runs{0};
  Preparation preparation(
      kClient, {0, 1, 2, 3},
      [&](std::size_t i) -> Status {
        ++runs;
        all_begun.arrive_and_wait();
        if (i == 2) return fail(ErrorKind::build_failed, "two");
        return {};
      },
      kMembers);
  for (std::size_t i = 0; i < kMembers; ++i) {
    EXPECT_EQ(preparation.wait(i).status.has_value(), i != 2);
  }
  EXPECT_EQ(preparation.wait(2).status.error().text, "two");
  EXPECT_EQ(runs, 4);
}

TEST(PreparationTest, AMemberOfNobodyIsBuilt) {
  Preparation preparation(
      kClient, {0},
      [](std::size_t i) -> Status { return fail(ErrorKind::build_failed, std::to_string(i)); }, 0);
  EXPECT_EQ(preparation.wait(7).status.error().text, "7");
}

// How many of eight were built where the first one was held until `late` after the destructor was
// about to begin.
int built_by_the_end(std::chrono::milliseconds late) {
  std::atomic<int> runs{0};
  std::latch begun(1);
  std::latch go_on(1);
  std::jthread releaser;
  {
    Preparation preparation(
        kClient, {0, 1, 2, 3, 4, 5, 6, 7},
        [&](std::size_t i) -> Status {
          if (++runs == 1) begun.count_down();
          if (i == 0) go_on.wait();
          return {};
        },
        1);
    begun.wait();
    releaser = std::jthread([&] {
      std::this_thread::sleep_for(late);
      go_on.count_down();
    });
  }
  return runs;
}

TEST(PreparationTest, TheRestIsLeftWhenItGoes) {
  // The destructor says stop before it waits. On a busy machine it may be some time until it does.
  std::chrono::milliseconds late{1};
  while (built_by_the_end(late) > 1 && late < std::chrono::minutes(1)) late *= 2;
  EXPECT_LT(late, std::chrono::minutes(1));
}

}  // namespace
}  // namespace rooftune::detail
