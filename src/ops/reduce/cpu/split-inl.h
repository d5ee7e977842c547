// Long sums cut into one stretch a thread: for outputs that are too few to share out.
#ifndef ROOFTUNE_OPS_REDUCE_CPU_SPLIT_INL_H_
#define ROOFTUNE_OPS_REDUCE_CPU_SPLIT_INL_H_

#include "ops/reduce/cpu/column_sum.h"
#include "ops/reduce/cpu/row_sum.h"
#include "ops/reduce/cpu/wrap_sum.h"

namespace rooftune {
namespace {

template <class S, int kVectors>
KernelOutcome split_rows(const void* args, CpuContext& context) {
  return split<ByRows<S, kVectors>>(args, context);
}

template <class S>
KernelOutcome split_columns(const void* args, CpuContext& context) {
  return split<ByColumns<S>>(args, context);
}

template <class S>
KernelOutcome split_wrap(const void* args, CpuContext& context) {
  return split<ByWraps<S>>(args, context);
}

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_REDUCE_CPU_SPLIT_INL_H_
