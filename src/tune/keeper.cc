#include "tune/keeper.h"

#include <unistd.h>

#include <system_error>
#include <utility>

namespace rooftune::detail {

Keeper::Keeper() : owner_(getpid()) {}

Keeper::~Keeper() {
  abandon_after_fork();
  if (thread_ != nullptr) thread_->join();
}

void Keeper::abandon_after_fork() {
  if (getpid() == owner_) return;
  owner_ = getpid();
  // Neither to be joined nor to be destroyed: there is nothing behind it.
  static_cast<void>(thread_.release());
  idle_ = true;
}

void Keeper::run(std::function<void()> job) {
  abandon_after_fork();
  if (thread_ != nullptr) thread_->join();
  thread_.reset();
  idle_ = false;
  const auto work = [this, job = std::move(job)] {
    job();
    idle_.store(true, std::memory_order_release);
  };
  try {
    thread_ = std::make_unique<std::thread>(work);
  } catch (const std::system_error&) {
    work();
  }
}

}  // namespace rooftune::detail
