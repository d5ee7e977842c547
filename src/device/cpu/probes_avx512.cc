#include <immintrin.h>

#define ROOFTUNE_PROBE_NAMESPACE probe_avx512
#include "device/cpu/compute_probe-inl.h"

namespace rooftune::probe_avx512 {
namespace {

// Bytes widened to 16 bits: products of neighbours are added in 32.
struct Int8Steps {
  using Sum = __m512i;
  static constexpr int kChains = 16;
  static constexpr double kOperations = 64;  // 2 for each 16-bit lane

  Sum a, b;

  Int8Steps() {
    constexpr Pattern kA(37, true), kB(53, true);
    a = _mm512_load_si512(reinterpret_cast<const Sum*>(&kA));
    b = _mm512_load_si512(reinterpret_cast<const Sum*>(&kB));
  }
  Sum start(std::int64_t thread, int chain) const {
    return _mm512_set1_epi32(static_cast<int>(thread) + 1000 * chain + 1);
  }
  void multiply_add(Sum& sum) {
    // The compiler may neither compute a product once for all nor move sums about.
    Sum factor = a;
    asm volatile("" : "+v"(factor));
    a = factor;
    Sum next = _mm512_add_epi32(sum, _mm512_madd_epi16(factor, b));
    asm volatile("" : "+v"(next));
    sum = next;
  }
  void join(Sum& sum, const Sum& other) const { sum = _mm512_add_epi32(sum, other); }
};

}  // namespace
}  // namespace rooftune::probe_avx512

#define ROOFTUNE_PROBE_INT8
#define ROOFTUNE_PROBE_BYTES 64
#define ROOFTUNE_PROBE_CHAINS 16
#include "device/cpu/probes-inl.h"

namespace rooftune {

CpuProbe cpu_probe_avx512(ProbeKind kind, DType dtype) { return probe_avx512::probe(kind, dtype); }

}  // namespace rooftune
