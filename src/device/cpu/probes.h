// Kernels that show what a CPU can do, one set per instruction-set level.
#ifndef ROOFTUNE_DEVICE_CPU_PROBES_H_
#define ROOFTUNE_DEVICE_CPU_PROBES_H_

#include "device/cpu/context.h"
#include "device/cpu/isa.h"
#include "rooftune/device.h"

namespace rooftune {

// The argument struct of each is ProbeArgs; every thread works on its own slice of the memory.
struct CpuProbe {
  CpuKernelFn entry = nullptr;       // null: there is no such probe
  double operations_per_repeat = 0;  // of one thread
};

CpuProbe cpu_probe(Isa isa, ProbeKind kind, DType dtype);

// The same for one level; each is compiled for its instruction set alone.
CpuProbe cpu_probe_portable(ProbeKind kind, DType dtype);
CpuProbe cpu_probe_avx2(ProbeKind kind, DType dtype);
CpuProbe cpu_probe_avx512(ProbeKind kind, DType dtype);

}  // namespace rooftune

#endif  // ROOFTUNE_DEVICE_CPU_PROBES_H_
