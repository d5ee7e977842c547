#include "store/fork_guard.h"

#include <pthread.h>

#include <mutex>
#include <ranges>
#include <vector>

namespace rooftune {
namespace {

struct Registry {
  std::mutex mutex;
  std::vector<ForkGuard*> guards;
};

// Never destroyed: a process may fork while its static objects go.
Registry& registry() {
  static Registry* const the_registry = new Registry;
  return *the_registry;
}

void prepare() {
  registry().mutex.lock();
  for (ForkGuard* guard : registry().guards) guard->before_fork();
}

template <ForkSide side>
void resume() {
  for (ForkGuard* guard : registry().guards | std::views::reverse) guard->after_fork(side);
  registry().mutex.unlock();
}

}  // namespace

void ForkGuard::enroll() {
  static std::once_flag once;
  std::call_once(
      once, [] { pthread_atfork(prepare, resume<ForkSide::parent>, resume<ForkSide::child>); });
  const std::lock_guard lock(registry().mutex);
  registry().guards.push_back(this);
}

void ForkGuard::leave() {
  const std::lock_guard lock(registry().mutex);
  std::erase(registry().guards, this);
}

}  // namespace rooftune
