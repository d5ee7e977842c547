// What a kernels_<isa>.cc file says about one candidate. Apart from candidates.h because that one
// sees the key and with it the standard library, which those files must not use (see simd.h).
#ifndef ROOFTUNE_OPS_MATMUL_CPU_ROW_H_
#define ROOFTUNE_OPS_MATMUL_CPU_ROW_H_

#include "device/cpu/context.h"
#include "ops/matmul/cpu/legality.h"
#include "ops/matmul/cpu/priority.h"

namespace rooftune {

struct KernelRow {
  const char* name;    // technique_isa_tile; "2v" is two vectors of the level
  const char* source;  // the kernel's file without "-inl.h"
  CpuKernelFn f32, f64;
  const char* (*illegal_because)(const GemmArgs& args, int threads);
  int (*priority)(const MatmulKey& key);
};

struct KernelRows {
  const KernelRow* first;
  const KernelRow* last;  // behind the final row
};

KernelRows portable_kernel_rows();
KernelRows neon_kernel_rows();
KernelRows avx2_kernel_rows();
KernelRows avx512_kernel_rows();

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CPU_ROW_H_
