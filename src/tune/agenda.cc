#include "tune/agenda.h"

#include <algorithm>
#include <array>
#include <vector>

#include "tune/conclusion.h"
#include "tune/guesses.h"

namespace rooftune::detail {
namespace {

// The first candidate of a set is there to be right, and may be slow beyond all measure.
constexpr std::size_t kFallback = 0;

// In the order of their turns.
enum Turn : std::uint8_t { unmeasured, undersampled, in_later_round, unlikely, kTurns };

bool reached_limit(const Decision& decision, double seconds) {
  const bool broken = decision.bound && decision.bound->broken;
  return decision.limit_s && !broken && seconds <= *decision.limit_s;
}

// What the search, had it come to its end, would have done with a candidate of the plan.
std::optional<Turn> turn_of(const CandidateEvidence& candidate, bool decided_later, bool partial,
                            bool at_limit, const AutotuneSettings& settings) {
  if (disqualified(candidate.verdict) || candidate.verdict == Verdict::not_timed) {
    return std::nullopt;
  }
  if (!candidate.samples.empty()) {
    const bool few = candidate.samples.size() < static_cast<std::size_t>(settings.min_samples);
    if (partial && few && candidate.verdict == Verdict::ranked) return undersampled;
    return std::nullopt;
  }
  if (partial && !decided_later && candidate.verdict == Verdict::not_tried) return unmeasured;
  if (at_limit) return std::nullopt;
  return candidate.verdict == Verdict::eliminated ? unlikely : in_later_round;
}

}  // namespace

std::optional<std::size_t> runner(const Decision& decision, const Problem& problem) {
  for (const std::string& name : decision.ranking) {
    for (std::size_t i = 0; i < problem.size(); ++i) {
      if (problem.name(i) == name && problem.illegal_because(i) == nullptr) return i;
    }
  }
  return std::nullopt;
}

std::optional<Agenda> agenda(const Decision& decision, const Problem& problem,
                             const AutotuneSettings& settings) {
  const auto reference = runner(decision, problem);
  if (!reference) return std::nullopt;
  const auto reference_s = decision.candidates[*reference].estimate_s();
  if (!reference_s) return std::nullopt;

  GuessCheck guesses;
  double slowest = 0;
  for (std::size_t i = 0; i < problem.size(); ++i) {
    const auto seconds = decision.candidates[i].estimate_s();
    if (!seconds) continue;
    // One that was ended for taking longer than the budget says nothing about others.
    if (*seconds <= settings.budget_s) slowest = std::max(slowest, *seconds);
    if (const auto guess = problem.predicted_s(i)) guesses.add(problem.kind(i), *guess, *seconds);
  }
  // Where nobody has a guess: one more of those that are there, or a much worse one.
  constexpr double kSlower = 2, kMuchSlower = 20, kHopeless = 2;
  const auto launch_s = [&](std::size_t i) -> std::optional<double> {
    if (const auto known = decision.candidates[i].estimate_s()) {
      return *known <= kHopeless * *reference_s ? known : std::nullopt;
    }
    const auto guess = problem.predicted_s(i);
    const auto expected = guess ? guesses.expected_s(problem.kind(i), *guess) : std::nullopt;
    if (!expected) return std::max(kSlower * slowest, kMuchSlower * *reference_s);
    return *expected <= kHopeless * *reference_s ? expected : std::nullopt;
  };

  const bool at_limit = reached_limit(decision, *reference_s);
  std::array<std::vector<std::size_t>, kTurns> turns;
  bool decided = false;
  for (const auto& round : plan_of(problem)) {
    std::array<std::vector<std::size_t>, kTurns> of_round;
    bool measured = false;
    for (const std::size_t i : round) {
      const CandidateEvidence& candidate = decision.candidates[i];
      measured = measured || !candidate.samples.empty();
      if (i == *reference || problem.illegal_because(i) != nullptr) continue;
      const auto turn = turn_of(candidate, decided, decision.partial, at_limit, settings);
      if (!turn || (i == kFallback && *turn > undersampled)) continue;
      of_round[*turn].push_back(i);
    }
    decided = decided || measured;
    for (std::size_t turn = 0; turn < kTurns; ++turn) {
      const auto ordered = by_guess(problem, std::move(of_round[turn]));
      turns[turn].insert(turns[turn].end(), ordered.begin(), ordered.end());
    }
  }
  for (std::size_t turn = 0; turn < kTurns; ++turn) {
    for (const std::size_t i : turns[turn]) {
      const auto seconds = launch_s(i);
      if (seconds) return Agenda{*reference, *reference_s, i, *seconds, turn <= undersampled};
    }
  }
  return std::nullopt;
}

}  // namespace rooftune::detail
