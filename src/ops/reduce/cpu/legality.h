// Which sums a technique can do: null, or the reason why not.
#ifndef ROOFTUNE_OPS_REDUCE_CPU_LEGALITY_H_
#define ROOFTUNE_OPS_REDUCE_CPU_LEGALITY_H_

#include <cstdint>

#include "ops/reduce/sum_args.h"

namespace rooftune {

// What counts as short: up to here a chain of additions needs no blocks.
inline constexpr std::int64_t kMostShortTerms = 128;

const char* naive_illegal(const SumArgs& args, int threads);
const char* lanes_illegal(const SumArgs& args, int threads);
const char* rows_illegal(const SumArgs& args, int threads);
const char* short_rows_illegal(const SumArgs& args, int threads);
const char* columns_illegal(const SumArgs& args, int threads);
const char* wrap_illegal(const SumArgs& args, int threads);
const char* split_rows_illegal(const SumArgs& args, int threads);
const char* split_columns_illegal(const SumArgs& args, int threads);
const char* split_wrap_illegal(const SumArgs& args, int threads);

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_REDUCE_CPU_LEGALITY_H_
