// The probe kernels of a vector level, compiled once for each: the includer defines what
// compute_probe-inl.h asks for, ROOFTUNE_PROBE_BYTES (vector width) and, when it has made Int8Steps
// in that namespace, ROOFTUNE_PROBE_INT8. No include guard: it is a body.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "device/cpu/compute_probe-inl.h"

namespace rooftune::ROOFTUNE_PROBE_NAMESPACE {
namespace {

constexpr std::size_t kBytes = ROOFTUNE_PROBE_BYTES;

template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(ROOFTUNE_PROBE_BYTES)));
};
template <class T>
using Vector = typename VectorOf<T>::type;

// The fixed point of x/2 + 1/2 is 1: values stay normal numbers however long it runs.
template <class T>
struct FloatSteps {
  using Sum = Vector<T>;
  static constexpr int kChains = ROOFTUNE_PROBE_CHAINS;
  static constexpr double kOperations = 2.0 * double(kBytes) / double(sizeof(T));

  Sum half = Sum{} + T(0.5);

  Sum start(std::int64_t thread, int chain) const { return Sum{} + T(1 + chain + thread); }
  void multiply_add(Sum& sum) { sum = sum * half + half; }
  void join(Sum& sum, const Sum& other) const { sum += other; }
};

using Words = Vector<std::uint64_t>;
constexpr int kUnroll = 8;
constexpr std::uint64_t kBlock = kBytes * kUnroll;

// Cuts the memory into one slice a thread, in whole blocks, and passes over each slice `repeats`
// times: a slice that fits a core's cache stays there.
template <class Pass>
void over_slices(const ProbeArgs& probe, CpuContext& context, Pass pass) {
  const auto threads = static_cast<std::uint64_t>(context.threads());
  const std::uint64_t blocks = probe.bytes / kBlock;
  context.parallel_for(context.threads(), [&](std::int64_t index, int) {
    const auto i = static_cast<std::uint64_t>(index);
    const std::uint64_t begin = blocks * i / threads * kBlock;
    const std::uint64_t end = blocks * (i + 1) / threads * kBlock;
    for (std::uint64_t r = 0; r < probe.repeats; ++r) pass(begin, end, index);
  });
}

KernelOutcome read(const void* args, CpuContext& context) {
  const auto& probe = *static_cast<const ProbeArgs*>(args);
  const auto* source = static_cast<const std::byte*>(probe.source);
  over_slices(probe, context, [&](std::uint64_t begin, std::uint64_t end, std::int64_t index) {
    Words seen[kUnroll] = {};
    for (std::uint64_t at = begin; at < end; at += kBlock) {
#pragma GCC unroll 8
      for (int u = 0; u < kUnroll; ++u) {
        Words word;
        std::memcpy(&word, source + at + u * kBytes, kBytes);
        seen[u] |= word;
      }
    }
    for (int u = 1; u < kUnroll; ++u) seen[0] |= seen[u];
    std::memcpy(static_cast<std::byte*>(probe.sink) + 64 * index, &seen[0],
                kBytes < 64 ? kBytes : 64);
  });
  return KernelOutcome::done;
}

KernelOutcome copy(const void* args, CpuContext& context) {
  const auto& probe = *static_cast<const ProbeArgs*>(args);
  const auto* source = static_cast<const std::byte*>(probe.source);
  auto* destination = static_cast<std::byte*>(probe.destination);
  over_slices(probe, context, [=](std::uint64_t begin, std::uint64_t end, std::int64_t) {
    const std::byte* const from = source;
    std::byte* const to = destination;
    for (std::uint64_t at = begin; at < end; at += kBlock) {
#pragma GCC unroll 8
      for (int u = 0; u < kUnroll; ++u) {
        Words word;
        std::memcpy(&word, from + at + u * kBytes, kBytes);
        std::memcpy(to + at + u * kBytes, &word, kBytes);
      }
      asm volatile("" ::: "memory");  // or it becomes a call of memcpy, which knows other tricks
    }
  });
  return KernelOutcome::done;
}

KernelOutcome write(const void* args, CpuContext& context) {
  const auto& probe = *static_cast<const ProbeArgs*>(args);
  auto* destination = static_cast<std::byte*>(probe.destination);
  over_slices(probe, context, [=](std::uint64_t begin, std::uint64_t end, std::int64_t) {
    std::byte* const to = destination;
    const Words word = Words{} + begin + 1;
    for (std::uint64_t at = begin; at < end; at += kBlock) {
#pragma GCC unroll 8
      for (int u = 0; u < kUnroll; ++u) std::memcpy(to + at + u * kBytes, &word, kBytes);
      asm volatile("" ::: "memory");
    }
  });
  return KernelOutcome::done;
}

KernelOutcome empty(const void*, CpuContext&) { return KernelOutcome::done; }

}  // namespace

CpuProbe probe(ProbeKind kind, DType dtype) {
  switch (kind) {
    case ProbeKind::compute:
      if (dtype == DType::f32) return compute_probe<FloatSteps<float>>();
      if (dtype == DType::f64) return compute_probe<FloatSteps<double>>();
#ifdef ROOFTUNE_PROBE_INT8
      if (dtype == DType::i8) return compute_probe<Int8Steps>();
#endif
      return {};
    case ProbeKind::matrix:
      return {};
    case ProbeKind::copy:
      return {copy, 0};
    case ProbeKind::read:
      return {read, 0};
    case ProbeKind::write:
      return {write, 0};
    case ProbeKind::launch:
      return {empty, 0};
  }
  return {};
}

}  // namespace rooftune::ROOFTUNE_PROBE_NAMESPACE
