// A list of products: CSV with the header id,batch,m,n,k,in,out,layout,precision,source.
#ifndef ROOFTUNE_CLI_PRODUCT_LIST_H_
#define ROOFTUNE_CLI_PRODUCT_LIST_H_

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "cli/product.h"
#include "rooftune/error.h"

namespace rooftune::cli {

struct ListedProduct {
  std::size_t line = 0;
  std::string id, source;  // as written; for people only
  Product product;
};

struct BadLine {
  std::size_t line = 0;
  std::string text;  // "line 7: ..."
};

struct ProductList {
  std::vector<ListedProduct> products;
  std::vector<BadLine> bad;
};

// Columns may come in any order. Names of types and precisions must be known, but need not be
// supported by any device.
// Errors: invalid_argument for a header that is missing, or lacks, repeats or adds a column, and
// for text that is no CSV at all.
Result<ProductList> parse_product_list(std::string_view csv);
// Errors also: io.
Result<ProductList> read_product_list(const std::filesystem::path& file);

}  // namespace rooftune::cli

#endif  // ROOFTUNE_CLI_PRODUCT_LIST_H_
