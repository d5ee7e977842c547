// The table of CPU candidates for sum: one row each.
#ifndef ROOFTUNE_OPS_REDUCE_CPU_CANDIDATES_H_
#define ROOFTUNE_OPS_REDUCE_CPU_CANDIDATES_H_

#include <span>
#include <string_view>

#include "device/cpu/context.h"
#include "device/cpu/isa.h"
#include "ops/reduce/key.h"
#include "ops/reduce/sum_args.h"

namespace rooftune {

struct CpuSumCandidate {
  std::string_view name;
  std::string_view source;  // finds the hash of what it runs: kernel_source_hash("reduce", source)
  Isa isa;                  // needs at least this level
  CpuKernelFn f32, f64;     // take a SumArgs with at least one output and one term

  // Whether the kernel can run exactly this sum: null, or a reason (static text). Called at every
  // hit: no allocation, a few nanoseconds.
  const char* (*illegal_because)(const SumArgs& args, int threads);

  // Priority inside the group `cpu` for this key: 3 tried first ... 0 tried last, -1 never.
  int (*priority)(const SumKey& key);
};

// All rows of this build; the first is the fallback, accepts every sum and is portable. The
// highest level follows, as the untuned choice takes the first of equals.
std::span<const CpuSumCandidate> cpu_sum_candidates();

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_REDUCE_CPU_CANDIDATES_H_
