// The check of what a call has written into its own output (autotune.mode = "online").
#ifndef ROOFTUNE_OPS_REDUCE_RESULT_CHECK_H_
#define ROOFTUNE_OPS_REDUCE_RESULT_CHECK_H_

#include <cstdint>
#include <memory>

#include "ops/reduce/sum_args.h"
#include "rooftune/device.h"
#include "rooftune/tunable_set.h"

namespace rooftune {

// Adds the input up now, element by element, and overwrites the output with what no sum is, since
// the right result of an earlier call may lie there. What lies between the elements of the output
// is not changed. Errors: out_of_memory, also for more than `most_bytes` on the host; those of the
// client.
Result<std::unique_ptr<ResultCheck>> make_sum_result_check(Client& client, const SumArgs& args,
                                                           Stream stream, std::uint64_t most_bytes);

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_REDUCE_RESULT_CHECK_H_
