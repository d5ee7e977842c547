// rooftune tune: makes and keeps the decision for each product of a list. What is decided already
// costs nothing, so a list that was interrupted goes on where it stopped.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/list_command.h"
#include "cli/opened.h"
#include "cli/operands.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "fmt/format.h"
#include "rooftune/tuner.h"

namespace rooftune::cli {
namespace {

enum class State { tuned, known, skipped, failed };

std::string_view to_string(State state) {
  switch (state) {
    case State::tuned:
      return "tuned";
    case State::known:
      return "known";
    case State::skipped:
      return "skipped";
    case State::failed:
      return "failed";
  }
  return "";
}

struct Row {
  State state = State::failed;
  std::string reason;  // of a product that was skipped or failed
  std::optional<Decision> decision;
  double seconds = 0;
};

Row refused(const Error& error) {
  const bool skipped = error.kind == ErrorKind::unsupported;
  return {skipped ? State::skipped : State::failed, (skipped ? "unsupported: " : "") + error.text,
          std::nullopt, 0};
}

// A partial decision is what a budget left of a search; candidates without evidence are new, or
// have changed since. Both are worth going on with.
bool is_final(const Decision& decision, const std::vector<std::string>& candidates) {
  return !decision.partial && !decision.ranking.empty() &&
         std::all_of(candidates.begin(), candidates.end(),
                     [&](const std::string& name) { return decision.find(name) != nullptr; });
}

Row tune(Session& session, const Product& product, std::uint64_t seed) {
  const auto views = views_of(product);
  if (!views) return refused(views.error());
  if (product.batch == 0 || product.m == 0 || product.n == 0 || product.k == 0) {
    return {State::skipped, "nothing to compute", std::nullopt, 0};
  }
  MatmulOptions options;
  options.precision = product.precision;
  auto known = session.matmul_decision(views->lhs, views->rhs, views->out, options);
  if (!known) return refused(known.error());
  if (*known && is_final(**known, session.matmul_candidates())) {
    return {State::known, "", *std::move(known), 0};
  }

  auto operands = make_operands(session.client(), product, seed);
  if (!operands) return refused(operands.error());
  CallReport report;
  options.report = &report;
  const ProductViews& with_data = operands->views();
  const double begin = steady_now_s();
  Status done = session.matmul(with_data.lhs, with_data.rhs, with_data.out, options);
  if (done) done = session.client().synchronize(Stream{});
  if (!done) return refused(done.error());
  Row row{report.tuned ? State::tuned : State::known, "", std::nullopt, steady_now_s() - begin};
  if (auto decision = session.matmul_decision(views->lhs, views->rhs, views->out, options)) {
    row.decision = *std::move(decision);
  }
  return row;
}

std::string note_on(const Row& row) {
  if (!row.reason.empty()) return row.reason;
  if (!row.decision) return "no decision was made";
  if (row.decision->partial) return "partial: the budget ended the search, a later call goes on";
  if (!row.decision->verified) return "not verified";
  return "";
}

Json to_json(const ListedProduct& listed, const Row& row) {
  const Product& product = listed.product;
  Json json = {{"id", listed.id},
               {"product", product.text},
               {"in", to_string(product.in)},
               {"out", to_string(product.out)},
               {"precision", to_string(product.precision)},
               {"state", to_string(row.state)},
               {"seconds", row.seconds},
               {"winner", nullptr},
               {"median_s", nullptr},
               {"partial", nullptr},
               {"reason", nullptr}};
  if (row.decision) {
    json["winner"] = row.decision->winner;
    json["partial"] = row.decision->partial;
    if (const auto* winner = row.decision->find(row.decision->winner)) {
      if (const auto median_s = winner->median_s()) json["median_s"] = *median_s;
    }
  }
  if (!row.reason.empty()) json["reason"] = row.reason;
  return json;
}

std::vector<std::string> to_cells(const Product& product, const Row& row) {
  std::string winner = "-", median_s = "-";
  if (row.decision && !row.decision->winner.empty()) {
    winner = row.decision->winner;
    if (const auto* evidence = row.decision->find(winner)) {
      if (const auto seconds = evidence->median_s()) median_s = format_seconds(*seconds);
    }
  }
  return {product.text,
          type_text(product),
          std::string(to_string(row.state)),
          row.seconds > 0 ? format_seconds(row.seconds) : "-",
          median_s,
          winner,
          note_on(row)};
}

Json to_json(const Tally& tally, std::size_t tuned, double seconds, const Cost& cost) {
  return {{"summary",
           {{"tuned", tuned},
            {"known", tally.done - tuned},
            {"skipped", tally.skipped},
            {"failed", tally.failed},
            {"bad_lines", tally.bad_lines},
            {"not_reached", tally.not_reached},
            {"seconds", seconds},
            {"cost", cost_json(cost)}}}};
}

void print_summary(const Tally& tally, std::size_t tuned, double seconds, const Cost& cost) {
  print_line(fmt::format("\n{} tuned, {} known already{}, in {}", tuned, tally.done - tuned,
                         exceptions_text(tally), format_seconds(seconds)));
  if (tuned == 0) return;
  print_line("cost: " + cost_text(cost));
}

}  // namespace

Outcome<Exit> run_tune(const CommonOptions& common, const ListOptions& options) {
  const auto list = open_list(options);
  if (!list) return std::unexpected(list.error());
  auto opened = open_session(common, Disk::used);
  if (!opened) return std::unexpected(opened.error());
  Session& session = (*opened)->session();
  catch_interrupts();

  const Table table({{"product", Align::left, product_width(*list)},
                     {"type", Align::left, 4},
                     {"state", Align::left, 7},
                     {"took", Align::right, 7},
                     {"median", Align::right, 7},
                     {"winner", Align::left, 24},
                     {"note", Align::left}});
  if (!common.json) print_line(table.head());
  Tally tally;
  tally.bad_lines = list->bad.size();
  Cost cost;
  std::size_t tuned = 0;
  const double begin = steady_now_s();
  {
    Progress progress("tuning", list->products.size());
    for (std::size_t i = 0; i < list->products.size(); ++i) {
      if (interrupted()) {
        tally.not_reached = list->products.size() - i;
        break;
      }
      const ListedProduct& listed = list->products[i];
      progress.at(i, listed.product.text);
      const Row row = tune(session, listed.product, i + 1);
      if (row.state == State::tuned) {
        ++tuned;
        if (row.decision) add(cost, row.decision->cost);
      }
      (row.state == State::skipped  ? tally.skipped
       : row.state == State::failed ? tally.failed
                                    : tally.done)++;
      progress.aside([&] {
        common.json ? print_json(to_json(listed, row))
                    : print_line(table.line(to_cells(listed.product, row)));
      });
    }
  }
  const double seconds = steady_now_s() - begin;
  common.json ? print_json(to_json(tally, tuned, seconds, cost))
              : print_summary(tally, tuned, seconds, cost);
  if (tally.not_reached > 0) {
    note("interrupted; what was tuned is kept, the same command goes on from there");
  }
  return tally.exit();
}

}  // namespace rooftune::cli
