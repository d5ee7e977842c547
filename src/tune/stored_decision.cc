#include "tune/stored_decision.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/json.h"
#include "rooftune/tuner.h"
#include "tune/charge.h"
#include "tune/conclusion.h"
#include "tune/context_internals.h"
#include "tune/exclusion.h"
#include "tune/parts.h"
#include "tune/turn.h"

namespace rooftune {
namespace {

constexpr std::string_view kStoreVersion = "v2";

// Decisions that were taken with operands in another state answer another question.
std::string store_version(const TuneContext& context) {
  const Operands operands = context.settings().autotune.operands;
  const std::string version(kStoreVersion);
  return operands == Operands::automatic ? version
                                         : version + "-" + std::string(to_string(operands));
}

// Trouble with the store is the store's to report; the decision lives on in memory.
void write_decision(const TuneContext& context, Environment& environment,
                    const Decision& decision) {
  const std::string ns =
      autotune_namespace(store_version(context), decision.fingerprint, decision.operation);
  static_cast<void>(
      environment.merge(ns, decision.key, [&](const std::optional<std::string>& existing) {
        if (!existing) return to_json(decision);
        const auto older = decision_from_json(*existing);
        if (!older) return to_json(decision);
        // What another process has finished meanwhile is worth more than what is not finished.
        if (decision.partial && !older->partial && !older->ranking.empty()) return *existing;
        return to_json(merged(*older, decision));
      }));
}

std::optional<std::size_t> find_candidate(const detail::Problem& problem, std::string_view name) {
  for (std::size_t i = 0; i < problem.size(); ++i) {
    if (problem.name(i) == name) return i;
  }
  return std::nullopt;
}

}  // namespace

Decision believable(Decision stored, const detail::Problem& problem) {
  std::erase_if(stored.candidates, [&](const CandidateEvidence& candidate) {
    const auto i = find_candidate(problem, candidate.name);
    return !i || problem.version(*i) != candidate.version || candidate.quarantined;
  });
  std::erase_if(stored.ranking, [&](const std::string& name) {
    const CandidateEvidence* candidate = stored.find(name);
    return candidate == nullptr || candidate->verdict == Verdict::wrong;
  });
  settle_winner(stored);
  if (stored.short_circuit && stored.find(*stored.short_circuit) == nullptr) {
    stored.short_circuit.reset();
  }
  return stored;
}

bool is_complete(const Decision& decision, const detail::Problem& problem) {
  if (decision.ranking.empty()) return false;
  if (decision.short_circuit || problem.size() == 1) return true;
  for (const auto& round : detail::plan_of(problem)) {
    bool decided = false;
    for (const std::size_t i : round) {
      const CandidateEvidence* candidate = decision.find(problem.name(i));
      if (candidate == nullptr || candidate->verdict == Verdict::not_tried) return false;
      decided = decided || !candidate->samples.empty();
    }
    if (decided) return true;
  }
  return true;
}

Decision merged(const Decision& older, Decision newer) {
  for (const CandidateEvidence& old : older.candidates) {
    const auto mine = std::find_if(
        newer.candidates.begin(), newer.candidates.end(),
        [&](const CandidateEvidence& candidate) { return candidate.name == old.name; });
    if (mine == newer.candidates.end()) {
      newer.candidates.push_back(old);
    } else if (mine->version == old.version && mine->verdict == Verdict::not_tried &&
               !old.samples.empty()) {
      *mine = old;
      if (mine->verdict == Verdict::winner) mine->verdict = Verdict::ranked;
      if (std::find(newer.ranking.begin(), newer.ranking.end(), old.name) == newer.ranking.end()) {
        newer.ranking.push_back(old.name);
      }
    }
  }
  for (const std::uint64_t part : older.split) {
    if (std::find(newer.split.begin(), newer.split.end(), part) == newer.split.end()) {
      newer.split.push_back(part);
    }
  }
  return newer;
}

namespace detail {
namespace {

// What of a stored decision is to be believed.
std::optional<Decision> load(TuneContext& context, const std::string& tuner, const Problem& problem,
                             const std::string& key) {
  const auto environment = context.internals().environment();
  const double begin = steady_now_s();
  const auto value = environment->get(
      autotune_namespace(store_version(context), problem.client().fingerprint().digest(), tuner),
      key);
  context.internals().span("store", "get", begin);
  if (!value || !*value) return std::nullopt;
  auto decision = decision_from_json(**value);
  if (!decision) return std::nullopt;  // a row that cannot be understood is a miss
  Decision believed = believable(*std::move(decision), problem);
  const KeyPlace place = place_of(tuner, problem);
  exclude(believed, quarantined(*environment, place), problem);
  exclude(believed, context.internals().found_wrong.at(place), problem);
  return believed;
}

}  // namespace

std::vector<Decision> load_parts(TuneContext& context, const std::string& tuner,
                                 const Problem& problem, const Decision& decision) {
  std::vector<Decision> parts;
  for (const std::uint64_t part : decision.split) {
    auto own = load(context, tuner, problem, part_key(problem.key_json(), part));
    if (!own || own->part != part || own->ranking.empty()) continue;
    // Candidates that are new or have changed since may be better there: to be looked at again.
    const bool all = own->candidates.size() >= problem.size();
    if (all) parts.push_back(*std::move(own));
  }
  return parts;
}

std::optional<Stored> load_decision(TuneContext& context, const std::string& tuner,
                                    const Problem& problem) {
  auto decision = load(context, tuner, problem, problem.key_json());
  if (!decision) return std::nullopt;
  Stored stored;
  stored.decision = *std::move(decision);
  stored.decision.origin = Origin::store;
  stored.complete = is_complete(stored.decision, problem);
  return stored;
}

void keep_decision(TuneContext& context, Decision& decision, const TuningTurn& turn) {
  keep_decision(context, decision, turn.environment());
}

void keep_decision(TuneContext& context, Decision& decision, Environment& environment,
                   double Cost::*account) {
  TuneContext::Internals& internals = context.internals();
  const Stopwatch watch(context.client());
  const double begin = steady_now_s();
  if (decision.storable) write_decision(context, environment, decision);
  decision.cost.*account += watch.seconds();
  // What it cost to store is known only now, and `why` is to tell the truth about it: a second
  // write, of a fraction of a millisecond, once for each key.
  if (decision.storable) write_decision(context, environment, decision);
  const std::string line = to_json(decision);
  static_cast<void>(environment.append_record(RecordKind::autotune, line));
  internals.span("store", "put", begin);
  internals.write_record(line);
}

void keep_evidence(TuneContext& context, const Decision& partial) {
  const double begin = steady_now_s();
  if (partial.storable) write_decision(context, *context.internals().environment(), partial);
  context.internals().span("store", "put", begin);
}

}  // namespace detail
}  // namespace rooftune
