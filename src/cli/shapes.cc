// rooftune shapes: what the first call of each product costs, and what later ones do.
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/opened.h"
#include "cli/operands.h"
#include "cli/output.h"
#include "cli/product.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "fmt/format.h"
#include "rooftune/tuner.h"
#include "tune/estimator.h"

namespace rooftune::cli {
namespace {

constexpr int kLaterCalls = 20;

struct Measured {
  Product product;
  CallReport report;
  double first_s = 0;
  std::vector<double> next_s;
  std::map<std::string, std::uint64_t> launches;
  std::uint64_t launches_total = 0, compilations = 0;
};

// Percentile p of what is not empty.
double at(const std::vector<double>& seconds, double p) { return percentile(seconds, p).value(); }

// Seconds of one call up to the moment when its result is there.
Result<double> timed_call(Session& session, const ProductViews& views, Precision precision,
                          CallReport* report) {
  MatmulOptions options;
  options.precision = precision;
  options.report = report;
  const double begin = steady_now_s();
  if (Status done = session.matmul(views.lhs, views.rhs, views.out, options); !done) {
    return std::unexpected(done.error());
  }
  if (Status done = session.client().synchronize(Stream{}); !done) {
    return std::unexpected(done.error());
  }
  return steady_now_s() - begin;
}

Result<Measured> measure(Opened& opened, const Product& product, std::uint64_t seed) {
  Session& session = opened.session();
  auto operands = make_operands(session.client(), product, seed);
  if (!operands) return std::unexpected(operands.error());

  Measured measured;
  measured.product = product;
  Counters counters;
  const std::uint64_t compiled_before = session.client().compilations();
  opened.observe(&counters);
  const auto first = timed_call(session, operands->views(), product.precision, &measured.report);
  opened.observe(nullptr);
  if (!first) return std::unexpected(first.error());
  measured.first_s = *first;
  measured.launches = counters.counts("launch");
  measured.launches_total = counters.total("launch");
  measured.compilations = session.client().compilations() - compiled_before;
  for (int i = 0; i < kLaterCalls; ++i) {
    const auto next = timed_call(session, operands->views(), product.precision, nullptr);
    if (!next) return std::unexpected(next.error());
    measured.next_s.push_back(*next);
  }
  return measured;
}

Json to_json(const Measured& measured, const std::string& device) {
  Json launches = Json::object();
  for (const auto& [kernel, count] : measured.launches) launches[kernel] = count;
  Json winner = nullptr;
  if (!measured.report.candidate.empty()) winner = measured.report.candidate;
  return {{"product", measured.product.text},
          {"device", device},
          {"first_s", measured.first_s},
          {"next_min_s", at(measured.next_s, 0)},
          {"next_median_s", at(measured.next_s, 0.5)},
          {"launches", std::move(launches)},
          {"launches_total", measured.launches_total},
          {"compilations", measured.compilations},
          {"tuned", measured.report.tuned},
          {"origin", to_string(measured.report.origin)},
          {"winner", std::move(winner)}};
}

std::vector<std::string> to_row(const Measured& measured) {
  const std::string winner(measured.report.candidate);
  return {measured.product.text,
          format_seconds(measured.first_s),
          format_seconds(at(measured.next_s, 0)),
          format_seconds(at(measured.next_s, 0.5)),
          std::to_string(measured.launches_total),
          std::to_string(measured.compilations),
          measured.report.tuned ? "yes" : "no",
          std::string(to_string(measured.report.origin)),
          winner.empty() ? "-" : winner};
}

std::string launches_text(const Measured& measured) {
  std::string text;
  for (const auto& [kernel, count] : measured.launches) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", kernel, count);
  }
  return text.empty() ? "none" : text;
}

}  // namespace

Outcome<Exit> run_shapes(const CommonOptions& common, const ProductOptions& options) {
  std::vector<Product> products;
  std::size_t width = 0;
  for (const std::string& text : options.products) {
    auto product = parse_product(text);
    if (!product) return stop(product.error());
    set_types(*product, options.type, options.precision);
    if (auto views = views_of(*product); !views) return stop(views.error());
    width = std::max(width, text.size());
    products.push_back(*std::move(product));
  }
  auto opened = open_session(common, Disk::used);
  if (!opened) return std::unexpected(opened.error());
  const std::string& device = (*opened)->session().client().name();

  const Table table({{"product", Align::left, width},
                     {"first", Align::right, 7},
                     {"min", Align::right, 7},
                     {"median", Align::right, 7},
                     {"launches", Align::right},
                     {"compiled", Align::right},
                     {"tuned", Align::left},
                     {"origin", Align::left, 8},
                     {"winner", Align::left}});
  Exit exit = Exit::done;
  std::vector<Measured> all;
  {
    Progress progress("measuring", products.size());
    if (!common.json) {
      print_line(fmt::format("{}: first call, then {} more (min, median)", device, kLaterCalls));
      print_line(table.head());
    }
    for (std::size_t i = 0; i < products.size(); ++i) {
      progress.at(i, products[i].text);
      auto measured = measure(**opened, products[i], i + 1);
      progress.aside([&] {
        if (!measured) {
          note(fmt::format("{}: {}", products[i].text, measured.error().text));
          exit = Exit::failed;
        } else if (common.json) {
          print_json(to_json(*measured, device));
        } else {
          print_line(table.line(to_row(*measured)));
        }
      });
      if (measured) all.push_back(*std::move(measured));
    }
  }
  if (!common.json && !all.empty()) {
    print_line("\nlaunches of the first call, by kernel:");
    for (const Measured& measured : all) {
      print_line(fmt::format("  {}: {}", measured.product.text, launches_text(measured)));
    }
  }
  return exit;
}

}  // namespace rooftune::cli
