// The threads that help a caller with one parallel region at a time.
#ifndef ROOFTUNE_DEVICE_CPU_WORKERS_H_
#define ROOFTUNE_DEVICE_CPU_WORKERS_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "device/cpu/topology.h"

namespace rooftune {

// Fork-join with low latency: the threads spin for a while for the next region, then sleep. The
// caller takes part, and never waits for a thread that has not come: on a machine that is busy with
// something else it does the work alone.
class Workers {
 public:
  // Starts `count` threads, or fewer when the system refuses that many; null when it refuses all.
  // They run on the processors of `affinity` (empty: where the calling thread may), block the
  // signals that a program handles, and spin for `spin` before they sleep.
  static std::unique_ptr<Workers> start(int count, const AffinityMask& affinity,
                                        std::chrono::nanoseconds spin);
  // No region may be running.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  int count() const { return int(threads_.size()); }

  // Calls share(argument, 0) here, and share(argument, w) on at most helpers threads with w from 1
  // on, once for each that comes before the call here is done; returns when all of them are. One
  // caller at a time. `share` throws nothing.
  using Share = void (*)(void* argument, int worker);
  void run(Share share, void* argument, int helpers);

 private:
  explicit Workers(std::chrono::nanoseconds spin) : spin_(spin) {}
  void work();
  // Waits for a gate that this thread has not been through; false when the threads shall end.
  bool wait_for_region(std::uint64_t& gate, std::uint64_t last_region);

  const std::chrono::nanoseconds spin_;
  std::vector<std::thread> threads_;

  // Of the region that is open. Written while the gate is shut and nobody is inside.
  Share share_ = nullptr;
  void* argument_ = nullptr;

  // Number of the region (31 bits), open (1), how many may come in (16), how many came in (16): all
  // in one word, so that to come in and to shut the gate exclude each other.
  alignas(64) std::atomic<std::uint64_t> gate_{0};
  alignas(64) std::atomic<std::uint32_t> left_{0};  // how many of those that came in are done
  std::atomic<bool> caller_sleeps_{false};
  alignas(64) std::atomic<std::uint32_t> bell_{0};  // changes to wake those that sleep
  std::atomic<int> sleepers_{0};
  std::atomic<bool> stop_{false};
};

}  // namespace rooftune

#endif  // ROOFTUNE_DEVICE_CPU_WORKERS_H_
