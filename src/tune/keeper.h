// What is done behind calls while they go on.
#ifndef ROOFTUNE_TUNE_KEEPER_H_
#define ROOFTUNE_TUNE_KEEPER_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "store/fork_guard.h"

namespace rooftune {

// Runs jobs one after the other on a thread of its own: writing to the store takes some
// milliseconds, and a call that is not to be held up cannot wait for it. Thread-safe.
class Keeper final : private ForkGuard {
 public:
  // What a thread gets of a processor that others want too: a share like theirs, which a job needs
  // that holds what others wait for, or as little as there is.
  enum class Share : bool { fair, least };
  explicit Keeper(Share share = Share::fair);
  // Waits until all jobs are done.
  ~Keeper() override;

  // Has the thread ready, so that run() need not make it: that takes as long as a small product.
  void start();
  // Runs the job here where no thread can be had.
  void run(std::function<void()> job);
  // Some job is not done yet.
  bool busy() const;

 private:
  // The jobs of a process that forks are its own; its child has neither them nor the thread.
  void before_fork() override { mutex_.lock(); }
  void after_fork(ForkSide side) override;
  bool start_locked();
  void work();

  const Share share_;
  mutable std::mutex mutex_;
  std::unique_ptr<std::condition_variable> changed_;
  using Jobs = std::deque<std::function<void()>>;
  std::unique_ptr<Jobs> jobs_;  // the first one is being done
  bool stopping_ = false;
  std::unique_ptr<std::thread> thread_;
};

}  // namespace rooftune

#endif  // ROOFTUNE_TUNE_KEEPER_H_
