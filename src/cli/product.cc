#include "cli/product.h"

#include <array>
#include <charconv>
#include <initializer_list>
#include <span>

#include "base/text.h"
#include "fmt/format.h"

namespace rooftune::cli {
namespace {

constexpr std::size_t kMostSizes = 4;

std::unexpected<Error> refuse(std::string_view text, std::size_t at, std::string_view what) {
  return fail(ErrorKind::invalid_argument,
              fmt::format("bad product {}: {} at position {}; write N, MxNxK or BxMxNxK, with T "
                          "after it to transpose the right operand, t before it for the left",
                          in_quotes(text), what, at + 1));
}

Result<View> matrix_view(DType dtype, const Product& product, std::int64_t rows,
                         std::int64_t columns, bool transposed) {
  const std::array<std::int64_t, 3> extents = {product.batch, transposed ? columns : rows,
                                               transposed ? rows : columns};
  auto layout = Layout::contiguous(std::span(extents).subspan(product.batch == 1 ? 1 : 0));
  if (!layout) {
    return fail(ErrorKind::invalid_argument,
                fmt::format("product {} is too large: {}", product.text, layout.error().text));
  }
  const View view{nullptr, dtype, *layout};
  return transposed ? view.transposed() : view;
}

}  // namespace

Result<Product> parse_product(std::string_view text) {
  Product product;
  product.text = text;
  std::size_t at = 0;
  if (text.empty()) return refuse(text, 0, "nothing");
  if (text[at] == 't') {
    product.lhs_transposed = true;
    ++at;
  }
  std::array<std::int64_t, kMostSizes> sizes{};
  std::size_t count = 0;
  while (true) {
    if (at == text.size()) return refuse(text, at, "a number is missing");
    // from_chars would take a minus sign.
    if (text[at] < '0' || text[at] > '9') {
      return refuse(text, at, fmt::format("{} where a number belongs", in_quotes(text.substr(at))));
    }
    if (count == kMostSizes) return refuse(text, at, "a fifth number");
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data() + at, end, sizes[count]);
    if (error != std::errc()) return refuse(text, at, "a number that does not fit in 64 bits");
    ++count;
    at = static_cast<std::size_t>(rest - text.data());
    if (at == text.size() || text[at] != 'x') break;
    ++at;
  }
  if (at < text.size() && text[at] == 'T') {
    product.rhs_transposed = true;
    ++at;
  }
  if (at < text.size()) {
    return refuse(text, at, fmt::format("{} after the product", in_quotes(text.substr(at))));
  }
  switch (count) {
    case 1:
      product.m = product.n = product.k = sizes[0];
      break;
    case 3:
      product.m = sizes[0], product.n = sizes[1], product.k = sizes[2];
      break;
    case 4:
      product.batch = sizes[0], product.m = sizes[1], product.n = sizes[2], product.k = sizes[3];
      break;
    default:
      return refuse(text, text.size() - 1, "two numbers");
  }
  return product;
}

DType result_type(DType in) {
  switch (in) {
    case DType::i8:
    case DType::u8:
      return DType::i32;
    case DType::f8e4m3:
    case DType::f8e5m2:
      return DType::bf16;
    default:
      return in;
  }
}

void set_types(Product& product, std::string_view type, std::string_view precision) {
  product.in = *parse_dtype(type);
  product.out = result_type(product.in);
  if (product.in == DType::f32) product.precision = *parse_precision(precision);
}

std::string product_text(const Product& product) {
  std::string text = product.lhs_transposed ? "t" : "";
  if (product.batch != 1) text += fmt::format("{}x", product.batch);
  text += fmt::format("{}x{}x{}", product.m, product.n, product.k);
  if (product.rhs_transposed) text += 'T';
  return text;
}

Result<ProductViews> views_of(const Product& product) {
  const auto lhs = matrix_view(product.in, product, product.m, product.k, product.lhs_transposed);
  const auto rhs = matrix_view(product.in, product, product.k, product.n, product.rhs_transposed);
  const auto out = matrix_view(product.out, product, product.m, product.n, false);
  for (const auto* view : {&lhs, &rhs, &out}) {
    if (!*view) return std::unexpected(view->error());
  }
  return ProductViews{*lhs, *rhs, *out};
}

}  // namespace rooftune::cli
