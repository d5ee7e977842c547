#include <immintrin.h>

#define ROOFTUNE_PROBE_NAMESPACE probe_avx2
#include "device/cpu/compute_probe-inl.h"

namespace rooftune::probe_avx2 {
namespace {

// Bytes widened to 16 bits: products of neighbours are added in 32.
struct Int8Steps {
  using Sum = __m256i;
  static constexpr int kChains = 12;
  static constexpr double kOperations = 32;  // 2 for each 16-bit lane

  Sum a, b;

  Int8Steps() {
    constexpr Pattern kA(37, true), kB(53, true);
    a = _mm256_load_si256(reinterpret_cast<const Sum*>(&kA));
    b = _mm256_load_si256(reinterpret_cast<const Sum*>(&kB));
  }
  Sum start(std::int64_t thread, int chain) const {
    return _mm256_set1_epi32(static_cast<int>(thread) + 1000 * chain + 1);
  }
  void multiply_add(Sum& sum) {
    // The compiler may neither compute a product once for all nor move sums about.
    Sum factor = a;
    asm volatile("" : "+x"(factor));
    a = factor;
    Sum next = _mm256_add_epi32(sum, _mm256_madd_epi16(factor, b));
    asm volatile("" : "+x"(next));
    sum = next;
  }
  void join(Sum& sum, const Sum& other) const { sum = _mm256_add_epi32(sum, other); }
};

}  // namespace
}  // namespace rooftune::probe_avx2

#define ROOFTUNE_PROBE_INT8
#define ROOFTUNE_PROBE_BYTES 32
#define ROOFTUNE_PROBE_CHAINS 12
#include "device/cpu/probes-inl.h"

namespace rooftune {

CpuProbe cpu_probe_avx2(ProbeKind kind, DType dtype) { return probe_avx2::probe(kind, dtype); }

}  // namespace rooftune
