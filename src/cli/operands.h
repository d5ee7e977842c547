// Operands of a product in the memory of a device, filled with random numbers.
#ifndef ROOFTUNE_CLI_OPERANDS_H_
#define ROOFTUNE_CLI_OPERANDS_H_

#include <cstdint>

#include "cli/product.h"
#include "rooftune/device.h"
#include "rooftune/error.h"

namespace rooftune::cli {

struct Operands {
  Buffer lhs_memory, rhs_memory, out_memory;
  ProductViews views;
};

// Numbers of roughly normal distribution and variance 1, never zero: zeros would make some kernels
// look right that are not, and some processors faster than they are. The output is filled with
// NaN. The same seed gives the same numbers.
// Errors: invalid_argument for absurd sizes; unsupported for a type that has no generator here;
// out_of_memory, before anything is allocated when the sizes exceed what is free.
Result<Operands> make_operands(Client& client, const Product& product, std::uint64_t seed);

// Every byte of a dense output all ones, a NaN in every floating-point type: what a kernel leaves
// out is then seen.
Status fill_nan(Client& client, const View& out);

// Of the three operands together.
double operand_bytes(const Product& product);

}  // namespace rooftune::cli

#endif  // ROOFTUNE_CLI_OPERANDS_H_
