#include "ops/matmul/cpu/candidates.h"

#include <vector>

#include "ops/matmul/cpu/row.h"

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
               LevelRows{Isa::avx512, avx512_kernel_rows()},
               LevelRows{Isa::avx2, avx2_kernel_rows()},
#elif defined(__aarch64__)
               LevelRows{Isa::neon, neon_kernel_rows()},
#endif
         }) {
      for (const KernelRow* row = rows.first; row != rows.last; ++row) {
        joined.push_back(
            {row->name, row->source, isa, row->f32, row->f64, row->illegal_because, row->priority});
      }
    }
    return joined;
  }();
  return all;
}

}  // namespace rooftune
