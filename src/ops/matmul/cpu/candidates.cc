#include "ops/matmul/cpu/candidates.h"

#include <vector>

#include "ops/matmul/cpu/panels.h"

namespace rooftune {
namespace {

// A kernel that reads panels reads those of one format.
const char* illegal_rhs(const CpuMatmulCandidate& row, const GemmArgs& args) {
  if (row.rhs == RhsForm::either) return nullptr;
  if (row.rhs == RhsForm::plain) return args.packed == nullptr ? nullptr : "rhs is packed";
  if (args.packed == nullptr) return "rhs is not packed";
  const auto format = panel_format(row.isa, args.family);
  return format && *format == args.packed->format ? nullptr : "rhs is packed in another format";
}

}  // namespace

const char* illegal_because(const CpuMatmulCandidate& row, const GemmArgs& args, int threads) {
  if (row.kernels.of(args.family) == nullptr) return "has no kernel for this type";
  if (row.gives > args.precision) return "is not as exact as the precision asked for";
  if (const char* reason = illegal_rhs(row, args)) return reason;
  return row.illegal_because != nullptr ? row.illegal_because(args, threads) : nullptr;
}

std::span<const CpuMatmulCandidate> cpu_matmul_candidates() {
  static const std::vector<CpuMatmulCandidate> all = [] {
    struct LevelRows {
      Isa isa;
      KernelRows rows;
    };
    std::vector<CpuMatmulCandidate> joined;
    for (const auto& [isa, rows] : {
           LevelRows{Isa::portable, portable_kernel_rows()},
#if defined(__x86_64__)
               LevelRows{Isa::amx, amx_kernel_rows()},
               LevelRows{Isa::avx512_bf16, avx512_bf16_kernel_rows()},
               LevelRows{Isa::avx512_vnni, avx512_vnni_kernel_rows()},
               LevelRows{Isa::avx512, avx512_kernel_rows()},
               LevelRows{Isa::avx512, avx512_half_kernel_rows()},
               LevelRows{Isa::avx2, avx2_kernel_rows()},
#elif defined(__aarch64__)
               LevelRows{Isa::neon, neon_kernel_rows()},
#endif
         }) {
      for (const KernelRow* row = rows.first; row != rows.last; ++row) {
        joined.push_back({row->name, row->source, isa, row->kernels, row->illegal_because,
                          row->priority, row->gives, row->rhs});
      }
    }
    return joined;
  }();
  return all;
}

}  // namespace rooftune
