// The candidates of sum on a device.
#ifndef ROOFTUNE_OPS_REDUCE_SUM_SET_H_
#define ROOFTUNE_OPS_REDUCE_SUM_SET_H_

#include "ops/reduce/key.h"
#include "ops/reduce/sum_args.h"
#include "rooftune/tunable_set.h"

namespace rooftune {

// Fills a set with what the device of its client can run, inputs for measuring, and the bound. The
// client must outlive the set. Sums without outputs or without terms are not for the set.
void describe_sum(TunableSet<SumKey, SumArgs>& set);

// The rooms of candidates that describe_sum chooses from. Of the CPU: those that the device's
// instruction set allows (its features "isa:..."), in the group `cpu`.
void add_cpu_candidates(TunableSet<SumKey, SumArgs>& set);
void add_cuda_candidates(TunableSet<SumKey, SumArgs>& set);
void add_fake_candidates(TunableSet<SumKey, SumArgs>& set);

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_REDUCE_SUM_SET_H_
