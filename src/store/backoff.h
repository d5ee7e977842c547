// Waiting for a lock that another process holds.
#ifndef ROOFTUNE_STORE_BACKOFF_H_
#define ROOFTUNE_STORE_BACKOFF_H_

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <random>
#include <thread>

namespace rooftune {

// Pauses between attempts: longer each time, and not in step with the processes it competes with.
class Backoff {
 public:
  explicit Backoff(std::chrono::milliseconds patience) : deadline_(Clock::now() + patience) {}

  // False when there is no time left.
  bool pause() {
    const auto left = deadline_ - Clock::now();
    if (left <= Clock::duration::zero()) return false;
    const std::chrono::microseconds wait{
        std::uniform_int_distribution<int>(longest_us_ / 2, longest_us_)(random_)};
    longest_us_ = std::min(2 * longest_us_, 32'000);  // several commits of a slow disk
    std::this_thread::sleep_for(std::min<Clock::duration>(wait, left));
    return true;
  }
  // The same with a lock that is not held while waiting.
  bool pause(std::unique_lock<std::mutex>& lock) {
    lock.unlock();
    const bool paused = pause();
    lock.lock();
    return paused;
  }

 private:
  using Clock = std::chrono::steady_clock;

  Clock::time_point deadline_;
  std::minstd_rand random_{
      static_cast<unsigned>(Clock::now().time_since_epoch().count() ^ getpid())};
  int longest_us_ = 500;  // less than one commit on a fast disk
};

}  // namespace rooftune

#endif  // ROOFTUNE_STORE_BACKOFF_H_
