// Which sums a technique can do: null, or the reason why not.
#ifndef ROOFTUNE_OPS_REDUCE_CPU_LEGALITY_H_
#define ROOFTUNE_OPS_REDUCE_CPU_LEGALITY_H_

#include "ops/reduce/sum_args.h"

namespace rooftune {

const char* naive_illegal(const SumArgs& args, int threads);
const char* lanes_illegal(const SumArgs& args, int threads);
const char* rows_illegal(const SumArgs& args, int threads);
const char* columns_illegal(const SumArgs& args, int threads);
const char* wrap_illegal(const SumArgs& args, int threads);
const char* split_rows_illegal(const SumArgs& args, int threads);
const char* split_columns_illegal(const SumArgs& args, int threads);
const char* split_wrap_illegal(const SumArgs& args, int threads);

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_REDUCE_CPU_LEGALITY_H_
