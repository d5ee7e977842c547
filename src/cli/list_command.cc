#include "cli/list_command.h"

#include <algorithm>

#include "base/units.h"
#include "cli/output.h"
#include "fmt/format.h"

namespace rooftune::cli {

std::string exceptions_text(const Tally& tally) {
  std::string text;
  const auto add = [&](std::size_t count, const char* what) {
    if (count > 0) text += fmt::format(", {} {}", count, what);
  };
  add(tally.skipped, "skipped");
  add(tally.failed, "failed");
  add(tally.bad_lines, tally.bad_lines == 1 ? "bad line" : "bad lines");
  add(tally.not_reached, "not reached");
  return text;
}

Outcome<ProductList> open_list(const ListOptions& options) {
  auto list = read_product_list(options.file);
  if (!list) return stop(Exit::usage, list.error().text);
  if (!list->bad.empty() && !options.keep_going) {
    const std::size_t others = list->bad.size() - 1;
    return stop(Exit::usage,
                fmt::format("{}: {}{}; nothing was run (--keep-going runs the good lines)",
                            options.file, list->bad.front().text,
                            others == 0 ? "" : fmt::format(" (and {} more bad lines)", others)));
  }
  if (options.precision) {
    for (ListedProduct& listed : list->products) {
      if (listed.product.in == DType::f32) {
        listed.product.precision = *parse_precision(*options.precision);
      }
    }
  }
  for (const BadLine& bad : list->bad) {
    note(fmt::format("{}: {}: left out", options.file, bad.text));
  }
  return *std::move(list);
}

std::string type_text(const Product& product) {
  if (product.in == product.out) return std::string(to_string(product.in));
  return fmt::format("{}>{}", to_string(product.in), to_string(product.out));
}

void add(Cost& sum, const Cost& cost) {
  sum.probe_s += cost.probe_s;
  sum.compile_s += cost.compile_s;
  sum.measure_s += cost.measure_s;
  sum.verify_s += cost.verify_s;
  sum.store_s += cost.store_s;
  sum.launches += cost.launches;
}

Json cost_json(const Cost& cost) {
  return {{"probe_s", cost.probe_s},   {"compile_s", cost.compile_s}, {"measure_s", cost.measure_s},
          {"verify_s", cost.verify_s}, {"store_s", cost.store_s},     {"launches", cost.launches}};
}

std::string cost_text(const Cost& cost) {
  return fmt::format("probes {}, compiling {}, measuring {}, verifying {}, storing {}; {} launches",
                     format_seconds(cost.probe_s), format_seconds(cost.compile_s),
                     format_seconds(cost.measure_s), format_seconds(cost.verify_s),
                     format_seconds(cost.store_s), cost.launches);
}

std::size_t product_width(const ProductList& list) {
  std::size_t width = 0;
  for (const ListedProduct& listed : list.products) {
    width = std::max(width, listed.product.text.size());
  }
  return width;
}

}  // namespace rooftune::cli
