#include "device/cpu/workers.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>

namespace rooftune {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

// How many threads came in, by worker number; the share ends when `meeting` of them have, or not at
// all within a time that no healthy run takes.
struct Meeting {
  int size;
  std::atomic<int> arrived{0};
  std::array<std::atomic<int>, 8> by_worker{};

  static void attend(void* argument, int worker) {
    Meeting& meeting = *static_cast<Meeting*>(argument);
    ++meeting.by_worker[std::size_t(worker) % 8];
    ++meeting.arrived;
    const auto deadline = std::chrono::steady_clock::now() + seconds(120);
    while (meeting.arrived < meeting.size && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
  }
};

class WorkersTest : public testing::TestWithParam<std::chrono::nanoseconds> {};

// A wake-up that is lost, in any of the ways to wait, would leave a meeting incomplete.
TEST_P(WorkersTest, WhoeverIsAskedComesAndNobodyElse) {
  const auto workers = Workers::start(3, {}, GetParam());
  ASSERT_NE(workers, nullptr);
  ASSERT_EQ(workers->count(), 3);
  for (int round = 0; round < 1500; ++round) {
    const int helpers = round % 4;
    Meeting meeting{helpers + 1};
    workers->run(Meeting::attend, &meeting, helpers);
    ASSERT_EQ(meeting.arrived, helpers + 1) << "round " << round;
    for (int worker = 0; worker < 8; ++worker) {
      ASSERT_EQ(meeting.by_worker[std::size_t(worker)], worker <= helpers) << "round " << round;
    }
    if (round % 100 == 0) std::this_thread::sleep_for(milliseconds(1));
  }
}

TEST_P(WorkersTest, MoreHelpersThanThereAre) {
  const auto workers = Workers::start(2, {}, GetParam());
  ASSERT_NE(workers, nullptr);
  Meeting meeting{3};
  workers->run(Meeting::attend, &meeting, 100);
  EXPECT_EQ(meeting.arrived, 3);
}

TEST_P(WorkersTest, EndAtOnceAndAfterWork) {
  for (int round = 0; round < 50; ++round) {
    const auto workers = Workers::start(3, {}, GetParam());
    ASSERT_NE(workers, nullptr);
    if (round % 2 == 0) {
      Meeting meeting{4};
      workers->run(Meeting::attend, &meeting, 3);
      EXPECT_EQ(meeting.arrived, 4);
    }
    if (round % 5 == 0) std::this_thread::sleep_for(milliseconds(1));
  }
}

INSTANTIATE_TEST_SUITE_P(Spin, WorkersTest,
                         testing::Values(microseconds(0), microseconds(2), microseconds(100)));

TEST(WorkersStartTest, NoneAskedForIsNone) {
  EXPECT_EQ(Workers::start(0, {}, microseconds(0)), nullptr);
  EXPECT_EQ(Workers::start(-1, {}, microseconds(0)), nullptr);
}

}  // namespace
}  // namespace rooftune
