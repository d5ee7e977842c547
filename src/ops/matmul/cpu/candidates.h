// The table of CPU candidates for matmul: one row each.
#ifndef ROOFTUNE_OPS_MATMUL_CPU_CANDIDATES_H_
#define ROOFTUNE_OPS_MATMUL_CPU_CANDIDATES_H_

#include <span>
#include <string_view>

#include "device/cpu/context.h"
#include "device/cpu/isa.h"
#include "ops/matmul/cpu/row.h"
#include "ops/matmul/gemm_args.h"
#include "ops/matmul/key.h"

namespace rooftune {

struct CpuMatmulCandidate {
  std::string_view name;    // technique_isa_tile; "2v" in a tile means two vectors of the level
  std::string_view source;  // the kernel's file without "-inl.h": finds the hash of what it runs
  Isa isa;                  // needs this level
  KernelsByType kernels;

  // Whether the kernel can run exactly this problem: null, or a reason (static text). Called at
  // every hit: no allocation, a few nanoseconds.
  const char* (*illegal_because)(const GemmArgs& args, int threads);

  // Priority inside the group `cpu` for this key: 3 tried first ... 0 tried last, -1 never.
  // The table of candidates lowers rows of a level below the machine's to 0.
  int (*priority)(const MatmulKey& key);

  Precision gives;  // for f32: illegal where a policy asks for more
  RhsForm rhs;
};

// Whether a row can run exactly this problem, everything considered: null, or a reason.
const char* illegal_because(const CpuMatmulCandidate& row, const GemmArgs& args, int threads);

// All rows of this build; the first is the fallback, accepts every problem and is portable.
std::span<const CpuMatmulCandidate> cpu_matmul_candidates();

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CPU_CANDIDATES_H_
