// The candidates of matmul on a device.
#ifndef ROOFTUNE_OPS_MATMUL_MATMUL_SET_H_
#define ROOFTUNE_OPS_MATMUL_MATMUL_SET_H_

#include "ops/matmul/cpu/gemm_args.h"
#include "ops/matmul/key.h"
#include "rooftune/tunable_set.h"

namespace rooftune {

// What a product costs at least, in the arithmetic that its types and policy allow on a machine.
Work matmul_work(const GemmArgs& args, const Capabilities& machine);

// Fills a set with what the device of its client can run.
void describe_matmul(TunableSet<MatmulKey, GemmArgs>& set);

// The rooms of candidates that describe_matmul chooses from.
void add_cpu_candidates(TunableSet<MatmulKey, GemmArgs>& set);
void add_fake_candidates(TunableSet<MatmulKey, GemmArgs>& set);

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_MATMUL_SET_H_
