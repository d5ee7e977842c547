#include "cli/product_list.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>

#include "base/csv.h"
#include "base/text.h"
#include "fmt/format.h"

namespace rooftune::cli {
namespace {

enum Field : std::size_t { kId, kBatch, kM, kN, kK, kIn, kOut, kLayout, kPrecision, kSource, kAll };
constexpr std::array<std::string_view, kAll> kNames = {
    "id", "batch", "m", "n", "k", "in", "out", "layout", "precision", "source"};
constexpr std::array<std::string_view, 9> kTypes = {"f32", "f64",    "f16",    "bf16", "i8",
                                                    "i32", "f8e4m3", "f8e5m2", "u8"};
constexpr std::array<std::string_view, 4> kPrecisions = {"highest", "split", "high", "medium"};
constexpr std::array<std::string_view, 4> kLayouts = {"NN", "NT", "TN", "TT"};

// Where each field stands in a row.
using Order = std::array<std::size_t, kAll>;

Result<Order> read_header(const CsvRow& row) {
  Order order{};
  std::array<bool, kAll> seen{};
  const auto refuse = [&](const std::string& what) {
    return fail(ErrorKind::invalid_argument, fmt::format("line {}: bad header: {}; it should be {}",
                                                         row.line, what, fmt::join(kNames, ",")));
  };
  for (std::size_t i = 0; i < row.fields.size(); ++i) {
    const auto found = std::find(kNames.begin(), kNames.end(), row.fields[i]);
    if (found == kNames.end()) {
      return refuse(fmt::format("unknown column {}{}", in_quotes(row.fields[i]),
                                did_you_mean(row.fields[i], kNames)));
    }
    const auto field = static_cast<std::size_t>(found - kNames.begin());
    if (seen[field]) return refuse(fmt::format("column \"{}\" twice", *found));
    seen[field] = true;
    order[field] = i;
  }
  for (std::size_t field = 0; field < kAll; ++field) {
    if (!seen[field]) return refuse(fmt::format("column \"{}\" is missing", kNames[field]));
  }
  return order;
}

class RowReader {
 public:
  RowReader(const CsvRow& row, const Order& order) : row_(row), order_(order) {}

  const std::string& field(Field field) const { return row_.fields[order_[field]]; }

  std::int64_t size(Field which) {
    const auto value = parse_integer(field(which));
    if (!value || *value < 0) {
      refuse(which, "a whole number from 0 to 9223372036854775807");
      return 0;
    }
    return *value;
  }

  // The one of `names` that the field holds.
  std::string_view one_of(Field which, std::span<const std::string_view> names) {
    const auto found = std::find(names.begin(), names.end(), field(which));
    if (found != names.end()) return *found;
    refuse(which,
           fmt::format("one of {}{}", list_in_quotes(names), did_you_mean(field(which), names)));
    return names.front();
  }

  const std::optional<std::string>& wrong() const { return wrong_; }

 private:
  void refuse(Field which, const std::string& expected) {
    if (wrong_) return;  // the first fault of a line is enough
    wrong_ = fmt::format("line {}: column \"{}\" is {} but must be {}", row_.line, kNames[which],
                         in_quotes(field(which)), expected);
  }

  const CsvRow& row_;
  const Order& order_;
  std::optional<std::string> wrong_;
};

Result<ListedProduct> read_row(const CsvRow& row, const Order& order) {
  if (row.fields.size() != kAll) {
    return fail(ErrorKind::invalid_argument, fmt::format("line {}: {} fields where {} belong",
                                                         row.line, row.fields.size(), +kAll));
  }
  RowReader reader(row, order);
  ListedProduct listed{row.line, reader.field(kId), reader.field(kSource), {}};
  Product& product = listed.product;
  product.batch = reader.size(kBatch);
  product.m = reader.size(kM);
  product.n = reader.size(kN);
  product.k = reader.size(kK);
  product.in = *parse_dtype(reader.one_of(kIn, kTypes));
  product.out = *parse_dtype(reader.one_of(kOut, kTypes));
  const std::string_view layout = reader.one_of(kLayout, kLayouts);
  product.lhs_transposed = layout[0] == 'T';
  product.rhs_transposed = layout[1] == 'T';
  product.precision = *parse_precision(reader.one_of(kPrecision, kPrecisions));
  if (reader.wrong()) return fail(ErrorKind::invalid_argument, *reader.wrong());
  product.text = product_text(product);
  if (auto views = views_of(product); !views) {
    return fail(ErrorKind::invalid_argument,
                fmt::format("line {}: {}", row.line, views.error().text));
  }
  return listed;
}

}  // namespace

Result<ProductList> parse_product_list(std::string_view csv) {
  CsvReader reader(csv);
  const auto header = reader.next();
  if (!header) {
    return fail(ErrorKind::invalid_argument,
                fmt::format("it is empty; the first line should be {}", fmt::join(kNames, ",")));
  }
  if (!*header) return std::unexpected(header->error());
  const auto order = read_header(**header);
  if (!order) return std::unexpected(order.error());

  ProductList list;
  while (const auto row = reader.next()) {
    if (!*row) {
      list.bad.push_back({reader.line(), row->error().text});
      continue;
    }
    auto listed = read_row(**row, *order);
    if (listed) {
      list.products.push_back(*std::move(listed));
    } else {
      list.bad.push_back({(*row)->line, listed.error().text});
    }
  }
  return list;
}

Result<ProductList> read_product_list(const std::filesystem::path& file) {
  const auto cannot = [&](std::string_view why) {
    return fail(ErrorKind::io, fmt::format("cannot read {}: {}", in_quotes(file.string()), why));
  };
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) return cannot("it is a folder");
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(std::fopen(file.c_str(), "rb"),
                                                               std::fclose);
  if (stream == nullptr) return cannot(std::generic_category().message(errno));
  std::string text;
  std::array<char, 1 << 16> piece;
  while (const std::size_t bytes = std::fread(piece.data(), 1, piece.size(), stream.get())) {
    text.append(piece.data(), bytes);
  }
  if (std::ferror(stream.get()) != 0) return cannot(std::generic_category().message(errno));
  auto list = parse_product_list(text);
  if (!list) {
    return fail(list.error().kind, fmt::format("{}: {}", file.string(), list.error().text));
  }
  return list;
}

}  // namespace rooftune::cli
