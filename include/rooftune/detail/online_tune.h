// A key that is tuned by the calls that use it (autotune.mode = "online"). Not part of the stable
// surface.
#ifndef ROOFTUNE_DETAIL_ONLINE_TUNE_H_
#define ROOFTUNE_DETAIL_ONLINE_TUNE_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rooftune/decision.h"
#include "rooftune/detail/problem.h"
#include "rooftune/error.h"
#include "rooftune/tune_context.h"

namespace rooftune::detail {

// Thread-safe: one call at a time is a sample, the others do not wait for it.
class OnlineTune {
 public:
  virtual ~OnlineTune() = default;

  // What became of one call.
  struct Outcome {
    // What left the right result in the caller's output. Nothing: the caller is to run the
    // decision, or without one what order() says.
    std::optional<std::size_t> ran;
    bool sampled = false;
    // This call has made it, or found it in the store (its origin tells): later calls are hits.
    std::shared_ptr<const Decision> decision;
  };
  // Errors: no_candidate with all reasons, when nothing can run.
  virtual Result<Outcome> call(Problem& problem) = 0;

  // For a call that is no sample: those that are known to be right, the best first, then the
  // fallback, unless it is known to be wrong.
  virtual std::vector<std::size_t> order() const = 0;
};

// `prior` is a decision to go on with, or null: then the store is asked at the first call.
std::shared_ptr<OnlineTune> make_online_tune(TuneContext& context, std::string tuner,
                                             std::shared_ptr<const Decision> prior);

}  // namespace rooftune::detail

#endif  // ROOFTUNE_DETAIL_ONLINE_TUNE_H_
