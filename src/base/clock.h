// The one clock that all spans and budgets of the library are measured with.
#ifndef ROOFTUNE_BASE_CLOCK_H_
#define ROOFTUNE_BASE_CLOCK_H_

#include <chrono>

namespace rooftune {

// Seconds since some fixed moment, never going backwards; comparable between threads.
inline double steady_now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace rooftune

#endif  // ROOFTUNE_BASE_CLOCK_H_
