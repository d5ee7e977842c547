// Inputs for measuring a product: the caller's operands, and a scratch output of the same layout.
#ifndef ROOFTUNE_OPS_MATMUL_TRIAL_H_
#define ROOFTUNE_OPS_MATMUL_TRIAL_H_

#include <cstdint>
#include <memory>

#include "ops/matmul/gemm_args.h"
#include "ops/matmul/trial_memory.h"
#include "rooftune/tunable_set.h"

namespace rooftune {

// `memory` is that of the client's device. Operands that cannot tell right from wrong (zeros,
// constants, NaN, Inf, values near overflow) are replaced by random ones of the same layout.
// Errors: out_of_memory, also when the operands that are made would take more than `most_bytes`: an
// output with far strides reaches over any amount of memory.
Result<std::unique_ptr<Trial<GemmArgs>>> make_matmul_trial(Client& client, const GemmArgs& args,
                                                           Stream stream, std::uint64_t most_bytes,
                                                           std::unique_ptr<TrialMemory> memory);

// The same with random operands, whatever the caller's hold: those may be gone. Errors: unsupported
// for a packed operand, whose description is the caller's too.
Result<std::unique_ptr<Trial<GemmArgs>>> make_matmul_rehearsal(Client& client, const GemmArgs& args,
                                                               Stream stream,
                                                               std::uint64_t most_bytes,
                                                               std::unique_ptr<TrialMemory> memory);

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_TRIAL_H_
