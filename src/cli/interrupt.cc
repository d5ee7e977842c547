#include "cli/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string_view>

namespace rooftune::cli {
namespace {

std::atomic<bool> asked_to_stop{false};
static_assert(std::atomic<bool>::is_always_lock_free, "set by a signal handler");

void on_signal(int) {
  const int saved = errno;
  asked_to_stop.store(true, std::memory_order_relaxed);
  constexpr std::string_view kText =
      "\nrooftune: finishing the current product; once more ends at once\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kText.data(), kText.size());
  errno = saved;
}

}  // namespace

void catch_interrupts() {
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction action {};
    action.sa_handler = on_signal;
    // One shot: the second signal finds the default action, which ends the process.
    action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
    ::sigaction(signal, &action, nullptr);
  }
}

bool interrupted() { return asked_to_stop.load(std::memory_order_relaxed); }

}  // namespace rooftune::cli
