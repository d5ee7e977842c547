#define ROOFTUNE_PROBE_NAMESPACE probe_avx2
#define ROOFTUNE_PROBE_BYTES 32
#define ROOFTUNE_PROBE_CHAINS 12
#include "device/cpu/probes-inl.h"

namespace rooftune {

CpuProbe cpu_probe_avx2(ProbeKind kind, DType dtype) { return probe_avx2::probe(kind, dtype); }

}  // namespace rooftune
