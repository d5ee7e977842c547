// What an audit found, as plain data, and what it comes to.
//
// The regret of a choice is its time by that of the best, less 1, both from a duel; never below 0,
// since to have chosen better than the best is luck, not merit. 0.02 is 2 %.
#ifndef ROOFTUNE_CLI_AUDIT_SUMMARY_H_
#define ROOFTUNE_CLI_AUDIT_SUMMARY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rooftune/decision.h"
#include "tune/comparison.h"

namespace rooftune::cli {

// Where a launch finds its operands: where the one before has left them, or in memory.
enum class Regime : std::uint8_t { warm, cold };
inline constexpr std::array<Regime, 2> kRegimes = {Regime::warm, Regime::cold};
std::string_view to_string(Regime regime);

// Samples of several candidates, one each in every pass.
struct Duel {
  struct Side {
    std::string name;
    std::vector<double> samples_s;
  };
  std::vector<Side> sides;

  const Side* find(std::string_view name) const;
  // The time of one by that of the other, from samples of the same pass; 1 for the same name.
  // Both must be there.
  double ratio(std::string_view one, std::string_view other) const {
    return meet(one, other).ratio;
  }
  Comparison meet(std::string_view one, std::string_view other) const;
  double seconds(std::string_view name) const;
};

// All candidates for one problem in one regime, and the duel of those that matter.
struct Contest {
  std::size_t candidates = 0;  // that were timed
  std::string best;
  Duel duel;

  double regret(std::string_view chosen) const;
  double certain_regret(std::string_view chosen) const;  // at least so much, in 95 of 100 cases
};

// One search in an environment where nothing is known but the probes.
struct AuditedTune {
  std::string chosen;
  bool partial = false;            // the budget ended it
  Regime operands = Regime::warm;  // while measuring
  double call_s = 0;  // of the whole first call, which ends with a launch of what was chosen
  Cost cost;

  double seconds() const { return call_s - cost.probe_s; }  // probes are shared by all keys
};

// What a search spends time on, and how much it did.
struct Share {
  std::string_view cause;
  double seconds;
};
std::array<Share, 5> shares(const Cost& cost);

// Another problem with the key of the one that was tuned, and what runs there.
struct AuditedMember {
  std::string name, product;  // "low", "513x513x513"
  std::string chosen, best;
  double regret = 0;
  // The same after so many further calls, which let the tuner look at the member's part of the key.
  struct Later {
    std::string chosen;
    double regret = 0;
    bool split = false;    // the part has a decision of its own
    bool settled = false;  // false: the time for it ran out
    std::uint64_t calls = 0;
    double seconds = 0;  // of all these calls, and of what was measured after them
  };
  Later later = {};
};

struct ProductAudit {
  Regime decided = Regime::warm;       // what the decision was for
  std::array<Contest, 2> contests;     // by regime
  std::optional<std::string> untuned;  // what runs without measuring; nothing if that is wrong
  std::vector<AuditedTune> tunes;      // at least one
  std::vector<AuditedMember> members;

  const Contest& contest(Regime regime) const { return contests[static_cast<std::size_t>(regime)]; }
  const Contest& contest() const { return contest(decided); }

  std::string_view usual() const;  // what most tunes chose, the first of equally many
  double worst_regret() const;
  std::optional<double> untuned_regret(Regime regime) const;
  // Tunes that chose otherwise than most did; those whose time differs from the usual one's by
  // more than the margin.
  std::size_t flips() const;
  std::size_t flips_beyond(double margin) const;
  // Tunes whose choice takes longer than the untuned one by more than the margin.
  std::size_t worse_than_untuned(double margin) const;
  // Seconds in multiples of the time of what a tune chose.
  double multiple(const AuditedTune& tune, double seconds) const {
    return seconds / contest().duel.seconds(tune.chosen);
  }
  // The same for what a search spends on candidates each time: probes are shared by all keys, and
  // compiled kernels are kept.
  double multiple(const AuditedTune& tune) const {
    return multiple(tune, tune.cost.measure_s + tune.cost.verify_s);
  }
};

struct Distribution {
  std::vector<double> values;
  // Nothing without a value.
  std::optional<double> mean() const;
  std::optional<double> percentile(double p) const;
};

struct AuditSummary {
  double margin = 0;
  std::size_t products = 0, tunes = 0, partial = 0;
  Distribution regret;                  // of every tune, in the regime that it decided for
  Distribution certain_regret;          // likewise
  std::array<Distribution, 2> regrets;  // of every tune, by regime
  Distribution untuned;                 // of every product
  Distribution transfer;                // of every member
  Distribution transfer_later;          // likewise, once its part was looked at
  Distribution calls_later, seconds_later;
  std::size_t split = 0, unsettled = 0;  // members
  std::size_t flips = 0, flips_beyond = 0, worse_than_untuned = 0;
  // Of every tune: what it cost; the two kinds of multiples; those of single causes, as shares().
  Distribution seconds, launches, multiples, whole_multiples;
  std::array<Distribution, 5> multiples_by_cause;
  Cost cost;  // of all tunes
};

AuditSummary summarise(std::span<const ProductAudit> products, double margin);

}  // namespace rooftune::cli

#endif  // ROOFTUNE_CLI_AUDIT_SUMMARY_H_
