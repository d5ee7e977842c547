#include "device/cpu/probes.h"

namespace rooftune {
namespace {

CpuProbe vector_probe(Isa level, ProbeKind kind, DType dtype) {
#if defined(__x86_64__)
  if (level == Isa::avx512) return cpu_probe_avx512(kind, dtype);
  if (level == Isa::avx2) return cpu_probe_avx2(kind, dtype);
#endif
  // What is compiled by default has NEON where there is NEON.
  static_cast<void>(level);
  return cpu_probe_portable(kind, dtype);
}

}  // namespace

ChosenProbe choose_probe(const IsaReport& usable, ProbeKind kind, DType dtype) {
  if (kind == ProbeKind::matrix) {
    // Signed and unsigned bytes run at one rate.
    const DType measured = dtype == DType::u8 ? DType::i8 : dtype;
#if defined(__x86_64__)
    if (usable.has_level(Isa::amx)) return {cpu_probe_amx(measured), measured, Isa::amx};
#endif
    return {{}, measured, usable.level};
  }
  if (kind != ProbeKind::compute) {
    return {vector_probe(usable.level, kind, dtype), dtype, usable.level};
  }
  const auto in_vectors = [&](DType measured) -> ChosenProbe {
    return {vector_probe(usable.level, kind, measured), measured, usable.level};
  };
  switch (dtype) {
    case DType::bf16:
#if defined(__x86_64__)
      if (usable.has_level(Isa::avx512_bf16)) {
        return {cpu_probe_avx512_bf16(), dtype, Isa::avx512_bf16};
      }
#endif
      return in_vectors(DType::f32);
    case DType::f16:
      return in_vectors(DType::f32);
    case DType::i8:
    case DType::u8: {
#if defined(__x86_64__)
      if (usable.has_level(Isa::avx512_vnni)) {
        return {cpu_probe_avx512_vnni(), DType::i8, Isa::avx512_vnni};
      }
#endif
      const ChosenProbe bytes = in_vectors(DType::i8);
      return bytes.probe.entry != nullptr ? bytes : in_vectors(DType::f32);
    }
    default:
      return in_vectors(dtype);
  }
}

}  // namespace rooftune
