// rooftune why: the decision for a product, in words and as a table.
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/list_command.h"
#include "cli/opened.h"
#include "cli/output.h"
#include "cli/product.h"
#include "cli/why_text.h"
#include "fmt/format.h"
#include "rooftune/decision.h"
#include "rooftune/key.h"

namespace rooftune::cli {
namespace {

constexpr std::array<std::string_view, 1> kOperations = {"matmul"};

// "m=1024 n=1024 ...": the key as people write it.
std::string key_text_of(const Decision& decision) {
  const auto pairs = detail::split_flat_json(decision.key);
  if (!pairs) return printable(decision.key);
  std::string text;
  for (const auto& [name, value] : *pairs) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  }
  return printable(text);
}

std::string origin_text(Origin origin) {
  switch (origin) {
    case Origin::memory:
    case Origin::measured:
      return "made by this process";
    case Origin::store:
      return "kept in the store";
    default:
      return std::string(to_string(origin));
  }
}

void print_decision(const Decision& decision, const Product& product) {
  print_line(fmt::format("{} {}, {} on {} (fingerprint {})", decision.operation, product.text,
                         type_text(product), decision.device, decision.fingerprint));
  print_line("Products with this key share the decision:");
  print_line("  " + key_text_of(decision));
  print_line("\n" + winner_text(decision));
  print_line("\nWhy the search ended");
  print_line(search_text(decision));
  print_line("\nWhat it cost (" + origin_text(decision.origin) + ")");
  print_line(cost_text(decision));
  print_line("\nCandidates");
  print_line(candidates_text(decision));
}

}  // namespace

Outcome<Exit> run_why(const CommonOptions& common, const WhyOptions& options) {
  if (options.operation != kOperations[0]) {
    return stop(Exit::usage, fmt::format("unknown operation {}; there is {}{}",
                                         in_quotes(options.operation), list_in_quotes(kOperations),
                                         did_you_mean(options.operation, kOperations)));
  }
  auto product = parse_product(options.product);
  if (!product) return stop(product.error());
  set_types(*product, options.type, options.precision);
  const auto views = views_of(*product);
  if (!views) return stop(views.error());
  auto opened = open_session(common, Disk::used);
  if (!opened) return std::unexpected(opened.error());
  Session& session = (*opened)->session();
  MatmulOptions asked;
  asked.precision = product->precision;
  const auto decision = session.matmul_decision(views->lhs, views->rhs, views->out, asked);
  if (!decision) return stop(decision.error());
  // A decision whose candidates have all changed since says nothing about those of today.
  if (!*decision || (*decision)->ranking.empty()) {
    return stop(
        Exit::failed,
        fmt::format("nothing is decided yet{} for {} {} on {} in {}; `rooftune shapes {}{}{}` "
                    "with the same options makes a decision, where a database can keep it",
                    *decision ? " by these versions of the kernels" : "", product->text,
                    options.type, session.client().name(), session.environment_text(),
                    options.type == "f32" ? "" : "--type " + options.type + " ",
                    options.precision == "highest" ? "" : "--precision " + options.precision + " ",
                    product->text));
  }
  common.json ? print_line(to_json(**decision)) : print_decision(**decision, *product);
  return Exit::done;
}

}  // namespace rooftune::cli
