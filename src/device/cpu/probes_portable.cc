#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#define ROOFTUNE_PROBE_NAMESPACE probe_portable
#include "device/cpu/compute_probe-inl.h"

#if defined(__SSE2__)
#define ROOFTUNE_PROBE_INT8
namespace rooftune::probe_portable {
namespace {

// Bytes widened to 16 bits: products of neighbours are added in 32.
struct Int8Steps {
  using Sum = __m128i;
  static constexpr int kChains = 12;
  static constexpr double kOperations = 16;  // 2 for each 16-bit lane

  Sum a, b;

  Int8Steps() {
    constexpr Pattern kA(37, true), kB(53, true);
    a = _mm_load_si128(reinterpret_cast<const Sum*>(&kA));
    b = _mm_load_si128(reinterpret_cast<const Sum*>(&kB));
  }
  Sum start(std::int64_t thread, int chain) const {
    return _mm_set1_epi32(static_cast<int>(thread) + 1000 * chain + 1);
  }
  void multiply_add(Sum& sum) {
    // The compiler may neither compute a product once for all nor move sums about.
    Sum factor = a;
    asm volatile("" : "+x"(factor));
    a = factor;
    Sum next = _mm_add_epi32(sum, _mm_madd_epi16(factor, b));
    asm volatile("" : "+x"(next));
    sum = next;
  }
  void join(Sum& sum, const Sum& other) const { sum = _mm_add_epi32(sum, other); }
};

}  // namespace
}  // namespace rooftune::probe_portable
#elif defined(__aarch64__)
#define ROOFTUNE_PROBE_INT8
namespace rooftune::probe_portable {
namespace {

// Eight products of bytes, exact in 16 bits; neighbours are added in 32.
struct Int8Steps {
  using Sum = int32x4_t;
  static constexpr int kChains = 8;  // the sums alone wait for each other
  static constexpr double kOperations = 16;

  int8x8_t a, b;

  Int8Steps() {
    constexpr Pattern kA(37, false), kB(53, false);
    a = vld1_s8(kA.bytes);
    b = vld1_s8(kB.bytes);
  }
  Sum start(std::int64_t thread, int chain) const {
    return vdupq_n_s32(static_cast<int>(thread) + 1000 * chain + 1);
  }
  void multiply_add(Sum& sum) {
    asm volatile("" : "+w"(a));  // or the product would be computed once
    sum = vpadalq_s16(sum, vmull_s8(a, b));
  }
  void join(Sum& sum, const Sum& other) const { sum = vaddq_s32(sum, other); }
};

}  // namespace
}  // namespace rooftune::probe_portable
#endif

#define ROOFTUNE_PROBE_BYTES 16
#define ROOFTUNE_PROBE_CHAINS 12
#include "device/cpu/probes-inl.h"

namespace rooftune {

CpuProbe cpu_probe_portable(ProbeKind kind, DType dtype) {
  return probe_portable::probe(kind, dtype);
}

}  // namespace rooftune
