// The loop of a compute probe, compiled once per instruction set: the includer defines
// ROOFTUNE_PROBE_NAMESPACE. Every name here lives in that namespace, so that no code for a newer
// processor is ever shared with a level below.
#ifndef ROOFTUNE_DEVICE_CPU_COMPUTE_PROBE_INL_H_
#define ROOFTUNE_DEVICE_CPU_COMPUTE_PROBE_INL_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "device/cpu/probes.h"

namespace rooftune::ROOFTUNE_PROBE_NAMESPACE {
namespace {

// Steps of a chain in one repeat: long enough that starting the loop costs nothing.
constexpr int kSteps = 512;

// The rate of multiply-adds between registers: kChains independent sums hide their latency.
// `Steps` is one thread's operands: `multiply_add` adds kOperations / 2 products to a sum, `start`
// gives each chain another value, so that none is computed twice, and `join` makes all count.
template <class Steps>
KernelOutcome compute(const void* args, CpuContext& context) {
  const auto& probe = *static_cast<const ProbeArgs*>(args);
  context.parallel_for(context.threads(), [&](std::int64_t index, int) {
    constexpr int kChains = Steps::kChains;
    Steps steps;
    typename Steps::Sum sum[kChains];
    for (int c = 0; c < kChains; ++c) sum[c] = steps.start(index, c);
    for (std::uint64_t r = 0; r < probe.repeats; ++r) {
      for (int step = 0; step < kSteps; ++step) {
#pragma GCC unroll 32
        for (int c = 0; c < kChains; ++c) steps.multiply_add(sum[c]);
      }
    }
    for (int c = 1; c < kChains; ++c) steps.join(sum[0], sum[c]);
    static_assert(sizeof sum[0] <= 64);
    std::memcpy(static_cast<std::byte*>(probe.sink) + 64 * index, &sum[0], sizeof sum[0]);
  });
  return KernelOutcome::done;
}

template <class Steps>
CpuProbe compute_probe() {
  return {compute<Steps>, kSteps * Steps::kChains * Steps::kOperations};
}

// Operands of the integer probes: numbers of either sign, no two neighbours alike, and none zero,
// because processors save power on zeros.
struct alignas(64) Pattern {
  std::int8_t bytes[64];
  constexpr Pattern(int factor, bool widened) : bytes() {
    for (int i = 0; i < 64; ++i) {
      const int value = (i * factor + 11) % 127 - 63;
      bytes[i] = static_cast<std::int8_t>(value == 0 ? 64 : value);
      // As 16-bit numbers: the upper byte repeats the sign of the lower one.
      if (widened && i % 2 == 1) bytes[i] = bytes[i - 1] < 0 ? -1 : 0;
    }
  }
};

}  // namespace
}  // namespace rooftune::ROOFTUNE_PROBE_NAMESPACE

#endif  // ROOFTUNE_DEVICE_CPU_COMPUTE_PROBE_INL_H_
