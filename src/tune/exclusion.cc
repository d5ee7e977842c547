#include "tune/exclusion.h"

#include <algorithm>
#include <utility>

#include "base/json.h"

namespace rooftune {

KeyPlace place_of(const std::string& tuner, const detail::Problem& problem) {
  return {problem.client().fingerprint().digest(), tuner, problem.key_json()};
}

std::vector<Exclusion> quarantined(Environment& environment, const KeyPlace& place) {
  std::vector<Exclusion> all;
  const auto value =
      environment.get(quarantine_namespace(place.fingerprint, place.tuner), place.key);
  if (!value || !*value) return all;
  const auto rows = parse_json(**value);
  if (!rows || !rows->is_array()) return all;
  for (const Json& row : *rows) {
    auto candidate = string_member(row, "candidate");
    auto version = string_member(row, "version");
    if (!candidate || !version) continue;
    all.push_back({*std::move(candidate), *std::move(version), Verdict::launch_failed,
                   string_member(row, "reason").value_or("")});
  }
  return all;
}

void put_into_quarantine(Environment& environment, const KeyPlace& place,
                         std::string_view candidate, std::string_view version,
                         std::string_view why) {
  const auto with_it = [&](const std::optional<std::string>& existing) {
    Json rows = Json::array();
    if (auto known = parse_json(existing.value_or("[]")); known && known->is_array()) {
      rows = *std::move(known);
    }
    const bool there = std::any_of(rows.begin(), rows.end(), [&](const Json& row) {
      return string_member(row, "candidate") == candidate &&
             string_member(row, "version") == version;
    });
    if (!there) {
      Json row;
      row["candidate"] = candidate;
      row["version"] = version;
      row["reason"] = std::string(why) + "; `rooftune store clear quarantine` lifts this";
      rows.push_back(std::move(row));
    }
    return write_json(rows);
  };
  // Trouble with the store is the store's to report.
  static_cast<void>(
      environment.merge(quarantine_namespace(place.fingerprint, place.tuner), place.key, with_it));
}

std::string note_before_launch(const KeyPlace& place, std::string_view candidate,
                               std::string_view version) {
  Json note;
  note["about_to_run"] = candidate;
  note["version"] = version;
  note["tuner"] = place.tuner;
  note["key"] = place.key;
  note["fingerprint"] = place.fingerprint;
  return write_json(note);
}

std::optional<Suspect> suspect_of(std::string_view note, const KeyPlace& place) {
  const auto json = parse_json(note);
  if (!json || string_member(*json, "fingerprint") != place.fingerprint ||
      string_member(*json, "tuner") != place.tuner || string_member(*json, "key") != place.key) {
    return std::nullopt;
  }
  auto candidate = string_member(*json, "about_to_run");
  auto version = string_member(*json, "version");
  if (!candidate || !version) return std::nullopt;
  return Suspect{*std::move(candidate), *std::move(version)};
}

void FoundWrong::add(const KeyPlace& place, Exclusion exclusion) {
  const std::lock_guard lock(mutex_);
  all_[place].push_back(std::move(exclusion));
}

std::vector<Exclusion> FoundWrong::at(const KeyPlace& place) const {
  const std::lock_guard lock(mutex_);
  const auto found = all_.find(place);
  return found == all_.end() ? std::vector<Exclusion>{} : found->second;
}

void exclude(Decision& decision, const std::vector<Exclusion>& exclusions,
             const detail::Problem& problem) {
  for (std::size_t i = 0; i < problem.size(); ++i) {
    const std::string& name = problem.name(i);
    const auto exclusion =
        std::find_if(exclusions.begin(), exclusions.end(), [&](const Exclusion& one) {
          return one.candidate == name && one.version == problem.version(i);
        });
    if (exclusion == exclusions.end()) continue;
    auto evidence = std::find_if(decision.candidates.begin(), decision.candidates.end(),
                                 [&](const CandidateEvidence& one) { return one.name == name; });
    if (evidence == decision.candidates.end()) {
      evidence = decision.candidates.emplace(decision.candidates.end());
    }
    *evidence = {};
    evidence->name = name;
    evidence->version = exclusion->version;
    evidence->verdict = exclusion->verdict;
    evidence->reason = exclusion->reason;
    evidence->quarantined = exclusion->verdict == Verdict::launch_failed;
    std::erase(decision.ranking, name);
    if (decision.short_circuit == name) decision.short_circuit.reset();
  }
  settle_winner(decision);
}

}  // namespace rooftune
