// The probe kernels, compiled once per instruction set: the includer defines ROOFTUNE_PROBE_BYTES
// (vector width), ROOFTUNE_PROBE_CHAINS (independent accumulators) and ROOFTUNE_PROBE_NAMESPACE.
// No include guard: it is a body, and every name in it lives in that namespace, so that no code
// for a newer processor is ever shared with a level below.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "device/cpu/probes.h"

namespace rooftune::ROOFTUNE_PROBE_NAMESPACE {
namespace {

constexpr int kChains = ROOFTUNE_PROBE_CHAINS;
constexpr std::size_t kBytes = ROOFTUNE_PROBE_BYTES;
// Multiply-adds per chain in one repeat: long enough that starting the loop costs nothing.
constexpr int kSteps = 512;

template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(ROOFTUNE_PROBE_BYTES)));
};
template <class T>
using Vector = typename VectorOf<T>::type;

// The rate of multiply-adds between registers: enough independent chains hide their latency.
template <class T>
KernelOutcome compute(const void* args, CpuContext& context) {
  const auto& probe = *static_cast<const ProbeArgs*>(args);
  context.parallel_for(context.threads(), [&](std::int64_t index, int) {
    Vector<T> sum[kChains];
    for (int c = 0; c < kChains; ++c) sum[c] = Vector<T>{} + T(1 + c + index);
    // The fixed point is 1: values stay normal numbers however long it runs.
    const Vector<T> factor = Vector<T>{} + T(0.5);
    const Vector<T> add = Vector<T>{} + T(0.5);
    for (std::uint64_t r = 0; r < probe.repeats; ++r) {
      for (int step = 0; step < kSteps; ++step) {
#pragma GCC unroll 32
        for (int c = 0; c < kChains; ++c) sum[c] = sum[c] * factor + add;
      }
    }
    for (int c = 1; c < kChains; ++c) sum[0] += sum[c];
    std::memcpy(static_cast<std::byte*>(probe.sink) + 64 * index, &sum[0],
                kBytes < 64 ? kBytes : 64);
  });
  return KernelOutcome::done;
}

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
  over_slices(probe, context, [&](std::uint64_t begin, std::uint64_t end, std::int64_t) {
    for (std::uint64_t at = begin; at < end; at += kBlock) {
#pragma GCC unroll 8
      for (int u = 0; u < kUnroll; ++u) {
        Words word;
        std::memcpy(&word, source + at + u * kBytes, kBytes);
        std::memcpy(destination + at + u * kBytes, &word, kBytes);
      }
      asm volatile("" ::: "memory");  // or it becomes a call of memcpy, which knows other tricks
    }
  });
  return KernelOutcome::done;
}

KernelOutcome write(const void* args, CpuContext& context) {
  const auto& probe = *static_cast<const ProbeArgs*>(args);
  auto* destination = static_cast<std::byte*>(probe.destination);
  over_slices(probe, context, [&](std::uint64_t begin, std::uint64_t end, std::int64_t) {
    Words word = Words{} + begin + 1;
    for (std::uint64_t at = begin; at < end; at += kBlock) {
#pragma GCC unroll 8
      for (int u = 0; u < kUnroll; ++u) std::memcpy(destination + at + u * kBytes, &word, kBytes);
      asm volatile("" ::: "memory");
    }
  });
  return KernelOutcome::done;
}

KernelOutcome empty(const void*, CpuContext&) { return KernelOutcome::done; }

}  // namespace

CpuProbe probe(ProbeKind kind, DType dtype) {
  const double lanes = double(kBytes) / double(size_of(dtype));
  const double operations = 2.0 * kSteps * kChains * lanes;
  switch (kind) {
    case ProbeKind::compute:
      if (dtype == DType::f32) return {compute<float>, operations};
      if (dtype == DType::f64) return {compute<double>, operations};
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
