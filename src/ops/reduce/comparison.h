// What a candidate wrote against what the sums should be.
#ifndef ROOFTUNE_OPS_REDUCE_COMPARISON_H_
#define ROOFTUNE_OPS_REDUCE_COMPARISON_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "ops/reduce/reference.h"
#include "ops/reduce/sum_args.h"
#include "rooftune/tunable_set.h"

namespace rooftune {

// A quiet NaN with a payload that no arithmetic makes: outputs that hold it were not written.
std::span<const std::byte> sum_poison(DType dtype);
std::int64_t count_sum_poison(DType dtype, const std::byte* elements, std::int64_t count);

struct SumComparison {
  Check check;               // all but `contained`
  std::int64_t written = 0;  // outputs without poison
};
// `out` stands for args.out, in memory that the host can read; elements may be misaligned there.
SumComparison compare_sums(const SumArgs& args, const SumReference& reference,
                           const std::byte* out);

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_REDUCE_COMPARISON_H_
