#include "device/cpu/probes.h"

namespace rooftune {

CpuProbe cpu_probe(Isa isa, ProbeKind kind, DType dtype) {
#if defined(__x86_64__)
  if (isa == Isa::avx512) return cpu_probe_avx512(kind, dtype);
  if (isa == Isa::avx2) return cpu_probe_avx2(kind, dtype);
#endif
  static_cast<void>(isa);
  return cpu_probe_portable(kind, dtype);
}

}  // namespace rooftune
