#include "ops/reduce/cpu/candidates.h"

#include <algorithm>
#include <vector>

#include "ops/reduce/cpu/row.h"

namespace rooftune {
namespace {

std::vector<CpuSumCandidate> join_rows() {
  std::vector<CpuSumCandidate> all;
  const auto append = [&](Isa isa, const SumKernelRows& rows) {
    for (const SumKernelRow* row = rows.first; row != rows.last; ++row) {
      all.push_back(
          {row->name, row->source, isa, row->f32, row->f64, row->illegal_because, row->priority});
    }
  };
  append(Isa::portable, kPortableSumRows);
#ifdef __x86_64__
  append(Isa::avx2, kAvx2SumRows);
  append(Isa::avx512, kAvx512SumRows);
#elif defined(__aarch64__)
  append(Isa::neon, kNeonSumRows);
#endif
  // The fallback stays in front.
  std::stable_sort(all.begin() + 1, all.end(), [](const auto& a, const auto& b) {
    return static_cast<int>(a.isa) > static_cast<int>(b.isa);
  });
  return all;
}

}  // namespace

std::span<const CpuSumCandidate> cpu_sum_candidates() {
  static const std::vector<CpuSumCandidate> all = join_rows();
  return all;
}

}  // namespace rooftune
