// The candidates of matmul on a device.
#ifndef ROOFTUNE_OPS_MATMUL_MATMUL_SET_H_
#define ROOFTUNE_OPS_MATMUL_MATMUL_SET_H_

#include "ops/matmul/gemm_args.h"
#include "ops/matmul/key.h"
#include "rooftune/tunable_set.h"

namespace rooftune {

struct Settings;

// What a product costs at least, in the arithmetic that its types and policy allow on a machine.
Work matmul_work(const GemmArgs& args, const Capabilities& machine);

// The error that the policy `high` allows on a machine: that of TF32 where there is such a unit.
double high_policy_error(const Capabilities& machine);

// Fills a set with what the device of its client can run.
void describe_matmul(TunableSet<MatmulKey, GemmArgs>& set);

// The rooms of candidates that describe_matmul chooses from.
void add_cpu_candidates(TunableSet<MatmulKey, GemmArgs>& set);
void add_cuda_candidates(TunableSet<MatmulKey, GemmArgs>& set);
void add_fake_candidates(TunableSet<MatmulKey, GemmArgs>& set);

// Other libraries (ops/matmul/rivals.h) that are installed, as the group `vendor`, where the
// settings ask for them, each on the kind of device that it works on. Adds to what describe_matmul
// has filled.
void add_vendor_candidates(TunableSet<MatmulKey, GemmArgs>& set, const Settings& settings);

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_MATMUL_SET_H_
