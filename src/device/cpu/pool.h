// Runs CPU kernels: the threads of the device, and the CpuContext that a kernel is given.
#ifndef ROOFTUNE_DEVICE_CPU_POOL_H_
#define ROOFTUNE_DEVICE_CPU_POOL_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "device/cpu/context.h"
#include "device/cpu/scratch.h"
#include "device/cpu/topology.h"
#include "device/cpu/workers.h"
#include "rooftune/error.h"
#include "rooftune/function_ref.h"

namespace rooftune {

// A fixed number of threads, the calling one included, for kernels of any number of callers.
//
// Threads. `run` may be called from any number of threads at once. The other threads start when a
// kernel first needs them, so that a process which only runs small kernels has none. They sleep
// soon after the last parallel_for. When there are fewer
// processors than threads, or the system refuses threads, the work is still divided by threads(),
// and is done by as many as there are: more threads than processors would only wait for each other.
//
// One parallel_for at a time has the threads. A caller that comes meanwhile does not wait: all
// indices of its parallel_for run on its own thread. That cannot change a result, because
// threads(), by which a kernel divides its work, stays the same.
//
// Floating point. All tasks of a parallel_for follow the calling thread's rules (rounding, flushing
// of subnormals, traps); the rules of no thread are changed by it. Exception flags that a task
// raises on another thread are not carried over.
//
// An exception that leaves a task ends the parallel_for as soon as the tasks that run are done, and
// leaves parallel_for on the calling thread; of several, the first.
//
// fork. A child may go on using the executor: it starts threads of its own. The parent keeps its.
class CpuExecutor {
 public:
  // More is more than any kernel here can use; a request for more is cut to this, with a note().
  static constexpr int kMaxThreads = 1024;

  // `threads` may exceed topology.effective_processors. The threads may run where the thread that
  // calls make() may run, whichever thread needs them first.
  // Errors: invalid_argument for less than 1.
  static Result<std::unique_ptr<CpuExecutor>> make(std::int64_t threads, const Topology& topology);

  // No kernel may be running.
  ~CpuExecutor();
  CpuExecutor(const CpuExecutor&) = delete;
  CpuExecutor& operator=(const CpuExecutor&) = delete;

  int threads() const { return threads_; }

  // From now on kernels of the calling thread leave the threads of every executor to others: their
  // work is divided as ever, and the thread does all of it.
  static void stand_back();

  // What a user should know about how the request for threads was met; mostly empty.
  const std::string& note() const { return note_; }

  // Calls kernel(args, context) on this thread. No lock and no allocation.
  inline KernelOutcome run(CpuKernelFn kernel, const void* args);

 private:
  friend class CpuLaunch;
  CpuExecutor(int threads, const Topology& topology, AffinityMask affinity, std::string note);

  // Runs the tasks on the threads and returns true, or does nothing and returns false: the threads
  // are busy, or there are none.
  bool try_parallel(std::int64_t count, FunctionRef<void(std::int64_t, int)> task,
                    const CpuContext* context);
  // Makes workers_ belong to this process. Called with the threads held.
  void ensure_started(std::uint64_t process);
  void abandon_workers();

  const int threads_;
  const int running_;                    // how many of them are to exist, the calling one included
  const std::chrono::nanoseconds spin_;  // none where processor time is rationed to less than that
  const AffinityMask affinity_;
  const std::string note_;

  // The process (see pool.cc) that holds the threads, 0 for none. A child that was forked while
  // another thread held them sees its parent's number, and may take them.
  alignas(64) std::atomic<std::uint64_t> holder_{0};
  // Only for the holder.
  std::uint64_t workers_process_ = 0;  // the process that workers_ was started in
  std::unique_ptr<Workers> workers_;
  int regions_until_retry_ = 0;
};

// One launch: lives on the stack of the thread that runs the kernel.
class CpuLaunch final : public CpuContext {
 public:
  explicit CpuLaunch(CpuExecutor& executor) : executor_(executor) {}

  int threads() const override { return executor_.threads_; }
  void parallel_for(std::int64_t count,
                    FunctionRef<void(std::int64_t index, int worker)> task) override;
  std::byte* scratch(std::size_t bytes) override { return scratch_.get(bytes); }

 private:
  CpuExecutor& executor_;
  Scratch scratch_;
};

KernelOutcome CpuExecutor::run(CpuKernelFn kernel, const void* args) {
  CpuLaunch launch(*this);
  return kernel(args, launch);
}

}  // namespace rooftune

#endif  // ROOFTUNE_DEVICE_CPU_POOL_H_
