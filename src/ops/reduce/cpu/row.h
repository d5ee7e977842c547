// What a kernels_<isa>.cc file says about one candidate. Apart from candidates.h because that one
// sees the key and with it the standard library, which those files must not use (see simd.h).
#ifndef ROOFTUNE_OPS_REDUCE_CPU_ROW_H_
#define ROOFTUNE_OPS_REDUCE_CPU_ROW_H_

#include "device/cpu/context.h"
#include "ops/reduce/cpu/legality.h"
#include "ops/reduce/cpu/priority.h"

namespace rooftune {

struct SumKernelRow {
  const char* name;    // technique_isa; "4v" is four vectors of the level
  const char* source;  // the kernel's file without "-inl.h"
  CpuKernelFn f32, f64;
  const char* (*illegal_because)(const SumArgs& args, int threads);
  int (*priority)(const SumKey& key);
};

struct SumKernelRows {
  const SumKernelRow* first;
  const SumKernelRow* last;  // behind the final row
};

// Data, not functions: what the other levels compile is never called to find out what there is.
extern const SumKernelRows kPortableSumRows;
extern const SumKernelRows kNeonSumRows;
extern const SumKernelRows kAvx2SumRows;
extern const SumKernelRows kAvx512SumRows;

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_REDUCE_CPU_ROW_H_
