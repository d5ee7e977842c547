// One checked sum: axes resolved, operands in the normal form of SumArgs.
#ifndef ROOFTUNE_OPS_REDUCE_PROBLEM_H_
#define ROOFTUNE_OPS_REDUCE_PROBLEM_H_

#include <span>

#include "ops/reduce/sum_args.h"
#include "rooftune/error.h"
#include "rooftune/tensor.h"

namespace rooftune {

// Checks axes, shapes, types and overlap, and brings the operands into normal form. `outputs` or
// `terms` is 0 when there is nothing to write or nothing to add; pointers may then be null where
// nothing is read or written.
// Errors: invalid_argument (axes, layouts, null pointers), shape_mismatch, unsupported (types),
// overlap; each with the shapes in the text.
Result<SumArgs> make_sum_args(const ConstView& in, const View& out, std::span<const int> axes);

// Distinct elements of the input: a broadcast one counts once.
double sum_inputs(const SumArgs& args);

// Additions, counting the one to zero, and unavoidable bytes: every distinct element of the input
// once plus the output once. In double: no size overflows.
double sum_ops(const SumArgs& args);
double sum_bytes(const SumArgs& args);

// The largest difference of a right result from the exact sum, relative to the sum of the terms'
// absolute values: what ops/reduce/cpu/pairwise.h promises, plus the final rounding.
double sum_error_bound(const SumArgs& args);

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_REDUCE_PROBLEM_H_
