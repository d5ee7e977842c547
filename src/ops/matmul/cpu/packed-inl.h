// The packed product on the plain vector units.
#ifndef ROOFTUNE_OPS_MATMUL_CPU_PACKED_INL_H_
#define ROOFTUNE_OPS_MATMUL_CPU_PACKED_INL_H_

#include "ops/matmul/cpu/packed.h"

namespace rooftune {
namespace {

template <class S, int kRows, int kVectors, Blocking kBlocking, class E = typename S::Element>
KernelOutcome packed(const void* raw, CpuContext& context) {
  const GemmArgs& args = *static_cast<const GemmArgs*>(raw);
  return with_output_type<E>(args, [&]<class Out>() {
    return run_packed<VectorMicro<S, E, kRows, kVectors>, Out>(args, kBlocking, context);
  });
}

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CPU_PACKED_INL_H_
