// Building the candidates of a later step while the program goes on.
#ifndef ROOFTUNE_TUNE_BUILD_AHEAD_H_
#define ROOFTUNE_TUNE_BUILD_AHEAD_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "rooftune/detail/problem.h"
#include "tune/preparation.h"

namespace rooftune::detail {

// For one thread at a time. What is being built when it goes is waited for.
class BuildAhead {
 public:
  // True when nothing has to be waited for: all these were built, or cannot be, or building takes
  // no time on this device. Otherwise they are being built on another thread; ask again later.
  bool ready(const Problem& problem, const std::vector<std::size_t>& members);

 private:
  std::vector<std::size_t> members_;
  std::unique_ptr<Problem> problem_;
  std::optional<Preparation> preparation_;
};

}  // namespace rooftune::detail

#endif  // ROOFTUNE_TUNE_BUILD_AHEAD_H_
