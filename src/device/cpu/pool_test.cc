#include "device/cpu/pool.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <latch>
#include <limits>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "device/cpu/fp_environment.h"
#include "device/cpu/memory.h"

namespace rooftune {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

// With as many threads in truth, however few processors this machine has.
std::unique_ptr<CpuExecutor> executor(int threads, int processors = CpuExecutor::kMaxThreads) {
  Topology topology;
  topology.affinity = processors;
  topology.effective_processors = processors;
  auto made = CpuExecutor::make(threads, topology);
  EXPECT_TRUE(made) << made.error().text;
  return std::move(*made);
}

// Runs any callable on a CpuContext as if it were a kernel.
template <class F>
KernelOutcome run(CpuExecutor& threads, F&& body) {
  return threads.run(
      [](const void* args, CpuContext& context) {
        (*static_cast<std::remove_reference_t<F>*>(const_cast<void*>(args)))(context);
        return KernelOutcome::done;
      },
      std::addressof(body));
}

// Sum of 0..count-1, formed in a parallel_for.
std::int64_t parallel_sum(CpuExecutor& threads, std::int64_t count) {
  std::atomic<std::int64_t> sum{0};
  run(threads, [&](CpuContext& context) {
    context.parallel_for(count, [&](std::int64_t index, int) { sum += index; });
  });
  return sum;
}

bool sums_right(CpuExecutor& threads, std::int64_t count) {
  return parallel_sum(threads, count) == count * (count - 1) / 2;
}

int threads_of_this_process() {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    static_cast<void>(entry);
    ++count;
  }
  return count;
}

// Waits until `condition` holds; false after a time that no healthy run takes.
template <class F>
bool comes_true(F&& condition) {
  const auto deadline = steady_clock::now() + seconds(120);
  while (!condition()) {
    if (steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

// Runs `body` in a forked child; true when it returned true in time.
template <class F>
bool holds_in_child(F&& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(150);
    _exit(body() ? 0 : 1);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return false;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(CpuExecutorTest, ThreadCountsOutsideTheRangeAreNamed) {
  for (std::int64_t threads : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{-100000},
                               std::numeric_limits<std::int64_t>::min()}) {
    auto made = CpuExecutor::make(threads, Topology{});
    ASSERT_FALSE(made) << threads;
    EXPECT_EQ(made.error().kind, ErrorKind::invalid_argument);
    EXPECT_NE(made.error().text.find(std::to_string(threads)), std::string::npos);
    EXPECT_NE(made.error().text.find("1 to 1024"), std::string::npos);
  }
}

TEST(CpuExecutorTest, MoreThanTheMostIsCutWithANote) {
  for (std::int64_t threads :
       {std::int64_t{1025}, std::int64_t{100000}, std::numeric_limits<std::int64_t>::max()}) {
    auto made = CpuExecutor::make(threads, Topology{});
    ASSERT_TRUE(made) << threads;
    EXPECT_EQ((*made)->threads(), CpuExecutor::kMaxThreads);
    EXPECT_NE((*made)->note().find(std::to_string(threads)), std::string::npos);
  }
  for (int threads : {1, 3, 1024}) {
    auto made = CpuExecutor::make(threads, Topology{});
    ASSERT_TRUE(made);
    EXPECT_EQ((*made)->threads(), threads);
    EXPECT_EQ((*made)->note(), "");
  }
}

TEST(CpuExecutorTest, EveryIndexRunsOnceAndAWorkerRunsOneTaskAtATime) {
  for (int threads : {1, 2, 3, 8, 40}) {
    auto pool = executor(threads);
    for (std::int64_t count : {-1, 0, 1, 2, 3, 39, 1000}) {
      std::vector<std::atomic<int>> runs(
          static_cast<std::size_t>(std::max<std::int64_t>(count, 0)));
      std::vector<std::atomic<int>> busy(static_cast<std::size_t>(threads));
      std::atomic<bool> right{true};
      run(*pool, [&](CpuContext& context) {
        EXPECT_EQ(context.threads(), threads);
        context.parallel_for(count, [&](std::int64_t index, int worker) {
          if (index < 0 || index >= count || worker < 0 || worker >= threads ||
              busy[std::size_t(worker)].fetch_add(1) != 0) {
            right = false;
            return;
          }
          ++runs[std::size_t(index)];
          --busy[std::size_t(worker)];
        });
      });
      EXPECT_TRUE(right) << threads << " threads, " << count << " tasks";
      for (const auto& one : runs) ASSERT_EQ(one, 1) << threads << " threads, " << count;
    }
  }
}

TEST(CpuExecutorTest, TasksRunAtTheSameTime) {
  auto pool = executor(3);
  std::atomic<int> arrived{0};
  std::atomic<int> met{0};
  run(*pool, [&](CpuContext& context) {
    context.parallel_for(3, [&](std::int64_t, int) {
      ++arrived;
      if (comes_true([&] { return arrived == 3; })) ++met;
    });
  });
  EXPECT_EQ(met, 3);
}

TEST(CpuExecutorTest, MoreThreadsThanProcessors) {
  const int before = threads_of_this_process();
  for (int processors : {1, 2, 3}) {
    auto pool = executor(CpuExecutor::kMaxThreads, processors);
    run(*pool, [](CpuContext& context) { EXPECT_EQ(context.threads(), CpuExecutor::kMaxThreads); });
    for (std::int64_t count : {2, 1023, 1024, 1025, 100000}) {
      EXPECT_TRUE(sums_right(*pool, count)) << count << " tasks, " << processors << " processors";
    }
    EXPECT_EQ(threads_of_this_process(), before + processors - 1);
  }
}

TEST(CpuExecutorTest, RationedProcessorTime) {
  Topology topology;
  topology.affinity = 8;
  topology.cpu_quota = 1.5;
  topology.effective_processors = 2;
  auto pool = CpuExecutor::make(2, topology);
  ASSERT_TRUE(pool);
  for (int round = 0; round < 100; ++round) EXPECT_TRUE(sums_right(**pool, 100));
}

TEST(CpuExecutorTest, ThreadsStartAtTheFirstNeed) {
  const int before = threads_of_this_process();
  auto pool = executor(4);
  EXPECT_TRUE(sums_right(*pool, 1));
  run(*pool, [](CpuContext& context) { EXPECT_NE(context.scratch(100), nullptr); });
  EXPECT_EQ(threads_of_this_process(), before);
  EXPECT_TRUE(sums_right(*pool, 100));
  EXPECT_EQ(threads_of_this_process(), before + 3);
  pool.reset();
  EXPECT_TRUE(comes_true([&] { return threads_of_this_process() == before; }));

  auto single = executor(1);
  EXPECT_TRUE(sums_right(*single, 100));
  EXPECT_EQ(threads_of_this_process(), before);
}

TEST(CpuExecutorTest, ANestedCallRunsInlineAndKeepsTheWorker) {
  auto pool = executor(4);
  std::atomic<int> wrong{0};
  std::atomic<int> inner_runs{0};
  run(*pool, [&](CpuContext& context) {
    for (std::int64_t outer : {1, 50}) {
      context.parallel_for(outer, [&](std::int64_t, int worker) {
        const std::thread::id self = std::this_thread::get_id();
        context.parallel_for(10, [&](std::int64_t, int inner) {
          ++inner_runs;
          if (inner != worker || std::this_thread::get_id() != self) ++wrong;
        });
      });
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(inner_runs, 510);
}

TEST(CpuExecutorTest, AThreadThatStandsBackDoesAllOfItsWork) {
  const auto threads = executor(3);
  std::thread([&] {
    CpuExecutor::stand_back();
    const auto self = std::this_thread::get_id();
    int tasks = 0;
    run(*threads, [&](CpuContext& context) {
      EXPECT_EQ(context.threads(), 3) << "the work is divided as ever";
      context.parallel_for(100, [&](std::int64_t, int worker) {
        EXPECT_EQ(std::this_thread::get_id(), self);
        EXPECT_EQ(worker, 0);
        ++tasks;
      });
    });
    EXPECT_EQ(tasks, 100);
  }).join();
}

TEST(CpuExecutorTest, AKernelMayLaunchAnother) {
  auto pool = executor(3);
  std::atomic<int> wrong{0};
  run(*pool, [&](CpuContext& context) {
    context.parallel_for(20, [&](std::int64_t, int) {
      if (!sums_right(*pool, 100)) ++wrong;
    });
    if (!sums_right(*pool, 100)) ++wrong;  // outside a parallel_for the threads are free for it
  });
  EXPECT_EQ(wrong, 0);
}

TEST(CpuExecutorTest, ACallerDoesNotWaitForAnother) {
  auto pool = executor(2);
  std::atomic<int> inside_first{0};
  std::atomic<bool> leave{false};
  std::thread first([&] {
    run(*pool, [&](CpuContext& context) {
      context.parallel_for(2, [&](std::int64_t, int) {
        ++inside_first;
        comes_true([&] { return leave.load(); });
      });
    });
  });
  ASSERT_TRUE(comes_true([&] { return inside_first == 2; }));
  int tasks = 0;  // not atomic: all on this thread
  run(*pool, [&](CpuContext& context) {
    EXPECT_EQ(context.threads(), 2);
    context.parallel_for(100, [&](std::int64_t, int worker) {
      EXPECT_EQ(worker, 0);
      ++tasks;
    });
  });
  EXPECT_EQ(tasks, 100);
  EXPECT_FALSE(leave);
  leave = true;
  first.join();
}

TEST(CpuExecutorTest, SixHundredCallersAtOnce) {
  auto pool = executor(4);
  std::latch start(600);
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 600; ++i) {
    callers.emplace_back([&, i] {
      start.arrive_and_wait();
      for (int round = 0; round < 5; ++round) {
        if (!sums_right(*pool, 10 + i)) ++wrong;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST(CpuExecutorTest, AnExceptionLeavesOnTheCallingThread) {
  auto pool = executor(3);
  for (std::int64_t count : {std::int64_t{1}, std::int64_t{1000}}) {
    EXPECT_THROW(run(*pool,
                     [&](CpuContext& context) {
                       context.parallel_for(count, [](std::int64_t, int) {
                         throw std::runtime_error("a task failed");
                       });
                     }),
                 std::runtime_error);
    EXPECT_TRUE(sums_right(*pool, 1000)) << "after an exception";
  }
}

#ifdef __SSE2__
TEST(CpuExecutorTest, TasksFollowTheFloatingPointRulesOfTheCaller) {
  auto pool = executor(3);
  EXPECT_TRUE(sums_right(*pool, 100));  // starts the threads under the default rules
  const FpControl usual = fp_control();
  constexpr FpControl kFlushBoth = 0x8040;
  constexpr FpControl kTowardZero = 0x6000;
  for (FpControl rules : {usual | kFlushBoth, usual | kTowardZero, usual}) {
    std::atomic<int> arrived{0};
    std::atomic<int> same{0};
    set_fp_control(rules);
    run(*pool, [&](CpuContext& context) {
      context.parallel_for(3, [&](std::int64_t, int) {
        ++arrived;
        comes_true([&] { return arrived == 3; });  // so that each thread has one
        if (fp_control() == rules) ++same;
      });
    });
    const FpControl after = fp_control();
    set_fp_control(usual);
    EXPECT_EQ(same, 3) << std::hex << rules;
    EXPECT_EQ(after, rules);
  }
}
#endif

TEST(CpuExecutorTest, ThreadsAreNotBoundToTheProcessorOfTheirFirstCaller) {
  const AffinityMask all = affinity_mask();
  if (count_processors(all) < 2) GTEST_SKIP() << "one processor";
  auto pool = executor(2);
  std::thread([&] {
    AffinityMask one(all.size());
    for (std::size_t word = 0; word < all.size(); ++word) {
      one[word] = all[word] & (~all[word] + 1);  // its lowest processor
      if (one[word] != 0) break;
    }
    const std::size_t bytes = one.size() * sizeof one[0];
    ASSERT_EQ(sched_setaffinity(0, bytes, reinterpret_cast<cpu_set_t*>(one.data())), 0);
    std::mutex mutex;
    std::set<AffinityMask> masks;
    std::atomic<int> arrived{0};
    run(*pool, [&](CpuContext& context) {
      context.parallel_for(2, [&](std::int64_t, int) {
        ++arrived;
        comes_true([&] { return arrived == 2; });
        const std::lock_guard lock(mutex);
        masks.insert(affinity_mask());
      });
    });
    EXPECT_EQ(masks, (std::set<AffinityMask>{one, all}));
    EXPECT_EQ(affinity_mask(), one) << "the caller was moved";
  }).join();
}

TEST(CpuExecutorTest, ThreadsRunNoSignalHandlersOfTheProgram) {
  auto pool = executor(2);
  std::atomic<int> arrived{0};
  std::atomic<int> blocking{0};
  std::atomic<int> faults_blocked{0};
  run(*pool, [&](CpuContext& context) {
    context.parallel_for(2, [&](std::int64_t, int) {
      ++arrived;
      comes_true([&] { return arrived == 2; });
      sigset_t blocked;
      pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
      if (sigismember(&blocked, SIGINT) == 1 && sigismember(&blocked, SIGUSR1) == 1) ++blocking;
      if (sigismember(&blocked, SIGSEGV) == 1 || sigismember(&blocked, SIGFPE) == 1) {
        ++faults_blocked;
      }
    });
  });
  EXPECT_EQ(blocking, 1);
  EXPECT_EQ(faults_blocked, 0);
  sigset_t mine;
  pthread_sigmask(SIG_SETMASK, nullptr, &mine);
  EXPECT_EQ(sigismember(&mine, SIGUSR1), 0);
}

TEST(CpuExecutorTest, AnIdleProcessSleeps) {
  auto pool = executor(std::max(2, count_processors(affinity_mask())));
  EXPECT_TRUE(sums_right(*pool, 1000));
  const auto busy_seconds = [] {
    timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
  };
  // On a loaded machine the threads may take long to get the time that they spin away.
  const bool slept = comes_true([&] {
    const double before = busy_seconds();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return busy_seconds() - before < 0.01;
  });
  EXPECT_TRUE(slept);
}

TEST(CpuExecutorTest, ScratchIsAlignedKeptAndGrown) {
  auto pool = executor(2);
  std::byte* first = nullptr;
  run(*pool, [&](CpuContext& context) {
    for (std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{4096}, std::size_t{4097},
                              std::size_t{3} << 20, std::size_t{10}}) {
      std::byte* memory = context.scratch(bytes);
      ASSERT_NE(memory, nullptr);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % kPageBytes, 0u);
      std::memset(memory, 0x11, bytes);
    }
    first = context.scratch(std::size_t{3} << 20);
  });
  for (std::size_t bytes : {std::size_t{1}, std::size_t{3} << 20}) {
    run(*pool, [&](CpuContext& context) { EXPECT_EQ(context.scratch(bytes), first); });
  }
  std::byte* others = nullptr;
  std::thread([&] {
    run(*pool, [&](CpuContext& context) {
      others = context.scratch(std::size_t{3} << 20);
      if (others != nullptr) std::memset(others, 0x22, std::size_t{3} << 20);
    });
  }).join();
  EXPECT_NE(others, nullptr);
  EXPECT_EQ(first[0], std::byte{0x11});
}

TEST(CpuExecutorTest, ALaunchInsideAnotherHasScratchOfItsOwn) {
  auto pool = executor(2);
  std::byte* inner_before = nullptr;
  for (int round = 0; round < 3; ++round) {
    run(*pool, [&](CpuContext& outer) {
      std::byte* mine = outer.scratch(10000);
      ASSERT_NE(mine, nullptr);
      std::memset(mine, 7, 10000);
      run(*pool, [&](CpuContext& inner) {
        std::byte* memory = inner.scratch(20000);
        ASSERT_NE(memory, nullptr);
        std::memset(memory, 9, 20000);
        EXPECT_TRUE(round == 0 || memory == inner_before) << "each depth keeps its block";
        inner_before = memory;
      });
      for (int i = 0; i < 10000; ++i) ASSERT_EQ(mine[i], std::byte{7});
      EXPECT_EQ(outer.scratch(10000), mine);
    });
  }
}

TEST(CpuExecutorTest, ScratchThatCannotBeHadLeavesTheOldOneValid) {
  auto pool = executor(2);
  run(*pool, [&](CpuContext& context) {
    std::byte* before = context.scratch(5000);
    ASSERT_NE(before, nullptr);
    std::memset(before, 5, 5000);
    for (std::size_t absurd :
         {std::numeric_limits<std::size_t>::max(), std::numeric_limits<std::size_t>::max() - 4096,
          std::size_t{1} << 62, std::size_t{1} << 47}) {
      EXPECT_EQ(context.scratch(absurd), nullptr) << absurd;
    }
    EXPECT_EQ(context.scratch(5000), before);
    for (int i = 0; i < 5000; ++i) ASSERT_EQ(before[i], std::byte{5});
  });
}

// ThreadSanitizer refuses threads after a fork, and neither sanitizer lives under a memory limit.
#ifndef __SANITIZE_THREAD__
TEST(CpuExecutorForkTest, ChildAndParentBothGoOn) {
  auto pool = executor(3);
  EXPECT_TRUE(sums_right(*pool, 1000));
  for (int round = 0; round < 5; ++round) {
    EXPECT_TRUE(holds_in_child([&] {
      return sums_right(*pool, 1000) && threads_of_this_process() == 3 &&
             holds_in_child([&] { return sums_right(*pool, 500); }) && sums_right(*pool, 100);
    }));
    EXPECT_TRUE(sums_right(*pool, 1000)) << "the parent, after the child left";
  }
}

TEST(CpuExecutorForkTest, AChildMayDestroyTheExecutor) {
  auto pool = executor(3);
  EXPECT_TRUE(sums_right(*pool, 1000));
  EXPECT_TRUE(holds_in_child([&] {
    pool.reset();
    return sums_right(*executor(3), 1000);
  }));
  EXPECT_TRUE(sums_right(*pool, 1000));
}

TEST(CpuExecutorForkTest, ForkWhileAnotherThreadHoldsTheThreads) {
  auto pool = executor(2);
  std::atomic<int> inside_first{0};
  std::atomic<bool> leave{false};
  std::thread first([&] {
    run(*pool, [&](CpuContext& context) {
      context.parallel_for(2, [&](std::int64_t, int) {
        ++inside_first;
        comes_true([&] { return leave.load(); });
      });
    });
  });
  ASSERT_TRUE(comes_true([&] { return inside_first == 2; }));
  EXPECT_TRUE(
      holds_in_child([&] { return sums_right(*pool, 1000) && threads_of_this_process() == 2; }));
  leave = true;
  first.join();
  EXPECT_TRUE(sums_right(*pool, 1000));
}

TEST(CpuExecutorForkTest, ForksWhileManyCallersAreBusy) {
  auto pool = executor(3);
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      while (!stop) {
        if (!sums_right(*pool, 200)) ++wrong;
      }
    });
  }
  for (int round = 0; round < 16; ++round) {
    EXPECT_TRUE(holds_in_child([&] { return sums_right(*pool, 1000); }));
  }
  stop = true;
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST(CpuExecutorForkTest, ForkInsideATask) {
  auto pool = executor(2);
  std::atomic<bool> right{true};
  run(*pool, [&](CpuContext& context) {
    context.parallel_for(4, [&](std::int64_t, int) {
      if (!holds_in_child([&] { return sums_right(*pool, 1000); })) right = false;
    });
  });
  EXPECT_TRUE(right);
}

#ifndef __SANITIZE_ADDRESS__
TEST(CpuExecutorForkTest, ThreadsThatTheSystemRefusesAreDoneWithout) {
  for (rlim_t room : {rlim_t{1} << 20, rlim_t{100} << 20}) {
    EXPECT_TRUE(holds_in_child([&] {
      std::ifstream statm("/proc/self/statm");
      rlim_t pages = 0;
      statm >> pages;
      const rlim_t bytes = pages * rlim_t(sysconf(_SC_PAGESIZE)) + room;
      const rlimit limit = {bytes, bytes};
      if (setrlimit(RLIMIT_AS, &limit) != 0) return false;
      auto pool = executor(64);
      for (int round = 0; round < 3; ++round) {
        if (!sums_right(*pool, 5000)) return false;
      }
      return pool->threads() == 64 && threads_of_this_process() < 64;
    })) << room;
  }
}
#endif
#endif

}  // namespace
}  // namespace rooftune
