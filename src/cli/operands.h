// Operands of a product in the memory of a device, filled with random numbers.
#ifndef ROOFTUNE_CLI_OPERANDS_H_
#define ROOFTUNE_CLI_OPERANDS_H_

#include <cstdint>
#include <vector>

#include "cli/product.h"
#include "rooftune/device.h"
#include "rooftune/error.h"

namespace rooftune::cli {

// One set of operands or several of the same shapes, apart in memory.
struct Operands {
  Buffer lhs_memory, rhs_memory, out_memory;
  std::vector<ProductViews> sets;
  const ProductViews& views() const { return sets.front(); }
};

// Numbers of roughly normal distribution and variance 1, never zero: zeros would make some kernels
// look right that are not, and some processors faster than they are. Those of f8 and of bytes take
// most of their range. Large operands repeat a million numbers, at a distance that is no multiple
// of any size people use. The output is filled with NaN. The same seed gives the same numbers. The
// memory is written through the client alone, and ready when this returns.
// Errors: invalid_argument for absurd sizes; unsupported for a type that has no generator here;
// out_of_memory, before anything is allocated when the sizes exceed what is free.
Result<Operands> make_operands(Client& client, const Product& product, std::uint64_t seed,
                               int sets = 1);

// How many sets of operands lie in memory rather than in the last-level cache when they are used in
// turn: together they are more than twice as large. Bounded by kMostSets and by a quarter of the
// memory, so small products may stay in the cache.
inline constexpr int kMostSets = 256;
int sets_beyond_cache(const Client& client, const Product& product);

// Every byte of a dense output all ones, a NaN in every floating-point type: what a kernel leaves
// out is then seen.
Status fill_nan(Client& client, Stream stream, const View& out);

// Of the three operands together.
double operand_bytes(const Product& product);

}  // namespace rooftune::cli

#endif  // ROOFTUNE_CLI_OPERANDS_H_
