#include "tune/keeper.h"

#include <sched.h>
#include <sys/resource.h>

#include <system_error>
#include <utility>

namespace rooftune {
namespace {

// A thread that is woken up must not push aside the one that has woken it, which is in the middle
// of a call. Threads of this policy wait for the next tick, and get their share then: one that
// holds a lock of the store must not be left without any.
void yield_to_others(Keeper::Share share) {
#if defined(__linux__)
  const sched_param none{};
  static_cast<void>(sched_setscheduler(0, SCHED_BATCH, &none));
  // Of this thread alone, as Linux has it.
  constexpr int kLeast = 19;
  if (share == Keeper::Share::least) static_cast<void>(setpriority(PRIO_PROCESS, 0, kLeast));
#else
  static_cast<void>(share);
#endif
}

}  // namespace

Keeper::Keeper(Share share)
    : share_(share),
      changed_(std::make_unique<std::condition_variable>()),
      jobs_(std::make_unique<Jobs>()) {
  enroll();
}

Keeper::~Keeper() {
  leave();
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_->notify_all();
  }
  if (thread_ != nullptr) thread_->join();
}

void Keeper::after_fork(ForkSide side) {
  if (side == ForkSide::child) {
    // Neither to be joined nor to be destroyed: there is nobody behind them. Nor the jobs, which
    // may own what leaves the register of guards when it goes, and that is being walked through.
    static_cast<void>(thread_.release());
    static_cast<void>(changed_.release());
    static_cast<void>(jobs_.release());
    changed_ = std::make_unique<std::condition_variable>();
    jobs_ = std::make_unique<Jobs>();
  }
  mutex_.unlock();
}

bool Keeper::start_locked() {
  if (thread_ != nullptr) return true;
  try {
    thread_ = std::make_unique<std::thread>([this] { work(); });
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

void Keeper::start() {
  const std::lock_guard lock(mutex_);
  static_cast<void>(start_locked());
}

void Keeper::run(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    if (start_locked()) {
      jobs_->push_back(std::move(job));
      changed_->notify_all();
      return;
    }
  }
  job();
}

bool Keeper::busy() const {
  const std::lock_guard lock(mutex_);
  return !jobs_->empty();
}

void Keeper::work() {
  yield_to_others(share_);
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_->wait(lock, [this] { return stopping_ || !jobs_->empty(); });
    if (jobs_->empty()) return;
    // What follows may be pushed meanwhile, which moves no element of a deque.
    auto& job = jobs_->front();
    lock.unlock();
    job();
    job = nullptr;  // what it owns goes while no lock is held
    lock.lock();
    jobs_->pop_front();
  }
}

}  // namespace rooftune
