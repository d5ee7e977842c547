// A product as the user writes it: sizes, which operands are transposed, types.
//
//   N          square: N x N x N
//   MxNxK      [m, k] x [k, n]
//   BxMxNxK    a batch of B such products
//   t...       the left operand is a transposed view:  t1024
//   ...T       the right operand is one:               1024T
#ifndef ROOFTUNE_CLI_PRODUCT_H_
#define ROOFTUNE_CLI_PRODUCT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "rooftune/dtype.h"
#include "rooftune/error.h"
#include "rooftune/settings.h"
#include "rooftune/tensor.h"

namespace rooftune::cli {

struct Product {
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
  bool lhs_transposed = false, rhs_transposed = false;
  DType in = DType::f32, out = DType::f32;
  Precision precision = Precision::highest;
  std::string text;  // as it was written

  bool square() const { return batch == 1 && m == n && n == k; }
};

// Errors: invalid_argument, with the position of the fault.
Result<Product> parse_product(std::string_view text);

// The type of the result where only one type is named: its own, i32 for bytes, bf16 for f8.
DType result_type(DType in);

// Types and precision as the options --type and --precision name them, which were checked; the
// precision counts for f32 only, as everywhere else.
void set_types(Product& product, std::string_view type, std::string_view precision);

// The text that parse_product reads back: "1024x768x512T", "8x64x64x64"; never the short square
// form, so that lists line up.
std::string product_text(const Product& product);

// The layouts of a product in memory: dense, a transposed operand stored as its transpose. The
// views have no data.
struct ProductViews {
  ConstView lhs, rhs;
  View out;
};
// Errors: invalid_argument for sizes that no memory could hold.
Result<ProductViews> views_of(const Product& product);

}  // namespace rooftune::cli

#endif  // ROOFTUNE_CLI_PRODUCT_H_
