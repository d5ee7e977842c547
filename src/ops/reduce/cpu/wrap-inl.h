// Few interleaved outputs, read as one stream: see wrap_sum.h.
#ifndef ROOFTUNE_OPS_REDUCE_CPU_WRAP_INL_H_
#define ROOFTUNE_OPS_REDUCE_CPU_WRAP_INL_H_

#include "ops/reduce/cpu/wrap_sum.h"

namespace rooftune {
namespace {

template <class S>
KernelOutcome wrap(const void* args, CpuContext& context) {
  return whole<ByWraps<S>>(args, context);
}

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_REDUCE_CPU_WRAP_INL_H_
