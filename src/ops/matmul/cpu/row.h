// What a kernels_<isa>.cc file says about one candidate. Apart from candidates.h because that one
// sees the key and with it the standard library, which those files must not use (see simd.h).
#ifndef ROOFTUNE_OPS_MATMUL_CPU_ROW_H_
#define ROOFTUNE_OPS_MATMUL_CPU_ROW_H_

#include "device/cpu/context.h"
#include "ops/matmul/cpu/legality.h"
#include "ops/matmul/cpu/priority.h"

namespace rooftune {

// One entry point for each family of types; null for those that the kernel has none for.
struct KernelsByType {
  CpuKernelFn f32 = nullptr, f64 = nullptr, bf16 = nullptr, f16 = nullptr, int8 = nullptr;

  constexpr CpuKernelFn of(TypeFamily family) const {
    const CpuKernelFn all[] = {f32, f64, bf16, f16, int8, nullptr};  // no f8
    return all[static_cast<int>(family)];
  }
};

// How a kernel takes the right operand.
enum class RhsForm : std::uint8_t {
  plain,   // where it lies
  panels,  // packed before, in the format of the row's level (panels.h)
  either,
};

struct KernelRow {
  const char* name;    // technique_isa_tile; "2v" is two vectors of the level
  const char* source;  // the kernel's file without "-inl.h"
  KernelsByType kernels;
  const char* (*illegal_because)(const GemmArgs& args, int threads);
  int (*priority)(const MatmulKey& key);
  Precision gives = Precision::highest;  // for f32; legal where no more is asked for
  RhsForm rhs = RhsForm::plain;
};

struct KernelRows {
  const KernelRow* first;
  const KernelRow* last;  // behind the final row
};

KernelRows portable_kernel_rows();
KernelRows neon_kernel_rows();
KernelRows avx2_kernel_rows();
KernelRows avx512_kernel_rows();
KernelRows avx512_half_kernel_rows();
KernelRows avx512_vnni_kernel_rows();
KernelRows avx512_bf16_kernel_rows();
KernelRows amx_kernel_rows();

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CPU_ROW_H_
