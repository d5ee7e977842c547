// Building the candidates of a later step while the program goes on.
#ifndef ROOFTUNE_TUNE_BUILD_AHEAD_H_
#define ROOFTUNE_TUNE_BUILD_AHEAD_H_

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "rooftune/detail/problem.h"
#include "tune/preparation.h"

namespace rooftune::detail {

// For one thread at a time. What is being built when it goes is waited for.
class BuildAhead {
 public:
  BuildAhead();
  ~BuildAhead();
  BuildAhead(const BuildAhead&) = delete;
  BuildAhead& operator=(const BuildAhead&) = delete;

  // True when nothing has to be waited for: all these were built, or cannot be, or building takes
  // no time on this device. Otherwise they are being built on another thread; ask again later. In
  // the child of a fork that thread does not exist, and neither does what it held.
  bool ready(const Problem& problem, const std::vector<std::size_t>& members);

 private:
  const pid_t owner_;
  std::vector<std::size_t> members_;
  std::unique_ptr<Problem> problem_;
  std::unique_ptr<Preparation> preparation_;  // after the problem that it works on
};

}  // namespace rooftune::detail

#endif  // ROOFTUNE_TUNE_BUILD_AHEAD_H_
