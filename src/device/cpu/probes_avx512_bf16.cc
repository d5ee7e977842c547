#include <immintrin.h>

#define ROOFTUNE_PROBE_NAMESPACE probe_avx512_bf16
#include "device/cpu/compute_probe-inl.h"

namespace rooftune {
namespace probe_avx512_bf16 {
namespace {

struct alignas(64) Values {
  std::uint16_t bits[32];
  constexpr explicit Values(int factor) : bits() {
    // From 1 to 2, in steps of 1/128.
    for (int i = 0; i < 32; ++i) bits[i] = static_cast<std::uint16_t>(0x3f80 + i * factor % 127);
  }
};

// Two products of bf16 for each f32 sum. All products are positive and less than 8: a sum grows
// until it no longer changes, near 2^27, and is a normal number always.
struct Steps {
  using Sum = __m512;
  static constexpr int kChains = 16;
  static constexpr double kOperations = 64;

  __m512bh a, b;

  Steps() {
    constexpr Values kA(5), kB(11);
    a = reinterpret_cast<__m512bh>(_mm512_load_si512(&kA));
    b = reinterpret_cast<__m512bh>(_mm512_load_si512(&kB));
  }
  Sum start(std::int64_t thread, int chain) const {
    return _mm512_set1_ps(static_cast<float>(1 + chain + thread));
  }
  void multiply_add(Sum& sum) { sum = _mm512_dpbf16_ps(sum, a, b); }
  void join(Sum& sum, const Sum& other) const { sum = _mm512_add_ps(sum, other); }
};

}  // namespace
}  // namespace probe_avx512_bf16

CpuProbe cpu_probe_avx512_bf16() {
  return probe_avx512_bf16::compute_probe<probe_avx512_bf16::Steps>();
}

}  // namespace rooftune
