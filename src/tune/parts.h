// Parts of a key (TunableSet::parts) that its decision does not suit, and their own decisions.
#ifndef ROOFTUNE_TUNE_PARTS_H_
#define ROOFTUNE_TUNE_PARTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "rooftune/decision.h"
#include "rooftune/detail/problem.h"
#include "rooftune/tune_context.h"
#include "tune/side_by_side.h"

namespace rooftune::detail {

// The key of a part in the store: that of all its problems with one more member, "#part".
std::string part_key(std::string_view key_json, std::uint64_t part);

// Measures, on a problem of a part that was not looked at yet, those that the decision has at the
// front and those that are expected to be good for this one.
class PartStep {
 public:
  // The problem has a part.
  PartStep(TuneContext& context, Problem& problem, const Decision& decision);
  // Leaves out who must not run now.
  void exclude(const TuningTurn& turn);
  // False: nobody could be better, so there is nothing to measure.
  bool worthwhile() const { return members_.size() > 1; }
  double expected_s() const;
  const std::vector<std::size_t>& members() const { return members_; }
  // False: it came to nothing.
  bool run(TuningTurn& turn);
  // After run(): what the part is to have for its own, when another candidate is better there than
  // the one that the decision of the key would run, by more than the margin.
  std::optional<Decision> apart();
  const Cost& cost() const { return own_.cost; }

 private:
  TuneContext& context_;
  const AutotuneSettings& settings_;
  Problem& problem_;
  const Decision& decision_;
  Decision own_;
  SideBySide beside_;
  std::vector<std::size_t> members_;  // the first is who runs the problem now
};

}  // namespace rooftune::detail

#endif  // ROOFTUNE_TUNE_PARTS_H_
