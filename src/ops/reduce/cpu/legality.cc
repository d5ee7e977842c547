#include "ops/reduce/cpu/legality.h"

namespace rooftune {
namespace {

// Partial sums that a split may hold: 8 MiB a thread.
constexpr std::int64_t kMostSplitOutputs = 8192;

const char* split_illegal(const SumArgs& args) {
  return args.outputs > kMostSplitOutputs ? "has more outputs than are worth splitting" : nullptr;
}

}  // namespace

const char* naive_illegal(const SumArgs&, int) { return nullptr; }

const char* lanes_illegal(const SumArgs& args, int) {
  return args.keep_rank == 0 ? "has a single output" : nullptr;
}

const char* rows_illegal(const SumArgs& args, int) {
  return term_step(args) == 1 ? nullptr : "the terms of an output do not lie side by side";
}

const char* short_rows_illegal(const SumArgs& args, int threads) {
  if (const char* reason = rows_illegal(args, threads)) return reason;
  if (args.reduce_rank != 1) return "the terms of an output do not lie in one row";
  return args.terms <= kMostShortTerms ? nullptr : "has rows that are not short";
}

const char* columns_illegal(const SumArgs& args, int) {
  return output_step(args) == 1 ? nullptr
                                : "the terms of neighbouring outputs do not lie side by side";
}

const char* wrap_illegal(const SumArgs& args, int) {
  const std::int64_t outputs = output_run(args);
  if (output_step(args) != 1 || term_step(args) != outputs) {
    return "the outputs of one term do not follow those of the term before";
  }
  // Patterns repeat after outputs / gcd(outputs, width) vectors, and the kernels have patterns of
  // up to 8. The narrowest vectors have two lanes.
  const bool fits = outputs <= 8 || (outputs <= 16 && outputs % 2 == 0);
  return fits ? nullptr : "has too many outputs for a pattern of a few vectors";
}

const char* split_rows_illegal(const SumArgs& args, int threads) {
  const char* reason = rows_illegal(args, threads);
  return reason != nullptr ? reason : split_illegal(args);
}

const char* split_columns_illegal(const SumArgs& args, int threads) {
  const char* reason = columns_illegal(args, threads);
  return reason != nullptr ? reason : split_illegal(args);
}

const char* split_wrap_illegal(const SumArgs& args, int threads) {
  const char* reason = wrap_illegal(args, threads);
  return reason != nullptr ? reason : split_illegal(args);
}

}  // namespace rooftune
