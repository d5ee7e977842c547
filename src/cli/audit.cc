// rooftune audit: how good are the tuner's choices, would it choose the same again, and what does
// choosing cost.
#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/audit_picture.h"
#include "cli/audit_summary.h"
#include "cli/auditor.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/list_command.h"
#include "cli/load_of_others.h"
#include "cli/opened.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "fmt/format.h"

namespace rooftune::cli {
namespace {

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json to_json(const ProductAudit& audit, Regime regime) {
  const Contest& contest = audit.contest(regime);
  Json times = Json::object(), regrets = Json::object();
  for (const Duel::Side& side : contest.duel.sides) {
    times[side.name] = contest.duel.seconds(side.name);
    regrets[side.name] = contest.regret(side.name);
  }
  return {{"candidates", contest.candidates},
          {"best", contest.best},
          {"best_s", contest.duel.seconds(contest.best)},
          {"untuned_regret", or_null(audit.untuned_regret(regime))},
          {"times_s", std::move(times)},
          {"regrets", std::move(regrets)}};
}

Json head_of(const ListedProduct& listed) {
  const Product& product = listed.product;
  return {{"id", listed.id},
          {"product", product.text},
          {"in", to_string(product.in)},
          {"out", to_string(product.out)},
          {"precision", to_string(product.precision)}};
}

Json to_json(const ListedProduct& listed, const ProductAudit& audit, double margin, bool transfer) {
  Json json = head_of(listed);
  json["operands"] = to_string(audit.decided);
  for (const Regime regime : kRegimes) {
    json[std::string(to_string(regime))] = to_json(audit, regime);
  }
  json["untuned"] = or_null(audit.untuned);
  json["untuned_regret"] = or_null(audit.untuned_regret(audit.decided));
  json["flips"] = audit.flips();
  json["flips_beyond_margin"] = audit.flips_beyond(margin);
  json["worse_than_untuned"] = audit.worse_than_untuned(margin);
  json["tunes"] = Json::array();
  for (const AuditedTune& tune : audit.tunes) {
    json["tunes"].push_back({{"chosen", tune.chosen},
                             {"regret", audit.contest().regret(tune.chosen)},
                             {"certain_regret", audit.contest().certain_regret(tune.chosen)},
                             {"regret_warm", audit.contest(Regime::warm).regret(tune.chosen)},
                             {"regret_cold", audit.contest(Regime::cold).regret(tune.chosen)},
                             {"partial", tune.partial},
                             {"seconds", tune.seconds()},
                             {"multiple", audit.multiple(tune)},
                             {"cost", cost_json(tune.cost)}});
  }
  if (!transfer) return json;
  json["transfer"] = Json::array();
  for (const AuditedMember& member : audit.members) {
    json["transfer"].push_back({{"member", member.name},
                                {"product", member.product},
                                {"chosen", member.chosen},
                                {"best", member.best},
                                {"regret", member.regret},
                                {"later",
                                 {{"chosen", member.later.chosen},
                                  {"regret", member.later.regret},
                                  {"split", member.later.split},
                                  {"settled", member.later.settled},
                                  {"calls", member.later.calls},
                                  {"seconds", member.later.seconds}}}});
  }
  return json;
}

// What a product that could not be audited shows.
Json to_json(const ListedProduct& listed, const char* state, const std::string& reason) {
  Json json = head_of(listed);
  json[state] = reason;
  return json;
}

Table table_for(const ProductList& list, bool transfer) {
  std::vector<Column> columns = {{"product", Align::left, product_width(list)},
                                 {"type", Align::left, 4},
                                 {"operands", Align::left, 8},
                                 {"best", Align::right, 7},
                                 {"regret", Align::right, 7},
                                 {"untuned", Align::right, 7},
                                 {"flips", Align::right, 5},
                                 {"cost", Align::right, 6},
                                 {"launches", Align::right, 8},
                                 {"of", Align::right, 3}};
  if (transfer) {
    columns.push_back({"transfer", Align::right, 8});
    columns.push_back({"later", Align::right, 7});
  }
  columns.push_back({"chosen", Align::left, 27});
  columns.push_back({"best of all", Align::left});
  return Table(std::move(columns));
}

std::vector<std::string> to_cells(const Product& product, const ProductAudit& audit, double margin,
                                  bool transfer) {
  Distribution multiples, launches;
  for (const AuditedTune& tune : audit.tunes) {
    multiples.values.push_back(audit.multiple(tune));
    launches.values.push_back(double(tune.cost.launches));
  }
  const Contest& contest = audit.contest();
  const std::optional<double> without = audit.untuned_regret(audit.decided);
  std::vector<std::string> cells = {product.text,
                                    type_text(product),
                                    std::string(to_string(audit.decided)),
                                    format_seconds(contest.duel.seconds(contest.best)),
                                    percent(audit.worst_regret()),
                                    without ? percent(*without) : "-",
                                    fmt::format("{}/{}", audit.flips_beyond(margin), audit.flips()),
                                    fmt::format("{:.0f} x", *multiples.percentile(0.5)),
                                    fmt::format("{:.0f}", *launches.percentile(0.5)),
                                    std::to_string(contest.candidates)};
  if (transfer) {
    double worst = 0, later = 0;
    for (const AuditedMember& member : audit.members) {
      worst = std::max(worst, member.regret);
      later = std::max(later, member.later.regret);
    }
    for (const double each : {worst, later}) {
      cells.push_back(audit.members.empty() ? "-" : percent(each));
    }
  }
  cells.emplace_back(audit.usual());
  cells.push_back(audit.usual() == contest.best ? "the same" : contest.best);
  return cells;
}

// --- The summary ---------------------------------------------------------------------------------

Json to_json(const Distribution& distribution) {
  return {{"mean", or_null(distribution.mean())},
          {"median", or_null(distribution.percentile(0.5))},
          {"p95", or_null(distribution.percentile(0.95))},
          {"worst", or_null(distribution.percentile(1))}};
}

Json to_json(const AuditSummary& summary, const Tally& tally, double seconds,
             std::optional<double> others) {
  Json multiples = Json::object();
  for (std::size_t i = 0; i < summary.multiples_by_cause.size(); ++i) {
    multiples[std::string(shares(summary.cost)[i].cause)] = to_json(summary.multiples_by_cause[i]);
  }
  const auto rate = [&](std::size_t count) {
    return summary.tunes == 0 ? Json() : Json(double(count) / double(summary.tunes));
  };
  return {{"summary",
           {{"products", summary.products},
            {"tunes", summary.tunes},
            {"partial", summary.partial},
            {"skipped", tally.skipped},
            {"failed", tally.failed},
            {"bad_lines", tally.bad_lines},
            {"not_reached", tally.not_reached},
            {"margin", summary.margin},
            {"regret", to_json(summary.regret)},
            {"certain_regret", to_json(summary.certain_regret)},
            {"regret_warm", to_json(summary.regrets[0])},
            {"regret_cold", to_json(summary.regrets[1])},
            {"untuned_regret", to_json(summary.untuned)},
            {"worse_than_untuned", rate(summary.worse_than_untuned)},
            {"flips", rate(summary.flips)},
            {"flips_beyond_margin", rate(summary.flips_beyond)},
            {"transfer_regret", to_json(summary.transfer)},
            {"transfer_regret_later", to_json(summary.transfer_later)},
            {"members", summary.transfer.values.size()},
            {"members_split", summary.split},
            {"members_unsettled", summary.unsettled},
            {"calls_later", to_json(summary.calls_later)},
            {"seconds_later", to_json(summary.seconds_later)},
            {"tune_s", to_json(summary.seconds)},
            {"launches", to_json(summary.launches)},
            {"multiple", to_json(summary.multiples)},
            {"whole_multiple", to_json(summary.whole_multiples)},
            {"multiples", std::move(multiples)},
            {"cost", cost_json(summary.cost)},
            {"seconds", seconds},
            {"processors_of_others", or_null(others)}}}};
}

std::string spread_text(const Distribution& regret) {
  return fmt::format("mean {}, 95th percentile {}, worst {}", percent(*regret.mean()),
                     percent(*regret.percentile(0.95)), percent(*regret.percentile(1)));
}

void print_summary(const AuditSummary& summary, const Tally& tally, double seconds) {
  print_line(fmt::format("\n{} products, {} tunes{}, in {}", summary.products, summary.tunes,
                         exceptions_text(tally), format_seconds(seconds)));
  if (summary.tunes == 0) return;
  const auto share = [&](std::size_t count) {
    return percent(double(count) / double(summary.tunes));
  };
  print_line("regret:         " + spread_text(summary.regret));
  print_line("  at least:      " + spread_text(summary.certain_regret) + " (95 % confidence)");
  for (const Regime regime : kRegimes) {
    print_line(fmt::format("  {} operands: {}", to_string(regime),
                           spread_text(summary.regrets[static_cast<std::size_t>(regime)])));
  }
  if (!summary.untuned.values.empty()) {
    print_line("untuned:        " + spread_text(summary.untuned));
  }
  print_line(fmt::format("                {} of the tunes are slower than untuned by more than {}",
                         share(summary.worse_than_untuned), percent(summary.margin)));
  print_line(fmt::format(
      "flips:          {} of the tunes chose otherwise than most of their product, {} with a time "
      "that\n                differs by more than {}",
      share(summary.flips), share(summary.flips_beyond), percent(summary.margin)));
  if (!summary.transfer.values.empty()) {
    print_line(fmt::format("transfer:       {} ({} members of the buckets)",
                           spread_text(summary.transfer), summary.transfer.values.size()));
    print_line(fmt::format("  later:        {}; {} have a decision of their own{}",
                           spread_text(summary.transfer_later), summary.split,
                           summary.unsettled > 0
                               ? fmt::format(", {} were not looked at in time", summary.unsettled)
                               : ""));
  }
  const auto two = [](const Distribution& of, auto text) {
    return fmt::format("median {}, worst {}", text(*of.percentile(0.5)), text(*of.percentile(1)));
  };
  const auto whole = [](double value) { return fmt::format("{:.0f}", value); };
  if (!summary.calls_later.values.empty()) {
    print_line(
        "                after so many calls, all of whose time went into measuring once "
        "more: " +
        two(summary.calls_later, whole) +
        "; their time: " + two(summary.seconds_later, format_seconds));
  }
  print_line("cost of a tune: " + two(summary.seconds, format_seconds) + " without probes");
  print_line("  launches:     " + two(summary.launches, whole));
  print_line("  in times of the chosen one: measuring and verifying " +
             two(summary.multiples, whole) + "; all but probes " +
             two(summary.whole_multiples, whole));
  print_line("cost of all:    " + cost_text(summary.cost));
  if (summary.partial > 0) {
    print_line(fmt::format("partial:        the budget ended {} of the searches", summary.partial));
  }
}

std::string picture_of(const AuditSummary& summary, const std::string& device) {
  const std::vector<Curve> curves = {
      {"tuned, warm operands", summary.regrets[0].values},
      {"tuned, cold operands", summary.regrets[1].values},
      {"untuned", summary.untuned.values},
      {"other members of the bucket", summary.transfer.values},
      {"likewise, after further calls", summary.transfer_later.values},
  };
  return regret_picture(
      fmt::format("Regret on {}: {} products, {} tunes", device, summary.products, summary.tunes),
      curves, summary.margin);
}

}  // namespace

Outcome<Exit> run_audit(const CommonOptions& common, const ListOptions& options,
                        const AuditOptions& audit) {
  const auto list = open_list(options);
  if (!list) return std::unexpected(list.error());
  // An hour later would be too late to hear of it.
  if (audit.svg && !can_write(*audit.svg)) {
    return stop(Exit::usage,
                fmt::format("--svg {}: the file cannot be written", in_quotes(*audit.svg)));
  }
  auto settings = settings_for(common);
  if (!settings) return std::unexpected(settings.error());
  settings->autotune.cache = false;
  // All the share that there is, so that members need few calls until they are looked at.
  if (settings->autotune.background > 0) settings->autotune.background = 1;
  auto opened = open_session(common, *std::move(settings));
  if (!opened) return std::unexpected(opened.error());
  Session& session = (*opened)->session();
  const double margin = audit.margin.value_or(session.settings().autotune.margin);
  auto auditor = Auditor::make(session, {audit.tunes, audit.seconds, audit.transfer});
  if (!auditor) return stop(auditor.error());
  catch_interrupts();

  const Table table = table_for(*list, audit.transfer);
  if (!common.json) print_line(table.head());
  Tally tally;
  tally.bad_lines = list->bad.size();
  std::vector<ProductAudit> audits;
  const LoadOfOthers others;
  const double begin = steady_now_s();
  {
    Progress progress("auditing", list->products.size());
    for (std::size_t i = 0; i < list->products.size(); ++i) {
      if (interrupted()) {
        tally.not_reached = list->products.size() - i;
        break;
      }
      const ListedProduct& listed = list->products[i];
      progress.at(i, listed.product.text);
      auto found = (*auditor)->run(listed.product, i + 1);
      progress.aside([&] {
        if (found) {
          common.json
              ? print_json(to_json(listed, *found, margin, audit.transfer))
              : print_line(table.line(to_cells(listed.product, *found, margin, audit.transfer)));
          return;
        }
        const char* state = found.error().kind == ErrorKind::unsupported ? "skipped" : "failed";
        common.json ? print_json(to_json(listed, state, found.error().text))
                    : print_line(table.line({listed.product.text, type_text(listed.product),
                                             fmt::format("{}: {}", state, found.error().text)}));
      });
      if (found) {
        ++tally.done;
        audits.push_back(*std::move(found));
      } else {
        ++(found.error().kind == ErrorKind::unsupported ? tally.skipped : tally.failed);
      }
    }
  }
  const AuditSummary summary = summarise(audits, margin);
  const double seconds = steady_now_s() - begin;
  if (common.json) {
    print_json(to_json(summary, tally, seconds, others.processors()));
  } else {
    print_summary(summary, tally, seconds);
    print_line(others.text());
  }
  if (audit.svg && !write_file(*audit.svg, picture_of(summary, session.client().name()))) {
    note_lost_output(fmt::format("the picture cannot be written to {}", in_quotes(*audit.svg)));
  }
  return tally.exit();
}

}  // namespace rooftune::cli
