#include "tune/keeper.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>
#include <memory>
#include <thread>
#include <vector>

namespace rooftune {
namespace {

// Such as the lease of a key: it must not leave the register while fork() walks through that.
class Owned final : private ForkGuard {
 public:
  Owned() { enroll(); }
  ~Owned() override { leave(); }

 private:
  void before_fork() override {}
  void after_fork(ForkSide) override {}
};

TEST(Keeper, RunsJobsInTheirOrderAndAllOfThem) {
  std::vector<int> done;
  {
    Keeper keeper;
    for (int job = 0; job < 5; ++job) {
      keeper.run([&done, job] { done.push_back(job); });
    }
  }
  EXPECT_EQ(done, (std::vector{0, 1, 2, 3, 4}));
}

TEST(Keeper, IsBusyUntilTheJobIsDone) {
  std::promise<void> go;
  Keeper keeper;
  EXPECT_FALSE(keeper.busy());
  keeper.run([future = go.get_future().share()] { future.wait(); });
  EXPECT_TRUE(keeper.busy());
  go.set_value();
  while (keeper.busy()) std::this_thread::yield();
}

// ThreadSanitizer ends a child of fork() that starts threads.
#ifndef __SANITIZE_THREAD__
TEST(Keeper, AChildOfAForkHasAThreadOfItsOwnAndNotTheJobsOfItsParent) {
  std::promise<void> go;
  int jobs = 0;
  auto keeper = std::make_unique<Keeper>();
  for (const auto& go_on = go.get_future().share(); const int more : {1, 1}) {
    keeper->run([&jobs, more, go_on, owned = std::make_shared<Owned>()] {
      go_on.wait();
      jobs += more;
    });
  }
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // A child that waits for its parent's thread waits for ever: the alarm ends it.
    alarm(20);
    keeper->run([&jobs] { jobs += 10; });
    keeper.reset();
    _exit(jobs);
  }
  go.set_value();
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), 10);
  keeper.reset();
  EXPECT_EQ(jobs, 2);
}
#endif

}  // namespace
}  // namespace rooftune
