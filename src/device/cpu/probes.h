// Kernels that show what a CPU can do, one set per instruction-set level.
#ifndef ROOFTUNE_DEVICE_CPU_PROBES_H_
#define ROOFTUNE_DEVICE_CPU_PROBES_H_

#include <optional>

#include "device/cpu/context.h"
#include "device/cpu/isa.h"
#include "rooftune/device.h"

namespace rooftune {

// The argument struct of each is ProbeArgs; every thread works on its own slice of the memory.
// A multiply-add counts as two operations, of integers as well.
struct CpuProbe {
  CpuKernelFn entry = nullptr;       // null: there is no such probe
  double operations_per_repeat = 0;  // of one thread
};

// The probe of the best that the levels have for a type, whose probe it is (f16 is converted and
// computed in f32: its probe is that of f32), and the level that it is compiled for.
struct ChosenProbe {
  CpuProbe probe;
  DType dtype = DType::f32;
  Isa level = Isa::portable;
};
ChosenProbe choose_probe(const IsaReport& usable, ProbeKind kind, DType dtype);

// The probes of a vector level; each is compiled for its instruction set alone. i8 stands for both
// kinds of bytes; there are none for f16 and bf16.
CpuProbe cpu_probe_portable(ProbeKind kind, DType dtype);
CpuProbe cpu_probe_avx2(ProbeKind kind, DType dtype);
CpuProbe cpu_probe_avx512(ProbeKind kind, DType dtype);

// The probes of the extensions: vpdpbusd, vdpbf16ps, tdpbf16ps (bf16) and tdpbssd (i8).
CpuProbe cpu_probe_avx512_vnni();
CpuProbe cpu_probe_avx512_bf16();
CpuProbe cpu_probe_amx(DType dtype);

}  // namespace rooftune

#endif  // ROOFTUNE_DEVICE_CPU_PROBES_H_
