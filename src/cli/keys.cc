// rooftune keys: the key of each product, and which keys are equal.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/opened.h"
#include "cli/output.h"
#include "cli/product.h"
#include "fmt/format.h"
#include "ops/matmul/key.h"
#include "ops/matmul/problem.h"

namespace rooftune::cli {
namespace {

// All pairs of more products than this would fill the screen: then only equal ones are shown.
constexpr std::size_t kAllPairs = 10;

constexpr const char* kNoKey = "(no key: a product without elements or sums is never tuned)";

struct Keyed {
  Product product;
  std::optional<MatmulKey> key;
};

Outcome<Keyed> key_of(const std::string& text, const ProductOptions& options, Level level,
                      int threads) {
  auto product = parse_product(text);
  if (!product) return stop(product.error());
  set_types(*product, options.type, options.precision);
  const auto views = views_of(*product);
  if (!views) return stop(views.error());
  MatmulOptions asked;
  asked.precision = product->precision;
  MatmulProblem problem;
  if (Status made = make_matmul_problem(views->lhs, views->rhs, views->out, asked, problem);
      !made) {
    return stop(made.error());
  }
  Keyed keyed{*std::move(product), std::nullopt};
  const Product& p = keyed.product;
  if (p.batch != 0 && p.m != 0 && p.n != 0 && p.k != 0) {
    keyed.key = make_matmul_key(problem, level, threads);
  }
  return keyed;
}

void print_as_json(const std::vector<Keyed>& all) {
  for (const Keyed& keyed : all) {
    Json line = {{"product", keyed.product.text}, {"key", nullptr}};
    if (keyed.key) {
      if (auto key = parse_json(key_json(*keyed.key))) line["key"] = *std::move(key);
    }
    print_json(line);
  }
  Json pairs = Json::array();
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = i + 1; j < all.size(); ++j) {
      if (!all[i].key || !all[j].key) continue;
      const bool equal = *all[i].key == *all[j].key;
      if (!equal && all.size() > kAllPairs) continue;
      pairs.push_back({{"a", all[i].product.text}, {"b", all[j].product.text}, {"equal", equal}});
    }
  }
  print_json({{"pairs", std::move(pairs)}});
}

void print_as_text(const std::vector<Keyed>& all) {
  std::size_t width = 0;
  const auto sizes = [](const Product& product) {
    return product.text.substr(0, product.text.size() - (product.rhs_transposed ? 1 : 0));
  };
  for (const Keyed& keyed : all) width = std::max(width, sizes(keyed.product).size());
  for (const Keyed& keyed : all) {
    print_line(fmt::format("{:>{}}{} -> {}", sizes(keyed.product), width,
                           keyed.product.rhs_transposed ? 'T' : ' ',
                           keyed.key ? short_text(*keyed.key) : kNoKey));
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = i + 1; j < all.size(); ++j) {
      if (!all[i].key || !all[j].key) continue;
      const bool equal = *all[i].key == *all[j].key;
      if (!equal && all.size() > kAllPairs) continue;
      print_line(
          fmt::format("key({}) == key({}): {}", all[i].product.text, all[j].product.text, equal));
    }
  }
}

}  // namespace

Outcome<Exit> run_keys(const CommonOptions& common, const ProductOptions& options) {
  auto opened = open_session(common, Disk::untouched);
  if (!opened) return std::unexpected(opened.error());
  const Session& session = (*opened)->session();
  std::vector<Keyed> all;
  for (const std::string& text : options.products) {
    auto keyed = key_of(text, options, session.settings().autotune.level,
                        session.client().capabilities().threads);
    if (!keyed) return std::unexpected(keyed.error());
    all.push_back(*std::move(keyed));
  }
  common.json ? print_as_json(all) : print_as_text(all);
  return Exit::done;
}

}  // namespace rooftune::cli
