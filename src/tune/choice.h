// From evidence to a ranking.
#ifndef ROOFTUNE_TUNE_CHOICE_H_
#define ROOFTUNE_TUNE_CHOICE_H_

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "rooftune/decision.h"

namespace rooftune {

struct Choice {
  std::vector<std::size_t> ranking;  // [0] is the winner
  std::vector<std::size_t> same;     // Decision::same_as_winner
};

// `measured`: those of the candidates that have samples and may be used. `untuned`: the one that
// would run without measuring. Those that were eliminated come last. Of those that the samples do
// not show to be slower than the best by more than the margin the untuned one wins, or else the
// first in declared order, which is that of the candidates; the others follow by their times.
Choice choose(std::span<const CandidateEvidence> candidates, std::vector<std::size_t> measured,
              std::optional<std::size_t> untuned, double margin, double confidence);

}  // namespace rooftune

#endif  // ROOFTUNE_TUNE_CHOICE_H_
