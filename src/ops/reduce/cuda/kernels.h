// The kernels of sum on a CUDA device.
#ifndef ROOFTUNE_OPS_REDUCE_CUDA_KERNELS_H_
#define ROOFTUNE_OPS_REDUCE_CUDA_KERNELS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "ops/matmul/cuda/kernels.h"
#include "ops/reduce/cuda/launch_args.h"
#include "ops/reduce/key.h"
#include "ops/reduce/sum_args.h"
#include "rooftune/error.h"
#include "rooftune/function_ref.h"

namespace rooftune {

// One way to share a sum out over threads; see cuda/sum.cu.
struct CudaSumRow {
  std::string_view name;
  int outputs, terms;  // threads of a block over each
  bool lanes_on_outputs;
  bool split;  // the terms of an output over several blocks
  // Priority in the group `cuda` for a key: 3 tried first ... 0 tried last.
  int (*priority)(const SumKey& key);
};

// The first is the fallback. Each takes every sum.
std::span<const CudaSumRow> cuda_sum_rows();

// Whether the operands lie at multiples of their size: with the type, what kernels are specialised
// by.
bool is_aligned(const SumArgs& args);

// What a row runs for a sum, in its order.
std::vector<CudaKernelPlan> plans_of(const CudaSumRow& row, const SumArgs& args);
// Every plan that there is, with those of the check: the tests compile them all.
std::vector<CudaKernelPlan> all_cuda_sum_plans();

// A launch of some kernel over all of a sum; the terms of an output are in one chunk.
SumLaunchArgs launch_args(const SumArgs& args);
// Cuts the terms into as many chunks as make `blocks` of work with what there is already, none
// shorter than `least` terms.
void cut_into_chunks(SumLaunchArgs& args, std::int64_t work, std::int64_t blocks,
                     std::int64_t least);

// Calls visit(output, part) for all chunks of all outputs, with sums that no candidate made.
// Errors: those of the client and the compiler.
Status check_sums_on_device(Client& client, Stream stream, const SumArgs& args,
                            FunctionRef<void(std::int64_t, const CheckedSumPart&)> visit);

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_REDUCE_CUDA_KERNELS_H_
