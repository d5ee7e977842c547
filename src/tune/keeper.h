// Writing to the store while the calls go on.
#ifndef ROOFTUNE_TUNE_KEEPER_H_
#define ROOFTUNE_TUNE_KEEPER_H_

#include <sys/types.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>

namespace rooftune::detail {

// Runs one job at a time on a thread of its own. A write takes some milliseconds: a call that is
// not to be held up cannot wait for it. Used by one thread at a time.
class Keeper {
 public:
  Keeper();
  // Waits for the job in progress.
  ~Keeper();
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  bool busy() const { return !idle_.load(std::memory_order_acquire); }
  // Begins a job, behind the one in progress. Runs it here where no thread can be had.
  void run(std::function<void()> job);

 private:
  // The thread of a process that has forked is not there in the child.
  void abandon_after_fork();

  std::atomic<bool> idle_{true};
  pid_t owner_;
  std::unique_ptr<std::thread> thread_;
};

}  // namespace rooftune::detail

#endif  // ROOFTUNE_TUNE_KEEPER_H_
