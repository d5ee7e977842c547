#define ROOFTUNE_PROBE_NAMESPACE probe_avx512
#define ROOFTUNE_PROBE_BYTES 64
#define ROOFTUNE_PROBE_CHAINS 16
#include "device/cpu/probes-inl.h"

namespace rooftune {

CpuProbe cpu_probe_avx512(ProbeKind kind, DType dtype) { return probe_avx512::probe(kind, dtype); }

}  // namespace rooftune
