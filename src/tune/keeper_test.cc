#include "tune/keeper.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>
#include <vector>

namespace rooftune::detail {
namespace {

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
  keeper.run([] {});  // waits for the one before
  while (keeper.busy()) std::this_thread::yield();
}

TEST(Keeper, AChildOfAForkDoesNotWaitForItsParentsThread) {
  std::promise<void> go;
  auto keeper = std::make_unique<Keeper>();
  keeper->run([future = go.get_future().share()] { future.wait(); });
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // In the child, where a test that fails hangs: the alarm ends it.
    alarm(20);
    const bool idle = (keeper->run([] {}), true);
    keeper.reset();
    _exit(idle ? 0 : 1);
  }
  go.set_value();
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace rooftune::detail
