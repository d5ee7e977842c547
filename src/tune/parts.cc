#include "tune/parts.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

#include "base/json.h"
#include "rooftune/tuner.h"
#include "throughput/roofline.h"
#include "tune/agenda.h"
#include "tune/conclusion.h"
#include "tune/estimator.h"
#include "tune/guesses.h"

namespace rooftune::detail {
namespace {

// What candidates can be expected to take for a problem, from what they took for another one of its
// key and how their guesses differ between the two.
class Expectation {
 public:
  Expectation(const Decision& decision, const Problem& problem)
      : decision_(decision), problem_(problem) {
    double logarithms = 0;
    std::size_t known = 0;
    for (std::size_t i = 0; i < problem.size(); ++i) {
      const CandidateEvidence& candidate = decision.candidates[i];
      const auto seconds = candidate.estimate_s();
      const auto here = problem.predicted_s(i);
      if (!seconds || !here || !candidate.guess_s) continue;
      errors_.add(problem.kind(i), *candidate.guess_s, *seconds);
      logarithms += std::log(*here / *candidate.guess_s);
      ++known;
    }
    if (known > 0) growth_ = std::exp(logarithms / double(known));
  }

  std::optional<double> seconds(std::size_t i) const {
    const CandidateEvidence& candidate = decision_.candidates[i];
    const auto there = candidate.estimate_s();
    const auto guess = problem_.predicted_s(i);
    if (there) return *there * (guess && candidate.guess_s ? *guess / *candidate.guess_s : growth_);
    return guess ? errors_.expected_s(problem_.kind(i), *guess) : std::nullopt;
  }

 private:
  const Decision& decision_;
  const Problem& problem_;
  GuessCheck errors_;
  double growth_ = 1;  // from the problem that was measured to this one
};

// Who may be better for a problem than the one that runs it now, that one first: the front of the
// ranking, in case that guesses are wrong, and those that are expected to be best. How a time
// changes without a guess is less certain. And guesses of one technique may all be wrong, which no
// time of another one shows: so the best of those that nobody has ever measured have a launch or
// two.
std::vector<std::size_t> contestants(const Decision& decision, const Problem& problem,
                                     double eliminate_ratio) {
  constexpr std::size_t kOfRanking = 3, kRivals = 8, kUnmeasured = 2;
  constexpr double kWithoutGuess = 2, kLeastLikely = 8;  // times the one that runs it now
  const auto reference = runner(decision, problem);
  if (!reference) return {};
  std::vector<std::size_t> members = {*reference};
  const auto add = [&](std::size_t i) {
    if (std::find(members.begin(), members.end(), i) != members.end()) return;
    if (problem.illegal_because(i) != nullptr) return;
    const Verdict verdict = decision.candidates[i].verdict;
    if (!disqualified(verdict) && verdict != Verdict::not_timed) members.push_back(i);
  };
  const auto winner_s = decision.candidates[*reference].estimate_s();
  for (const std::string& name : decision.ranking) {
    for (std::size_t i = 0; i < problem.size() && members.size() <= kOfRanking; ++i) {
      const auto seconds = decision.candidates[i].estimate_s();
      if (problem.name(i) == name && seconds && winner_s &&
          *seconds <= eliminate_ratio * *winner_s) {
        add(i);
      }
    }
  }
  const Expectation expectation(decision, problem);
  const auto reference_s = expectation.seconds(*reference);
  if (!reference_s) return members;
  std::vector<std::pair<double, std::size_t>> expected;
  for (const auto& round : plan_of(problem)) {
    for (const std::size_t i : round) {
      const auto seconds = expectation.seconds(i);
      if (seconds) expected.emplace_back(seconds.value_or(0) / *reference_s, i);
    }
  }
  std::sort(expected.begin(), expected.end());
  for (const auto& [ratio, i] : expected) {
    const double limit = problem.predicted_s(i) ? eliminate_ratio : kWithoutGuess;
    if (ratio <= limit && members.size() <= kRivals) add(i);
  }
  const std::size_t most = members.size() + kUnmeasured;
  for (const auto& [ratio, i] : expected) {
    const bool measured = !decision.candidates[i].samples.empty();
    if (!measured && ratio <= kLeastLikely && members.size() < most) add(i);
  }
  return members;
}

}  // namespace

std::string part_key(std::string_view key_json, std::uint64_t part) {
  char text[32];
  std::snprintf(text, sizeof text, "%llx", static_cast<unsigned long long>(part));
  auto json = parse_json(key_json);
  if (!json || !json->is_object()) return std::string(key_json) + "#" + text;
  (*json)["#part"] = text;
  return write_json(*json);
}

PartStep::PartStep(TuneContext& context, Problem& problem, const Decision& decision)
    : context_(context),
      settings_(context.settings().autotune),
      problem_(problem),
      decision_(decision),
      own_(aligned(decision, problem)),
      beside_(context, problem, own_),
      members_(contestants(own_, problem, settings_.eliminate_ratio)) {}

double PartStep::expected_s() const {
  const auto reference_s = own_.candidates[members_.front()].estimate_s();
  return beside_.expected_s(members_.size() - 1,
                            reference_s.value_or(0) * settings_.eliminate_ratio);
}

void PartStep::exclude(const TuningTurn& turn) {
  rooftune::exclude(own_, turn.exclusions(), problem_);
  members_ = contestants(own_, problem_, settings_.eliminate_ratio);
}

bool PartStep::run(TuningTurn& turn) {
  if (!beside_.run(members_, turn)) return false;
  return own_.candidates[members_.front()].verdict != Verdict::wrong;
}

std::optional<Decision> PartStep::apart() {
  const auto better = beside_.better();
  if (!better) return std::nullopt;
  std::vector<std::pair<double, std::size_t>> order;  // by time, members
  for (std::size_t m = 0; m < members_.size(); ++m) {
    const auto seconds = beside_.failed(m) ? std::nullopt : estimate_s(beside_.samples(m));
    const CandidateEvidence& candidate = own_.candidates[members_[m]];
    const bool trusted = m == 0 || candidate.verified || !settings_.verify || !own_.verified;
    if (trusted && seconds) order.emplace_back(seconds.value_or(0), m);
  }
  std::sort(order.begin(), order.end());
  // Some samples that were disturbed do not put another one before it.
  std::stable_partition(order.begin(), order.end(),
                        [&](const auto& member) { return member.second == *better; });

  Decision own = own_;
  own.part = problem_.part();
  own.part_text = problem_.part_text();
  own.apart = true;
  own.key = part_key(own.key, *own.part);
  own.cost = {};
  own.cost.background_launches = own_.cost.background_launches - decision_.cost.background_launches;
  own.cost.scratch_bytes = own_.cost.scratch_bytes;
  own.partial = false;
  own.split.clear();
  own.same_as_winner.clear();
  own.short_circuit.reset();
  own.replaced = {own.candidates[members_.front()].name};
  for (CandidateEvidence& candidate : own.candidates) {
    if (disqualified(candidate.verdict)) continue;
    candidate.samples.clear();
    candidate.background = false;
    candidate.verdict = Verdict::not_tried;
    candidate.reason = "not expected to be better for this part of the key";
  }
  // Behind those that were measured here, who is left keeps its order: some may be legal only for
  // other problems.
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    CandidateEvidence& candidate = own.candidates[members_[at->second]];
    candidate.samples = beside_.samples(at->second);
    candidate.background = true;
    candidate.verdict = Verdict::ranked;
    candidate.reason.clear();
    std::erase(own.ranking, candidate.name);
    own.ranking.insert(own.ranking.begin(), candidate.name);
  }
  CandidateEvidence& winner = own.candidates[members_[order.front().second]];
  winner.verdict = Verdict::winner;
  own.winner = winner.name;
  own.verified = winner.verified;
  if (const auto work = problem_.work(); work && own.bound) {
    BoundRecord& bound = *own.bound;
    bound.ops = work->ops;
    bound.bytes = work->bytes;
    own.limit_s = limit_s({bound.ops, bound.bytes, bound.peak_ops_per_s, bound.peak_bytes_per_s,
                           bound.launch_overhead_s},
                          bound.threshold);
  }
  return own;
}

}  // namespace rooftune::detail
