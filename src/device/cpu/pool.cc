#include "device/cpu/pool.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>
#include <utility>

#include "device/cpu/fp_environment.h"

namespace rooftune {

namespace {

// After a refusal of the system: enough to make asking again cost nothing.
constexpr int kRegionsBetweenRetries = 1000;

// How long a thread spins for the next parallel_for: longer than a kernel's steps between two of
// them, or a program's between two products, and short enough to be no burden on others.
constexpr std::chrono::microseconds kSpin{100};

// Tells this process from the one that forked it. Not the process id: that is a system call at
// every parallel_for, and is used again.
std::atomic<std::uint64_t> process_number{1};

void number_the_child() { process_number.fetch_add(1, std::memory_order_relaxed); }

// The parallel_for that this thread is inside of.
struct Inside {
  const CpuContext* context = nullptr;
  int worker = 0;
};
constinit thread_local Inside inside;

// Whether this thread leaves all others alone.
constinit thread_local bool stands_back = false;

class ScopedInside {
 public:
  ScopedInside(const CpuContext* context, int worker)
      : outer_(std::exchange(inside, {context, worker})) {}
  ~ScopedInside() { inside = outer_; }
  ScopedInside(const ScopedInside&) = delete;
  ScopedInside& operator=(const ScopedInside&) = delete;

 private:
  Inside outer_;
};

// What the threads share during one parallel_for.
struct Region {
  std::int64_t count;
  FunctionRef<void(std::int64_t, int)> task;
  const CpuContext* context;
  FpControl fp_control;
  std::exception_ptr error{};
  std::atomic<bool> failed{false};
  alignas(64) std::atomic<std::int64_t> next{0};
};

// What one thread does of a region.
void run_share(void* argument, int worker) {
  Region& region = *static_cast<Region*>(argument);
  const ScopedFpControl rules(region.fp_control);
  const ScopedInside mark(region.context, worker);
  try {
    std::int64_t index;
    while ((index = region.next.fetch_add(1, std::memory_order_relaxed)) < region.count) {
      region.task(index, worker);
    }
  } catch (...) {
    if (!region.failed.exchange(true)) region.error = std::current_exception();
    region.next.store(region.count, std::memory_order_relaxed);
  }
}

}  // namespace

Result<std::unique_ptr<CpuExecutor>> CpuExecutor::make(std::int64_t threads,
                                                       const Topology& topology) {
  if (threads < 1) {
    return fail(ErrorKind::invalid_argument, "thread count " + std::to_string(threads) +
                                                 " is not in the allowed range 1 to " +
                                                 std::to_string(kMaxThreads));
  }
  std::string note;
  if (threads > kMaxThreads) {
    note = "thread count " + std::to_string(threads) + " was cut to " + std::to_string(kMaxThreads);
    threads = kMaxThreads;
  }
  static const int registered = pthread_atfork(nullptr, nullptr, number_the_child);
  if (registered != 0) return fail(ErrorKind::out_of_memory, "no memory for a fork handler");
  return std::unique_ptr<CpuExecutor>(
      new CpuExecutor(int(threads), topology, affinity_mask(), std::move(note)));
}

CpuExecutor::CpuExecutor(int threads, const Topology& topology, AffinityMask affinity,
                         std::string note)
    : threads_(threads),
      running_(std::min(threads, std::max(1, topology.effective_processors))),
      spin_(topology.cpu_quota && double(running_) > *topology.cpu_quota
                ? std::chrono::microseconds{0}
                : kSpin),
      affinity_(std::move(affinity)),
      note_(std::move(note)) {}

CpuExecutor::~CpuExecutor() {
  if (workers_process_ != process_number.load(std::memory_order_relaxed)) abandon_workers();
}

void CpuExecutor::abandon_workers() {
  // They are those of a parent and do not exist here: to wait for their end would take for ever.
  static_cast<void>(workers_.release());
}

void CpuExecutor::ensure_started(std::uint64_t process) {
  const bool ours = workers_process_ == process;
  if (ours && (workers_ != nullptr || --regions_until_retry_ > 0)) return;
  if (!ours) abandon_workers();
  workers_process_ = process;
  regions_until_retry_ = kRegionsBetweenRetries;
  try {
    workers_ = Workers::start(running_ - 1, affinity_, spin_);
  } catch (const std::bad_alloc&) {
    // As good as no threads.
  }
}

void CpuExecutor::stand_back() { stands_back = true; }

bool CpuExecutor::try_parallel(std::int64_t count, FunctionRef<void(std::int64_t, int)> task,
                               const CpuContext* context) {
  const std::uint64_t process = process_number.load(std::memory_order_relaxed);
  std::uint64_t holder = holder_.load(std::memory_order_relaxed);
  if (holder == process ||
      !holder_.compare_exchange_strong(holder, process, std::memory_order_acquire)) {
    return false;
  }
  ensure_started(process);
  const bool started = workers_ != nullptr;
  std::exception_ptr error;
  if (started) {
    Region region{.count = count, .task = task, .context = context, .fp_control = fp_control()};
    workers_->run(run_share, &region, int(std::min<std::int64_t>(count, threads_)) - 1);
    error = std::move(region.error);
  }
  holder_.store(0, std::memory_order_release);
  if (error != nullptr) std::rethrow_exception(error);
  return started;
}

void CpuLaunch::parallel_for(std::int64_t count,
                             FunctionRef<void(std::int64_t index, int worker)> task) {
  if (executor_.threads_ == 1) {
    for (std::int64_t index = 0; index < count; ++index) task(index, 0);
    return;
  }
  const bool alone = inside.context != nullptr || stands_back;
  if (count > 1 && !alone && executor_.running_ > 1 && executor_.try_parallel(count, task, this)) {
    return;
  }
  // In a nested call the thread keeps its number, so that no other task has the same one.
  const int worker = inside.context == this ? inside.worker : 0;
  const ScopedInside mark(this, worker);
  for (std::int64_t index = 0; index < count; ++index) task(index, worker);
}

}  // namespace rooftune
