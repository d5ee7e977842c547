// Building the candidates of a later step while the program goes on.
#ifndef ROOFTUNE_TUNE_BUILD_AHEAD_H_
#define ROOFTUNE_TUNE_BUILD_AHEAD_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <utility>
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

  // True when nothing has to be waited for: all these were built for the problem's part, or cannot
  // be, or building takes no time on this device. Otherwise another thread builds them as soon as
  // it has built what was asked for before; ask again later. In the child of a fork that thread
  // does not exist, and neither does what it held.
  bool ready(const Problem& problem, const std::vector<std::size_t>& members);

 private:
  // A candidate may be built differently for each part.
  using Built = std::pair<std::optional<std::uint64_t>, std::size_t>;

  const pid_t owner_;
  std::set<Built> built_;
  std::vector<std::size_t> members_;  // that are being built
  std::unique_ptr<Problem> problem_;
  std::unique_ptr<Preparation> preparation_;  // after the problem that it works on
};

}  // namespace rooftune::detail

#endif  // ROOFTUNE_TUNE_BUILD_AHEAD_H_
