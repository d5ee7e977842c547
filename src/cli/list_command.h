// What the commands that work through a list have in common.
#ifndef ROOFTUNE_CLI_LIST_COMMAND_H_
#define ROOFTUNE_CLI_LIST_COMMAND_H_

#include <cstddef>
#include <string>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/product_list.h"
#include "rooftune/decision.h"

namespace rooftune::cli {

// How the products of a list fared.
struct Tally {
  std::size_t done = 0, skipped = 0, failed = 0, bad_lines = 0;
  std::size_t not_reached = 0;  // Ctrl-C

  // A list that was worked through with everything right. Skipping what the device does not have
  // is right.
  Exit exit() const { return failed + bad_lines + not_reached == 0 ? Exit::done : Exit::failed; }
};

// ", 2 skipped, 1 failed": those that are not zero.
std::string exceptions_text(const Tally& tally);

// Reads the list and says on standard error what is wrong with it. Fails as wrong usage when it
// cannot be read, has a bad header, or has a bad line and --keep-going was not given.
Outcome<ProductList> open_list(const ListOptions& options);

// "f32", or "bf16>f32" when input and output differ.
std::string type_text(const Product& product);

// What several searches cost together, apart from the scratch memory, which is not held at once.
void add(Cost& sum, const Cost& cost);
Json cost_json(const Cost& cost);
std::string cost_text(const Cost& cost);  // "probes 150 ms, compiling ...; 433 launches"

// The widest product text, for a column that is printed row by row.
std::size_t product_width(const ProductList& list);

}  // namespace rooftune::cli

#endif  // ROOFTUNE_CLI_LIST_COMMAND_H_
