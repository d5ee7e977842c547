// Progress on standard error, for work that takes longer than a second: a bar on a terminal, else
// a line every ten seconds.
#ifndef ROOFTUNE_CLI_PROGRESS_H_
#define ROOFTUNE_CLI_PROGRESS_H_

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "rooftune/function_ref.h"

namespace rooftune::cli {

// Redraws itself from a thread of its own, because one step may take seconds.
class Progress {
 public:
  Progress(std::string what, std::size_t total);  // "tuning", 32
  ~Progress();                                    // erases the bar
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void at(std::size_t done, std::string item);  // items done, and the one being worked on
  // Prints something with the bar out of the way.
  void aside(FunctionRef<void()> print);

 private:
  void run(const std::stop_token& stop);
  void draw();
  void erase();

  const std::string what_;
  const std::size_t total_;
  const bool terminal_;
  const double start_s_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable_any wake_;
  std::size_t done_ = 0;
  std::string item_;
  bool drawn_ = false;
  std::jthread thread_;  // last: starts when all else is there
};

// "tuning [######........]  12/32  2048x2048x2048  75.0 s, about 125 s left"
std::string progress_text(std::string_view what, std::size_t done, std::size_t total,
                          std::string_view item, double elapsed_s);

}  // namespace rooftune::cli

#endif  // ROOFTUNE_CLI_PROGRESS_H_
