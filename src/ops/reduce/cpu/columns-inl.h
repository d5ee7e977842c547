// A few vectors of neighbouring outputs at a time, which walk down their terms in registers: for
// outputs whose terms lie side by side.
#ifndef ROOFTUNE_OPS_REDUCE_CPU_COLUMNS_INL_H_
#define ROOFTUNE_OPS_REDUCE_CPU_COLUMNS_INL_H_

#include "ops/reduce/cpu/column_sum.h"

namespace rooftune {
namespace {

template <class S>
KernelOutcome columns(const void* args, CpuContext& context) {
  return whole<ByColumns<S>>(args, context);
}

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_REDUCE_CPU_COLUMNS_INL_H_
