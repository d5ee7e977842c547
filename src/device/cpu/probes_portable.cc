#define ROOFTUNE_PROBE_NAMESPACE probe_portable
#define ROOFTUNE_PROBE_BYTES 16
#define ROOFTUNE_PROBE_CHAINS 12
#include "device/cpu/probes-inl.h"

namespace rooftune {

CpuProbe cpu_probe_portable(ProbeKind kind, DType dtype) {
  return probe_portable::probe(kind, dtype);
}

}  // namespace rooftune
