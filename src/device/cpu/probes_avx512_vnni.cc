#include <immintrin.h>

#define ROOFTUNE_PROBE_NAMESPACE probe_avx512_vnni
#include "device/cpu/compute_probe-inl.h"

namespace rooftune {
namespace probe_avx512_vnni {
namespace {

// Four products of an unsigned and a signed byte for each 32-bit sum.
struct Steps {
  using Sum = __m512i;
  static constexpr int kChains = 16;
  static constexpr double kOperations = 128;

  Sum a, b;

  Steps() {
    constexpr Pattern kA(37, false), kB(53, false);
    a = _mm512_load_si512(&kA);
    b = _mm512_load_si512(&kB);
  }
  Sum start(std::int64_t thread, int chain) const {
    return _mm512_set1_epi32(static_cast<int>(thread) + 1000 * chain + 1);
  }
  void multiply_add(Sum& sum) { sum = _mm512_dpbusd_epi32(sum, a, b); }
  void join(Sum& sum, const Sum& other) const { sum = _mm512_add_epi32(sum, other); }
};

}  // namespace
}  // namespace probe_avx512_vnni

CpuProbe cpu_probe_avx512_vnni() {
  return probe_avx512_vnni::compute_probe<probe_avx512_vnni::Steps>();
}

}  // namespace rooftune
