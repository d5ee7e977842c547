// Many processes on one file: killed, forked, racing.
#include <signal.h>
#include <sys/syscall.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <numeric>
#include <random>
#include <thread>

#include "gtest/gtest.h"
#include "store/environment.h"
#include "store/store_testing.h"

namespace rooftune {
namespace {

namespace fs = std::filesystem;

class Processes : public testing::Test {
 protected:
  ScratchFolder scratch_;
  fs::path file_ = scratch_.path() / "new" / "default.db";
  Warnings warnings_;
  const std::string ns_{kTestSpace};

  std::unique_ptr<Environment> open() {
    return std::make_unique<Environment>(
        EnvironmentOptions{.path = file_, .warn = warnings_.sink()});
  }

  template <class Work>
  pid_t start(Work work) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      work();
      std::fflush(nullptr);
      _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    return child;
  }
  static bool succeeded(pid_t child) {
    int status = 0;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
};

constexpr auto merged_sum = [](std::optional<std::string> old) {
  return std::to_string(std::stoi(old.value_or("0")) + 1);
};

TEST_F(Processes, AllMakeTheFileAtOnce) {
  for (int round = 0; round < 5; ++round) {
    fs::remove_all(file_.parent_path());
    std::vector<pid_t> children;
    for (int p = 0; p < 8; ++p) {
      children.push_back(start([&] {
        auto environment = open();
        EXPECT_TRUE(environment->put(ns_, std::to_string(p), "1"));
        EXPECT_EQ(environment->state().waiting, 0u) << environment->state().why;
        EXPECT_EQ(warnings_.count(), 0u) << testing::PrintToString(warnings_);
      }));
    }
    for (const pid_t child : children) EXPECT_TRUE(succeeded(child));
    EXPECT_EQ(open()->list(ns_)->size(), 8u);
    EXPECT_EQ(files_with(file_.parent_path(), "damaged").size(), 0u);
  }
}

TEST_F(Processes, AllHealTheFileAtOnce) {
  for (int round = 0; round < 5; ++round) {
    fs::remove_all(file_.parent_path());
    fs::create_directories(file_.parent_path());
    write_file(file_, std::string(20'000, 'x'));
    std::vector<pid_t> children;
    for (int p = 0; p < 8; ++p) {
      children.push_back(start([&] {
        auto environment = open();
        EXPECT_TRUE(environment->put(ns_, std::to_string(p), "1"));
        EXPECT_EQ(environment->state().waiting, 0u) << environment->state().why;
        EXPECT_LE(warnings_.count(), 1u) << testing::PrintToString(warnings_);
      }));
    }
    for (const pid_t child : children) EXPECT_TRUE(succeeded(child));
    EXPECT_EQ(open()->list(ns_)->size(), 8u);
    EXPECT_EQ(files_with(file_.parent_path(), "damaged").size(), 1u);
  }
}

TEST_F(Processes, MergesLoseNothing) {
  constexpr int kProcesses = 4, kMerges = 50;
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    children.push_back(start([&] {
      auto environment = open();
      for (int i = 0; i < kMerges; ++i) EXPECT_TRUE(environment->merge(ns_, "sum", merged_sum));
      EXPECT_EQ(warnings_.count(), 0u) << testing::PrintToString(warnings_);
    }));
  }
  for (const pid_t child : children) EXPECT_TRUE(succeeded(child));
  EXPECT_EQ(open()->get(ns_, "sum").value(), std::to_string(kProcesses * kMerges));
}

// What a process was told is kept must be there, whenever it was killed.
TEST_F(Processes, KilledAtAnyMomentLoseNothingThatWasPut) {
  constexpr int kProcesses = 8, kKeys = 20;
  struct Shared {
    std::atomic<int> done[kProcesses][kKeys];
  };
  // Memory that the children and this process see alike.
  const fs::path board = scratch_.path() / "board";
  write_file(board, std::string(sizeof(Shared), '\0'));
  const auto child_work = [&](int p, unsigned seed) {
    std::mt19937 random(seed);
    FILE* marks = std::fopen(board.c_str(), "r+");
    Environment environment({.path = file_});
    for (;;) {
      const int key = int(random() % kKeys);
      const std::string name = std::to_string(p) + "." + std::to_string(key);
      if (!environment.merge(ns_, name, merged_sum)) _exit(1);
      const auto sum = environment.get(ns_, name);
      if (!sum || !*sum) _exit(2);
      const int count = std::stoi(**sum);
      std::fseek(marks, long(p * kKeys + key) * long(sizeof(int)), SEEK_SET);
      std::fwrite(&count, sizeof count, 1, marks);
      std::fflush(marks);
      if (random() % 4 == 0) environment.append_record(RecordKind::autotune, json_of(name)).value();
    }
  };
  std::vector<pid_t> children(kProcesses);
  unsigned seed = 1;
  for (int p = 0; p < kProcesses; ++p) children[p] = start([&] { child_work(p, seed++); });
  std::mt19937 random(5);
  const auto marks_now = [&] {
    std::vector<int> marks(kProcesses * kKeys);
    const std::string bytes = contents(board);
    std::memcpy(marks.data(), bytes.data(), std::min(bytes.size(), sizeof(Shared)));
    return marks;
  };
  const auto total_of = [](const std::vector<int>& marks) {
    return std::accumulate(marks.begin(), marks.end(), 0);
  };
  int kills = kProcesses;  // those at the end
  // Less and less often, so that on a busy machine something is written between the kills as well.
  for (auto pause = std::chrono::milliseconds(50); kills < 50 || total_of(marks_now()) <= 100;
       ++kills) {
    std::this_thread::sleep_for(pause);
    if (kills >= 50) pause += pause / 10;
    const int p = int(random() % kProcesses);
    kill(children[p], SIGKILL);
    int status = 0;
    waitpid(children[p], &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status));
    ++seed;
    children[p] = start([&] { child_work(p, seed); });
  }
  for (const pid_t child : children) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  auto environment = open();
  EXPECT_TRUE(environment->check().empty());
  EXPECT_EQ(warnings_.count(), 0u);
  const std::vector<int> marks = marks_now();
  for (int i = 0; i < kProcesses * kKeys; ++i) {
    const int marked = marks[std::size_t(i)];
    const std::string name = std::to_string(i / kKeys) + "." + std::to_string(i % kKeys);
    const auto kept = environment->get(ns_, name).value();
    const int sum = std::stoi(kept.value_or("0"));
    EXPECT_GE(sum, marked) << name;
    EXPECT_LE(sum, marked + kills) << name << ", which a kill may have left without its mark";
  }
  EXPECT_GT(total_of(marks), 100);
  EXPECT_EQ(files_with(file_.parent_path(), "damaged").size(), 0u);
}

TEST_F(Processes, ForkedChildrenAndTheirParentGoOn) {
  auto environment = open();
  ASSERT_TRUE(environment->put(ns_, "before", "1"));
  for (int round = 0; round < 3; ++round) {
    EXPECT_TRUE(in_child([&] {
      EXPECT_EQ(environment->get(ns_, "before").value(), "1");
      EXPECT_TRUE(environment->put(ns_, "child" + std::to_string(round), "2"));
      EXPECT_EQ(warnings_.count(), 0u) << testing::PrintToString(warnings_);
      environment.reset();
    }));
    EXPECT_EQ(environment->get(ns_, "child" + std::to_string(round)).value(), "2");
    EXPECT_TRUE(environment->put(ns_, "parent" + std::to_string(round), "3"));
  }
  EXPECT_EQ(environment->list(ns_)->size(), 7u);
  EXPECT_TRUE(environment->check().empty());
  EXPECT_EQ(warnings_.count(), 0u);
}

TEST_F(Processes, ForksWhileThreadsWrite) {
  auto environment = open();
  std::atomic<bool> stop = false;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; !stop; ++i) {
        EXPECT_TRUE(environment->put(ns_, "t" + std::to_string(t), std::to_string(i)));
        EXPECT_EQ(environment->get(ns_, "t" + std::to_string(t)).value(), std::to_string(i));
      }
    });
  }
  std::vector<pid_t> children;
  for (int c = 0; c < 16; ++c) {
    children.push_back(start([&] {
      alarm(20);  // a lock that was held by a thread of the parent would never be given back
      for (int i = 0; i < 5; ++i) {
        EXPECT_TRUE(environment->merge(ns_, "sum", merged_sum));
      }
      EXPECT_EQ(environment->state().waiting, 0u);
    }));
  }
  for (const pid_t child : children) EXPECT_TRUE(succeeded(child));
  stop = true;
  threads.clear();
  EXPECT_EQ(environment->get(ns_, "sum").value(), "80");
  EXPECT_TRUE(environment->check().empty());
  EXPECT_EQ(warnings_.count(), 0u);
}

TEST_F(Processes, MemoryGoesAlongIntoTheChild) {
  Environment environment({.use_disk = false});
  ASSERT_TRUE(environment.put(ns_, "k", "1"));
  EXPECT_TRUE(in_child([&] {
    EXPECT_EQ(environment.get(ns_, "k").value(), "1");
    EXPECT_TRUE(environment.put(ns_, "k", "2"));
  }));
  EXPECT_EQ(environment.get(ns_, "k").value(), "1");
}

#ifdef SYS_clone
// Around fork(), the file is closed first. A copy of the process made behind the library's back
// must not touch it.
TEST_F(Processes, ACopyMadeByCloneWorksInMemory) {
  auto environment = open();
  ASSERT_TRUE(environment->put(ns_, "k", "1"));
  std::fflush(nullptr);
  const long child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
  if (child == 0) {
    const bool right =
        environment->put(ns_, "child", "1") && environment->get(ns_, "child").value() == "1" &&
        environment->state().mode == EnvironmentMode::memory && warnings_.count() == 1;
    environment.reset();
    _exit(right ? 0 : 1);
  }
  EXPECT_TRUE(succeeded(static_cast<pid_t>(child)));
  EXPECT_TRUE(environment->put(ns_, "after", "1"));
  EXPECT_EQ(open()->list(ns_)->size(), 2u);
  EXPECT_EQ(warnings_.count(), 0u);
}
#endif

}  // namespace
}  // namespace rooftune
