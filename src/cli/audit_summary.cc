#include "cli/audit_summary.h"

#include <algorithm>
#include <cmath>

#include "cli/list_command.h"
#include "tune/estimator.h"

namespace rooftune::cli {

std::string_view to_string(Regime regime) {
  switch (regime) {
    case Regime::warm:
      return "warm";
    case Regime::cold:
      return "cold";
  }
  return "";
}

const Duel::Side* Duel::find(std::string_view name) const {
  const auto found =
      std::find_if(sides.begin(), sides.end(), [&](const Side& side) { return side.name == name; });
  return found != sides.end() ? &*found : nullptr;
}

Comparison Duel::meet(std::string_view one, std::string_view other) const {
  if (one == other) return {Standing::same, 1, 1, 1};
  // The margin does not change the interval.
  constexpr double kMargin = 0, kConfidence = 0.95;
  return *compare(find(other)->samples_s, find(one)->samples_s, kMargin, kConfidence);
}

double Duel::seconds(std::string_view name) const { return *estimate_s(find(name)->samples_s); }

double Contest::regret(std::string_view chosen) const {
  return std::max(0.0, duel.ratio(chosen, best) - 1);
}

double Contest::certain_regret(std::string_view chosen) const {
  return std::max(0.0, duel.meet(chosen, best).low - 1);
}

std::string_view ProductAudit::usual() const {
  const auto times = [&](const AuditedTune& tune) {
    return std::count_if(tunes.begin(), tunes.end(),
                         [&](const AuditedTune& other) { return other.chosen == tune.chosen; });
  };
  return std::max_element(
             tunes.begin(), tunes.end(),
             [&](const AuditedTune& a, const AuditedTune& b) { return times(a) < times(b); })
      ->chosen;
}

double ProductAudit::worst_regret() const {
  double worst = 0;
  for (const AuditedTune& tune : tunes) worst = std::max(worst, contest().regret(tune.chosen));
  return worst;
}

std::optional<double> ProductAudit::untuned_regret(Regime regime) const {
  return untuned ? std::optional(contest(regime).regret(*untuned)) : std::nullopt;
}

std::size_t ProductAudit::flips() const {
  return static_cast<std::size_t>(std::count_if(
      tunes.begin(), tunes.end(), [&](const AuditedTune& tune) { return tune.chosen != usual(); }));
}

std::size_t ProductAudit::flips_beyond(double margin) const {
  return static_cast<std::size_t>(
      std::count_if(tunes.begin(), tunes.end(), [&](const AuditedTune& tune) {
        const double ratio = contest().duel.ratio(tune.chosen, usual());
        return std::max(ratio, 1 / ratio) > 1 + margin;
      }));
}

std::size_t ProductAudit::worse_than_untuned(double margin) const {
  if (!untuned) return 0;
  return static_cast<std::size_t>(
      std::count_if(tunes.begin(), tunes.end(), [&](const AuditedTune& tune) {
        return contest().duel.ratio(tune.chosen, *untuned) > 1 + margin;
      }));
}

std::array<Share, 5> shares(const Cost& cost) {
  return {{{"probe", cost.probe_s},
           {"compile", cost.compile_s},
           {"measure", cost.measure_s},
           {"verify", cost.verify_s},
           {"store", cost.store_s}}};
}

std::optional<double> Distribution::mean() const {
  if (values.empty()) return std::nullopt;
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / double(values.size());
}

std::optional<double> Distribution::percentile(double p) const {
  return rooftune::percentile(values, p);
}

AuditSummary summarise(std::span<const ProductAudit> products, double margin) {
  AuditSummary summary;
  summary.margin = margin;
  summary.products = products.size();
  for (const ProductAudit& product : products) {
    for (const AuditedTune& tune : product.tunes) {
      ++summary.tunes;
      if (tune.partial) ++summary.partial;
      summary.regret.values.push_back(product.contest().regret(tune.chosen));
      summary.certain_regret.values.push_back(product.contest().certain_regret(tune.chosen));
      for (const Regime regime : kRegimes) {
        summary.regrets[static_cast<std::size_t>(regime)].values.push_back(
            product.contest(regime).regret(tune.chosen));
      }
      summary.multiples.values.push_back(product.multiple(tune));
      summary.launches.values.push_back(double(tune.cost.launches));
      summary.whole_multiples.values.push_back(product.multiple(tune, tune.seconds()));
      const auto causes = shares(tune.cost);
      for (std::size_t i = 0; i < causes.size(); ++i) {
        summary.multiples_by_cause[i].values.push_back(product.multiple(tune, causes[i].seconds));
      }
      summary.seconds.values.push_back(tune.seconds());
      add(summary.cost, tune.cost);
    }
    if (const auto regret = product.untuned_regret(product.decided)) {
      summary.untuned.values.push_back(*regret);
    }
    for (const AuditedMember& member : product.members) {
      const AuditedMember::Later& later = member.later;
      summary.transfer.values.push_back(member.regret);
      summary.transfer_later.values.push_back(later.regret);
      summary.calls_later.values.push_back(double(later.calls));
      summary.seconds_later.values.push_back(later.seconds);
      summary.split += later.split ? 1 : 0;
      summary.unsettled += later.settled ? 0 : 1;
    }
    summary.flips += product.flips();
    summary.flips_beyond += product.flips_beyond(margin);
    summary.worse_than_untuned += product.worse_than_untuned(margin);
  }
  return summary;
}

}  // namespace rooftune::cli
