#include "device/cpu/workers.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <new>
#include <system_error>

#ifdef __linux__
#include <sched.h>
#endif
#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace rooftune {
namespace {

constexpr std::uint64_t kCameIn = 1;
constexpr int kMayComeInShift = 16;
constexpr std::uint64_t kMost = 0xffff;
constexpr std::uint64_t kOpen = std::uint64_t{1} << 32;
constexpr int kRegionShift = 33;

// The caller waits for tasks that are already running, so it may spin longer than they usually take
// to end; beyond that one of them has lost its processor, perhaps to the caller.
constexpr std::chrono::microseconds kCallerSpin{200};

void pause_briefly() {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// True as soon as `condition` holds, false when it did not within `limit`.
template <class F>
bool spin_until(F&& condition, std::chrono::nanoseconds limit) {
  if (condition()) return true;
  if (limit.count() <= 0) return false;
  const auto deadline = std::chrono::steady_clock::now() + limit;
  do {
    for (int i = 0; i < 32; ++i) {  // to read the clock is slower than to look
      pause_briefly();
      if (condition()) return true;
    }
  } while (std::chrono::steady_clock::now() < deadline);
  return false;
}

// Threads inherit from the one that starts them. Ours must not be bound to the one processor that a
// caller may have chosen for itself, nor run the program's signal handlers.
class ScopedInheritance {
 public:
  explicit ScopedInheritance(const AffinityMask& affinity) {
    sigset_t signals;
    sigfillset(&signals);
    // Those that a thread causes itself must reach their handler; a profiler wants every thread.
    for (int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF}) {
      sigdelset(&signals, own);
    }
    pthread_sigmask(SIG_BLOCK, &signals, &signals_before_);
#ifdef __linux__
    if (affinity.empty()) return;
    affinity_before_ = affinity_mask();
    changed_ = affinity != affinity_before_ && set(affinity);
#else
    static_cast<void>(affinity);
#endif
  }
  ~ScopedInheritance() {
#ifdef __linux__
    if (changed_) set(affinity_before_);
#endif
    pthread_sigmask(SIG_SETMASK, &signals_before_, nullptr);
  }
  ScopedInheritance(const ScopedInheritance&) = delete;
  ScopedInheritance& operator=(const ScopedInheritance&) = delete;

 private:
#ifdef __linux__
  static bool set(const AffinityMask& mask) {
    return !mask.empty() && sched_setaffinity(0, mask.size() * sizeof mask[0],
                                              reinterpret_cast<const cpu_set_t*>(mask.data())) == 0;
  }
  AffinityMask affinity_before_;
  bool changed_ = false;
#endif
  sigset_t signals_before_;
};

}  // namespace

std::unique_ptr<Workers> Workers::start(int count, const AffinityMask& affinity,
                                        std::chrono::nanoseconds spin) {
  const ScopedInheritance inheritance(affinity);
  // Where the system refuses a thread, half of those it gave are left to the rest of the program.
  for (; count > 0; count /= 2) {
    std::unique_ptr<Workers> workers(new Workers(spin));
    try {
      workers->threads_.reserve(std::size_t(count));
      for (int i = 0; i < count; ++i) {
        workers->threads_.emplace_back([self = workers.get()] { self->work(); });
      }
      return workers;
    } catch (const std::system_error&) {
      count = workers->count();
    }
  }
  return nullptr;
}

Workers::~Workers() {
  stop_.store(true);
  bell_.fetch_add(1);
  bell_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Workers::run(Share share, void* argument, int helpers) {
  helpers = std::min({helpers, count(), int(kMost)});
  share_ = share;
  argument_ = argument;
  left_.store(0, std::memory_order_relaxed);
  const std::uint64_t region = (gate_.load(std::memory_order_relaxed) >> kRegionShift) + 1;
  // Sequentially consistent, as are the other three accesses by which a thread that is about to
  // sleep and a caller that opens the gate see each other: at least one sees the other.
  gate_.store(region << kRegionShift | kOpen | std::uint64_t(helpers) << kMayComeInShift);
  if (const int sleepers = sleepers_.load(); sleepers > 0) {
    bell_.fetch_add(1);
    if (helpers < sleepers) {
      for (int i = 0; i < helpers; ++i) bell_.notify_one();
    } else {
      bell_.notify_all();
    }
  }

  share(argument, 0);

  const auto came_in = std::uint32_t(gate_.fetch_and(~kOpen) & kMost);
  const auto all_left = [&] { return left_.load(std::memory_order_acquire) == came_in; };
  if (spin_until(all_left, kCallerSpin)) return;
  caller_sleeps_.store(true);
  for (std::uint32_t left; (left = left_.load()) != came_in;) left_.wait(left);
  caller_sleeps_.store(false);
}

void Workers::work() {
  std::uint64_t last_region = 0;
  std::uint64_t gate = 0;
  while (wait_for_region(gate, last_region)) {
    last_region = gate >> kRegionShift;
    // A failed exchange reads the gate anew; with another region in it, that one is as good.
    while ((gate & kOpen) != 0 && (gate & kMost) < (gate >> kMayComeInShift & kMost)) {
      if (!gate_.compare_exchange_weak(gate, gate + kCameIn, std::memory_order_acquire)) continue;
      last_region = gate >> kRegionShift;
      share_(argument_, int(gate & kMost) + 1);
      left_.fetch_add(1);
      if (caller_sleeps_.load()) left_.notify_one();
      break;
    }
  }
}

bool Workers::wait_for_region(std::uint64_t& gate, std::uint64_t last_region) {
  const auto is_new = [&] {
    gate = gate_.load();
    return ((gate & kOpen) != 0 && gate >> kRegionShift != last_region) ||
           stop_.load(std::memory_order_relaxed);
  };
  if (!spin_until(is_new, spin_)) {
    for (;;) {
      const std::uint32_t rung = bell_.load();
      sleepers_.fetch_add(1);
      const bool awake = is_new();
      if (!awake) bell_.wait(rung);
      sleepers_.fetch_sub(1);
      if (awake || spin_until(is_new, spin_)) break;
    }
  }
  return !stop_.load();
}

}  // namespace rooftune
