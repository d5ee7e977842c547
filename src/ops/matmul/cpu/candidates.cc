#include "ops/matmul/cpu/candidates.h"

#include <vector>

namespace rooftune {

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
                          row->priority, row->gives});
      }
    }
    return joined;
  }();
  return all;
}

}  // namespace rooftune
