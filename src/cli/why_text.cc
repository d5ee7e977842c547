#include "cli/why_text.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "cli/table.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "throughput/roofline.h"

namespace rooftune::cli {
namespace {

std::string percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

std::string seconds_or(const std::optional<double>& seconds, const char* otherwise) {
  return seconds ? format_seconds(*seconds) : otherwise;
}

// The best of the others, and how much slower it is.
std::string margin_text(const Decision& decision, double winner_s) {
  for (const std::string& name : decision.ranking) {
    if (name == decision.winner) continue;
    const CandidateEvidence* other = decision.find(name);
    if (other == nullptr || !other->estimate_s()) continue;
    return fmt::format(" The next best, {}, takes {:.2f} times as long.", name,
                       *other->estimate_s() / winner_s);
  }
  return " No other candidate has a time to compare it with.";
}

std::string verification_text(const CandidateEvidence& winner) {
  if (winner.verified && winner.error && winner.error_bound) {
    return fmt::format(" Its result was verified: relative error {:.1e}, allowed are {:.1e}.",
                       *winner.error, *winner.error_bound);
  }
  if (winner.verified) return " Its result was verified.";
  return " Its result was NOT verified: do not trust it more than you trust the kernel.";
}

// Which of the three parts of the bound is the largest, in words with numbers.
std::string bound_text(const BoundRecord& bound) {
  const double compute_s = bound.ops / bound.peak_ops_per_s;
  const double memory_s = bound.bytes / bound.peak_bytes_per_s;
  std::string binds = "compute binds";
  if (bound.launch_overhead_s > std::max(compute_s, memory_s)) {
    binds = "the launch binds";
  } else if (memory_s > compute_s) {
    binds = "memory binds";
  }
  return fmt::format(
      "The work is {} ({}) and at least {} of memory traffic ({}); with the peaks measured on "
      "this device that takes\n"
      "  compute  {:>8}  at {}\n"
      "  memory   {:>8}  at {}\n"
      "  launch   {:>8}\n"
      "so {}.",
      format_quantity(bound.ops, "op"), "additions and multiplications",
      format_quantity(bound.bytes, "B"), "each input read once, the output written once",
      format_seconds(compute_s), format_ops_rate(bound.peak_ops_per_s), format_seconds(memory_s),
      format_bytes_rate(bound.peak_bytes_per_s), format_seconds(bound.launch_overhead_s), binds);
}

std::optional<double> roofline_share(const Decision& decision) {
  const CandidateEvidence* winner = decision.find(decision.winner);
  if (winner == nullptr || !winner->median_s() || !decision.bound) return std::nullopt;
  const BoundRecord& b = *decision.bound;
  const auto ideal_s =
      ideal_time_s({b.ops, b.bytes, b.peak_ops_per_s, b.peak_bytes_per_s, b.launch_overhead_s});
  if (!ideal_s) return std::nullopt;
  return (*ideal_s + b.launch_overhead_s) / *winner->median_s();
}

std::string round_of(const Decision& decision, const std::string& name) {
  for (std::size_t i = 0; i < decision.rounds.size(); ++i) {
    const auto& round = decision.rounds[i];
    if (std::find(round.begin(), round.end(), name) != round.end()) return std::to_string(i + 1);
  }
  return "-";
}

std::string ending_text(const Decision& decision) {
  const auto measured =
      std::count_if(decision.candidates.begin(), decision.candidates.end(),
                    [](const CandidateEvidence& candidate) { return !candidate.samples.empty(); });
  const std::string counts =
      fmt::format("{} of {} candidates measured", measured, decision.candidates.size());
  if (decision.apart) {
    return fmt::format(
        "This part of the key ({}) was measured in the background, beside calls that were served, "
        "and split off: {} runs the others ({}).",
        decision.part_text, fmt::join(decision.replaced, ", "), counts);
  }
  if (decision.bound && decision.bound->broken) {
    return fmt::format(
        "One sample was faster than this roofline allows, which proves a probe wrong: the limit "
        "was not used, the probe was measured again, and the search went on to its regular end "
        "({}).",
        counts);
  }
  if (decision.mode == Mode::online) {
    return decision.partial
               ? fmt::format("Calls are the samples, and go on being ({} so far).", counts)
               : fmt::format(
                     "Calls were the samples, {} of them, until the times could be told "
                     "apart ({}).",
                     decision.cost.launches, counts);
  }
  if (decision.short_circuit) {
    return fmt::format("{} reached the limit, and the search ended there ({}).",
                       *decision.short_circuit, counts);
  }
  if (decision.partial) {
    return fmt::format(
        "The budget of {} ended the search early ({}): this is the best so far, "
        "and later calls go on.",
        format_seconds(decision.budget_s), counts);
  }
  if (!decision.limit_s) {
    return fmt::format("The search ended when the times could be told apart ({}).", counts);
  }
  return fmt::format(
      "None reached the limit, so the search went on until the times could be told apart ({}).",
      counts);
}

// What was measured after the search.
std::string background_text(const Decision& decision) {
  const auto measured =
      std::count_if(decision.candidates.begin(), decision.candidates.end(),
                    [](const CandidateEvidence& candidate) { return candidate.background; });
  if (decision.apart) return "";
  std::string text;
  if (!decision.split.empty()) {
    text = fmt::format(
        "\nMeasured were problems of {}. {} split off, with a winner of {}.", decision.part_text,
        decision.split.size() == 1 ? "Another part was"
                                   : fmt::format("{} other parts were", decision.split.size()),
        decision.split.size() == 1 ? "its own" : "their own");
  }
  if (measured == 0) return text;
  text +=
      fmt::format("\nAfter that {} {} measured in the background, beside calls that were served.",
                  measured, measured == 1 ? "candidate was" : "candidates were");
  if (!decision.replaced.empty()) {
    text += fmt::format(" {} took over from {}.", decision.winner, decision.replaced.back());
  }
  return text;
}

std::string reason_text(const CandidateEvidence& candidate) {
  if (!candidate.background) return candidate.reason;
  return "in the background" + (candidate.reason.empty() ? "" : ": " + candidate.reason);
}

}  // namespace

std::string winner_text(const Decision& decision) {
  const CandidateEvidence* winner = decision.find(decision.winner);
  if (decision.winner.empty() || winner == nullptr) {
    return "No candidate is known to be usable.";
  }
  const auto median_s = winner->median_s();
  if (!median_s) {
    return fmt::format("{} is used, but it has no time: {}.{}", decision.winner,
                       winner->reason.empty() ? "nothing was measured" : winner->reason,
                       verification_text(*winner));
  }
  std::string text = fmt::format("{} won: median {} of {} samples (best {}", decision.winner,
                                 format_seconds(*median_s), winner->samples.size(),
                                 seconds_or(winner->min_s(), "n/a"));
  if (const auto spread = winner->spread()) text += fmt::format(", spread {}", percent(*spread));
  text += ").";
  text += margin_text(decision, winner->estimate_s().value_or(*median_s));
  if (!decision.same_as_winner.empty()) {
    text +=
        fmt::format(" As good within the margin: {}.", fmt::join(decision.same_as_winner, ", "));
  }
  text += verification_text(*winner);
  return text;
}

std::string search_text(const Decision& decision) {
  std::string text;
  if (decision.bound) {
    text += bound_text(*decision.bound) + "\n";
    if (decision.limit_s && decision.bound->threshold > 0) {
      text += fmt::format(
          "The limit is {}: two samples at or below it ({} of the roofline) end a "
          "search, because no kernel could be much faster.\n",
          format_seconds(*decision.limit_s), percent(decision.bound->threshold));
    }
  } else {
    text += decision.mode == Mode::online
                ? "There is no limit: to probe the device would have held up a call.\n"
                : "There is no limit (the level is full, or the peaks could not be measured).\n";
  }
  text += ending_text(decision) + background_text(decision);
  if (!decision.not_online.empty()) {
    text +=
        fmt::format(" It was measured apart, although mode = \"online\": {}.", decision.not_online);
  }
  if (decision.mode == Mode::measure) {
    text +=
        decision.operands == Operands::cold
            ? "\nOperands were cold: too large together for a cache to hold them between launches."
            : "\nOperands were warm: every launch had the same.";
  }
  if (const auto share = roofline_share(decision)) {
    text += fmt::format("\n{} runs at {} of the roofline.", decision.winner, percent(*share));
  }
  return text;
}

std::string cost_text(const Decision& decision) {
  const Cost& cost = decision.cost;
  const double all_s =
      cost.probe_s + cost.compile_s + cost.measure_s + cost.verify_s + cost.store_s;
  std::string text = fmt::format(
      "{} in all: probes {}, compiling {}, measuring {}, verifying {}, storing {}; "
      "{} launches of candidates, {} of memory while measuring.",
      format_seconds(all_s), format_seconds(cost.probe_s), format_seconds(cost.compile_s),
      format_seconds(cost.measure_s), format_seconds(cost.verify_s), format_seconds(cost.store_s),
      cost.launches, format_bytes(cost.scratch_bytes));
  if (cost.background_launches > 0) {
    text += fmt::format(" In the background: {}, {} launches.", format_seconds(cost.background_s),
                        cost.background_launches);
  }
  return text;
}

std::string candidates_text(const Decision& decision) {
  std::vector<const CandidateEvidence*> all;
  for (const CandidateEvidence& candidate : decision.candidates) all.push_back(&candidate);
  std::stable_sort(all.begin(), all.end(), [](const auto* a, const auto* b) {
    if (a->verdict != b->verdict) return a->verdict < b->verdict;
    const auto a_s = a->estimate_s(), b_s = b->estimate_s();
    if (a_s.has_value() != b_s.has_value()) return a_s.has_value();
    return a_s && *a_s < *b_s;
  });
  const CandidateEvidence* winner = decision.find(decision.winner);
  const auto winner_s = winner != nullptr ? winner->estimate_s() : std::nullopt;
  Table table({{"verdict"},
               {"candidate"},
               {"round", Align::right},
               {"min", Align::right},
               {"median", Align::right},
               {"samples", Align::right},
               {"vs winner", Align::right},
               {"error", Align::right},
               {"reason"}});
  for (const CandidateEvidence* candidate : all) {
    const auto estimate_s = candidate->estimate_s();
    table.add({std::string(to_string(candidate->verdict)), candidate->name,
               round_of(decision, candidate->name), seconds_or(candidate->min_s(), "-"),
               seconds_or(candidate->median_s(), "-"),
               candidate->samples.empty() ? "-" : std::to_string(candidate->samples.size()),
               estimate_s && winner_s ? fmt::format("{:.2f}", *estimate_s / *winner_s) : "-",
               candidate->error ? fmt::format("{:.1e}", *candidate->error) : "-",
               reason_text(*candidate)});
  }
  return table.text();
}

}  // namespace rooftune::cli
