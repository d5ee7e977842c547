// The check of what a call has written into its own output (autotune.mode = "online").
#ifndef ROOFTUNE_OPS_MATMUL_RESULT_CHECK_H_
#define ROOFTUNE_OPS_MATMUL_RESULT_CHECK_H_

#include <cstdint>
#include <memory>

#include "ops/matmul/gemm_args.h"
#include "ops/matmul/matrix_passes.h"
#include "rooftune/tunable_set.h"

namespace rooftune {

// Reads the operands now, through passes on the stream. Where the output is read as well (beta is
// not 0) it is kept, for restore(); where it is not, it is overwritten by what no product is, since
// the right result of an earlier call may lie there. What lies between the rows of the output is
// somebody else's, who may be writing there: it is neither changed nor looked at.
// Errors: out_of_memory, also for more than `most_bytes`; those of the passes.
Result<std::unique_ptr<ResultCheck>> make_matmul_result_check(Client& client, const GemmArgs& args,
                                                              Stream stream,
                                                              std::uint64_t most_bytes,
                                                              std::unique_ptr<MatrixPasses> passes);

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_RESULT_CHECK_H_
