#include "rooftune/decision.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <system_error>
#include <utility>

#include "base/json.h"
#include "tune/estimator.h"

namespace rooftune {
namespace {

Json optional_number(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

template <class E>
std::optional<E> parse_enum(std::string_view text, int count) {
  for (int i = 0; i < count; ++i) {
    if (to_string(static_cast<E>(i)) == text) return static_cast<E>(i);
  }
  return std::nullopt;
}

// Numbers of 64 bits are text in JSON, where all else are doubles.
std::string part_json(std::uint64_t part) { return std::to_string(part); }
std::optional<std::uint64_t> parse_part(const std::string& text) {
  std::uint64_t part = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), part);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return part;
}

std::vector<std::string> strings(const Json* array) {
  std::vector<std::string> all;
  if (array == nullptr || !array->is_array()) return all;
  for (const Json& item : *array) {
    if (item.is_string()) all.push_back(item.get<std::string>());
  }
  return all;
}

Json candidate_json(const CandidateEvidence& candidate) {
  Json json;
  json["name"] = candidate.name;
  json["version"] = candidate.version;
  json["verdict"] = to_string(candidate.verdict);
  json["reason"] = candidate.reason;
  json["min_s"] = optional_number(candidate.min_s());
  json["median_s"] = optional_number(candidate.median_s());
  json["samples"] = candidate.samples.size();
  json["error"] = optional_number(candidate.error);
  json["error_bound"] = optional_number(candidate.error_bound);
  json["verified"] = candidate.verified;
  json["quarantined"] = candidate.quarantined;
  json["spread"] = optional_number(candidate.spread());
  json["compile_s"] = optional_number(candidate.compile_s);
  json["guess_s"] = optional_number(candidate.guess_s);
  json["background"] = candidate.background;
  json["samples_s"] = candidate.samples;
  return json;
}

std::optional<CandidateEvidence> parse_candidate(const Json& json) {
  CandidateEvidence candidate;
  const auto name = string_member(json, "name");
  const auto version = string_member(json, "version");
  const auto verdict = parse_enum<Verdict>(string_member(json, "verdict").value_or(""), 9);
  if (!name || !version || !verdict) return std::nullopt;
  candidate.name = *name;
  candidate.version = *version;
  candidate.verdict = *verdict;
  candidate.reason = string_member(json, "reason").value_or("");
  candidate.error = number_member(json, "error");
  candidate.error_bound = number_member(json, "error_bound");
  candidate.verified = bool_member(json, "verified").value_or(false);
  candidate.quarantined = bool_member(json, "quarantined").value_or(false);
  candidate.compile_s = number_member(json, "compile_s");
  candidate.guess_s = number_member(json, "guess_s");
  if (candidate.guess_s && !(*candidate.guess_s > 0)) candidate.guess_s.reset();
  candidate.background = bool_member(json, "background").value_or(false);
  if (const Json* samples = find_member(json, "samples_s"); samples && samples->is_array()) {
    for (const Json& sample : *samples) {
      // A time that is not positive is no measurement, whoever wrote it.
      if (!sample.is_number() || !(sample.get<double>() > 0)) return std::nullopt;
      candidate.samples.push_back(sample.get<double>());
    }
  }
  return candidate;
}

}  // namespace

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::winner:
      return "winner";
    case Verdict::ranked:
      return "ranked";
    case Verdict::eliminated:
      return "eliminated";
    case Verdict::not_tried:
      return "not_tried";
    case Verdict::illegal:
      return "illegal";
    case Verdict::build_failed:
      return "build_failed";
    case Verdict::launch_failed:
      return "launch_failed";
    case Verdict::not_timed:
      return "not_timed";
    case Verdict::wrong:
      return "wrong";
  }
  return "";
}

std::string_view to_string(Origin origin) {
  switch (origin) {
    case Origin::measured:
      return "measured";
    case Origin::memory:
      return "memory";
    case Origin::store:
      return "store";
    case Origin::forced:
      return "forced";
    case Origin::fallback:
      return "fallback";
  }
  return "";
}

std::optional<double> CandidateEvidence::min_s() const { return percentile(counting(samples), 0); }
std::optional<double> CandidateEvidence::median_s() const {
  return percentile(counting(samples), 0.5);
}
std::optional<double> CandidateEvidence::estimate_s() const {
  return rooftune::estimate_s(samples);
}
std::optional<double> CandidateEvidence::spread() const { return relative_spread(samples); }

const CandidateEvidence* Decision::find(std::string_view name) const {
  for (const CandidateEvidence& candidate : candidates) {
    if (candidate.name == name) return &candidate;
  }
  return nullptr;
}

void settle_winner(Decision& decision) {
  decision.winner = decision.ranking.empty() ? "" : decision.ranking.front();
  std::erase_if(decision.same_as_winner, [&](const std::string& name) {
    return name == decision.winner || std::find(decision.ranking.begin(), decision.ranking.end(),
                                                name) == decision.ranking.end();
  });
}

std::string to_json(const Decision& decision) {
  Json json;
  json["operation"] = decision.operation;
  const auto key = parse_json(decision.key);
  json["key"] = key ? *key : Json(decision.key);
  json["device"] = decision.device;
  json["fingerprint"] = decision.fingerprint;
  json["origin"] = to_string(decision.origin);
  json["winner"] = decision.winner;
  json["part"] = decision.part ? Json(part_json(*decision.part)) : Json(nullptr);
  json["part_text"] = decision.part_text;
  json["split"] = Json::array();
  for (const std::uint64_t part : decision.split) json["split"].push_back(part_json(part));
  json["apart"] = decision.apart;
  json["partial"] = decision.partial;
  json["verified"] = decision.verified;
  json["storable"] = decision.storable;
  json["limit_s"] = optional_number(decision.limit_s);
  if (decision.bound) {
    const BoundRecord& bound = *decision.bound;
    json["bound"] = {{"ops", bound.ops},
                     {"bytes", bound.bytes},
                     {"peak_ops_per_s", bound.peak_ops_per_s},
                     {"peak_bytes_per_s", bound.peak_bytes_per_s},
                     {"threshold", bound.threshold},
                     {"launch_overhead_s", bound.launch_overhead_s},
                     {"broken", bound.broken}};
  } else {
    json["bound"] = nullptr;
  }
  json["short_circuit"] = decision.short_circuit ? Json(*decision.short_circuit) : Json(nullptr);
  json["ranking"] = decision.ranking;
  json["same_as_winner"] = decision.same_as_winner;
  json["replaced"] = decision.replaced;
  json["rounds"] = decision.rounds;
  json["budget_s"] = decision.budget_s;
  json["operands"] = to_string(decision.operands);
  json["mode"] = to_string(decision.mode);
  json["not_online"] = decision.not_online;
  json["cost"] = {{"probe_s", decision.cost.probe_s},
                  {"compile_s", decision.cost.compile_s},
                  {"measure_s", decision.cost.measure_s},
                  {"verify_s", decision.cost.verify_s},
                  {"store_s", decision.cost.store_s},
                  {"launches", decision.cost.launches},
                  {"scratch_bytes", decision.cost.scratch_bytes},
                  {"background_s", decision.cost.background_s},
                  {"background_launches", decision.cost.background_launches}};
  json["candidates"] = Json::array();
  for (const CandidateEvidence& candidate : decision.candidates) {
    json["candidates"].push_back(candidate_json(candidate));
  }
  return write_json(json);
}

Result<Decision> decision_from_json(std::string_view text) {
  const auto parsed = parse_json(text);
  if (!parsed) return std::unexpected(parsed.error());
  const Json& json = *parsed;
  const auto bad = [](std::string_view what) {
    return fail(ErrorKind::invalid_argument, "not a decision: " + std::string(what));
  };
  if (!json.is_object()) return bad("no JSON object");
  Decision decision;
  const auto winner = string_member(json, "winner");
  const auto origin = parse_enum<Origin>(string_member(json, "origin").value_or(""), 5);
  const Json* candidates = find_member(json, "candidates");
  if (!winner || !origin || candidates == nullptr || !candidates->is_array()) {
    return bad("winner, origin or candidates are missing");
  }
  decision.winner = *winner;
  decision.origin = *origin;
  decision.operation = string_member(json, "operation").value_or("");
  if (const Json* key = find_member(json, "key")) {
    decision.key = key->is_string() ? key->get<std::string>() : write_json(*key);
  }
  decision.device = string_member(json, "device").value_or("");
  decision.fingerprint = string_member(json, "fingerprint").value_or("");
  if (const auto part = string_member(json, "part")) decision.part = parse_part(*part);
  decision.part_text = string_member(json, "part_text").value_or("");
  for (const std::string& name : strings(find_member(json, "split"))) {
    if (const auto part = parse_part(name)) decision.split.push_back(*part);
  }
  decision.apart = bool_member(json, "apart").value_or(false);
  decision.partial = bool_member(json, "partial").value_or(true);
  decision.verified = bool_member(json, "verified").value_or(false);
  decision.storable = bool_member(json, "storable").value_or(true);
  decision.limit_s = number_member(json, "limit_s");
  if (const Json* bound = find_member(json, "bound"); bound && bound->is_object()) {
    const auto number = [&](std::string_view name) {
      return number_member(*bound, name).value_or(0);
    };
    decision.bound = BoundRecord{number("ops"),
                                 number("bytes"),
                                 number("peak_ops_per_s"),
                                 number("peak_bytes_per_s"),
                                 number("threshold"),
                                 number("launch_overhead_s"),
                                 bool_member(*bound, "broken").value_or(false)};
  }
  decision.short_circuit = string_member(json, "short_circuit");
  decision.ranking = strings(find_member(json, "ranking"));
  decision.same_as_winner = strings(find_member(json, "same_as_winner"));
  decision.replaced = strings(find_member(json, "replaced"));
  if (const Json* rounds = find_member(json, "rounds"); rounds && rounds->is_array()) {
    for (const Json& round : *rounds) decision.rounds.push_back(strings(&round));
  }
  decision.budget_s = number_member(json, "budget_s").value_or(0);
  const auto cold = to_string(Operands::cold);
  decision.operands = string_member(json, "operands") == cold ? Operands::cold : Operands::warm;
  decision.mode =
      parse_enum<Mode>(string_member(json, "mode").value_or(""), 2).value_or(Mode::measure);
  decision.not_online = string_member(json, "not_online").value_or("");
  if (const Json* cost = find_member(json, "cost"); cost && cost->is_object()) {
    decision.cost.probe_s = number_member(*cost, "probe_s").value_or(0);
    decision.cost.compile_s = number_member(*cost, "compile_s").value_or(0);
    decision.cost.measure_s = number_member(*cost, "measure_s").value_or(0);
    decision.cost.verify_s = number_member(*cost, "verify_s").value_or(0);
    decision.cost.store_s = number_member(*cost, "store_s").value_or(0);
    decision.cost.launches =
        static_cast<std::uint64_t>(integer_member(*cost, "launches").value_or(0));
    decision.cost.scratch_bytes =
        static_cast<std::uint64_t>(integer_member(*cost, "scratch_bytes").value_or(0));
    decision.cost.background_s = number_member(*cost, "background_s").value_or(0);
    decision.cost.background_launches =
        static_cast<std::uint64_t>(integer_member(*cost, "background_launches").value_or(0));
  }
  for (const Json& item : *candidates) {
    // One candidate that cannot be understood costs its own evidence only.
    if (auto candidate = parse_candidate(item))
      decision.candidates.push_back(*std::move(candidate));
  }
  return decision;
}

}  // namespace rooftune
