// One output after another, each from vectors of its own terms: for terms that lie side by side.
#ifndef ROOFTUNE_OPS_REDUCE_CPU_ROWS_INL_H_
#define ROOFTUNE_OPS_REDUCE_CPU_ROWS_INL_H_

#include "ops/reduce/cpu/row_sum.h"

namespace rooftune {
namespace {

template <class S, int kVectors>
KernelOutcome rows(const void* args, CpuContext& context) {
  return whole<ByRows<S, kVectors>>(args, context);
}

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_REDUCE_CPU_ROWS_INL_H_
