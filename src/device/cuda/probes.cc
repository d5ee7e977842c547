#include "device/cuda/probes.h"

#include <fmt/format.h>

#include "base/embedded.h"
#include "base/hash.h"

namespace rooftune {

std::span<const EmbeddedFile> cuda_probe_sources();  // made by the build

namespace {

// Random bits of two 16-bit or four 8-bit numbers, and the bits that keep their exponents in range.
struct Pattern {
  std::string random, fixed;
};
Pattern pattern_of(DType dtype) {
  switch (dtype) {
    case DType::bf16:
      return {"0x807f807f", "0x3f803f80"};
    case DType::f16:
      return {"0x83ff83ff", "0x3c003c00"};
    case DType::f8e4m3:
    case DType::f8e5m2:
      return {"0x87878787", "0x38383838"};
    case DType::i8:
    case DType::u8:
      return {"0xffffffff", "0"};
    default:  // f32 as TF32
      return {"0x807fe000", "0x3f800000"};
  }
}

// The PTX name of a type in matrix instructions.
std::string_view ptx_name(DType dtype) {
  switch (dtype) {
    case DType::bf16:
      return "bf16";
    case DType::f16:
      return "f16";
    case DType::f8e4m3:
      return "e4m3";
    case DType::i8:
      return "s8";
    default:
      return "tf32";
  }
}

CudaProbe plain_probe(DType dtype) {
  constexpr double kSteps = 16 * 8;  // kChains * kUnroll of probes.cu
  CudaProbe probe{"device/cuda/probes.cu", {}, 8, 256, 0, dtype};
  switch (dtype) {
    case DType::f64:
    case DType::f32:
      probe.defines = {"PROBE_FMA", dtype == DType::f64 ? "Number=double" : "Number=float"};
      probe.operations_per_repeat = 2 * kSteps * probe.threads;
      return probe;
    case DType::f16:
      probe.defines = {"PROBE_HALVES", "HALVES=\"f16\"", "ONE=0x3c00", "FRACTION=0x3ff"};
      probe.operations_per_repeat = 4 * kSteps * probe.threads;
      return probe;
    case DType::bf16:
      probe.defines = {"PROBE_HALVES", "HALVES=\"bf16\"", "ONE=0x3f80", "FRACTION=0x7f"};
      probe.operations_per_repeat = 4 * kSteps * probe.threads;
      return probe;
    case DType::i8:
    case DType::u8:
      probe.defines = {"PROBE_DOT", "ONE=0x3f80", "FRACTION=0x7f"};
      probe.operations_per_repeat = 8 * kSteps * probe.threads;
      probe.measured = DType::i8;
      return probe;
    default:
      return {};
  }
}

CudaProbe wgmma_probe(DType dtype) {
  const auto bytes = size_of(dtype);
  const Pattern pattern = pattern_of(dtype);
  CudaProbe probe{"device/cuda/probe_wgmma.cu", {}, 1, 256, 0, dtype};
  const std::string type(ptx_name(dtype));
  probe.defines = {"WGMMA_N=256",
                   "WGMMA_A=" + type,
                   "WGMMA_B=" + type,
                   fmt::format("WGMMA_BYTES={}", bytes),
                   fmt::format("WGMMA_INT={}", dtype == DType::i8 ? 1 : 0),
                   "A_MN=0",
                   "B_MN=0",
                   "RANDOM_BITS=" + pattern.random,
                   "FIXED_BITS=" + pattern.fixed};
  // Two warpgroups, four instructions of 64 x 256 and 32 bytes of k each.
  probe.operations_per_repeat = 2.0 * 4 * 2 * 64 * 256 * (32.0 / double(bytes));
  return probe;
}

CudaProbe mma_probe(int capability, DType dtype) {
  constexpr double kTiles = 8, kWarps = 8;
  CudaProbe probe{"device/cuda/probes.cu", {"PROBE_MMA"}, 2, 256, 0, dtype};
  if (dtype == DType::f64) {
    const bool wide = capability >= 90;
    probe.defines.push_back(wide ? "MMA_F64=16" : "MMA_F64=4");
    probe.defines.push_back(fmt::format("MMA=\"mma.sync.aligned.{}.row.col.f64.f64.f64.f64\"",
                                        wide ? "m16n8k16" : "m8n8k4"));
    probe.operations_per_repeat = 2 * kTiles * kWarps * (wide ? 16 * 8 * 16 : 8 * 8 * 4);
    return probe;
  }
  const bool integer = dtype == DType::i8;
  const int k = static_cast<int>(32 / size_of(dtype));
  const std::string_view sum = integer ? "s32" : "f32";
  const std::string_view type = ptx_name(dtype);
  const Pattern pattern = pattern_of(dtype);
  probe.defines.push_back(fmt::format("MMA=\"mma.sync.aligned.m16n8k{}.row.col.{}.{}.{}.{}\"", k,
                                      sum, type, type, sum));
  probe.defines.push_back(integer ? "MMA_SUM=int" : "MMA_SUM=float");
  probe.defines.push_back(integer ? "MMA_CONSTRAINT(x)=\"+r\"(x)" : "MMA_CONSTRAINT(x)=\"+f\"(x)");
  probe.defines.push_back("RANDOM_BITS=" + pattern.random);
  probe.defines.push_back("FIXED_BITS=" + pattern.fixed);
  probe.operations_per_repeat = 2 * kTiles * kWarps * 16 * 8 * k;
  return probe;
}

CudaProbe matrix_probe(int capability, DType dtype) {
  // Both kinds of f8 run at one rate, and both of bytes.
  if (dtype == DType::f8e5m2) dtype = DType::f8e4m3;
  if (dtype == DType::u8) dtype = DType::i8;
  if (dtype == DType::i32 || (dtype == DType::f8e4m3 && capability < 89)) return {};
  // Only Hopper has wgmma, and not for f64.
  if (capability == 90 && dtype != DType::f64) return wgmma_probe(dtype);
  return mma_probe(capability, dtype);
}

}  // namespace

CudaProbe describe_cuda_probe(int capability, ProbeKind kind, DType dtype) {
  const auto memory = [](const char* reads, const char* writes) {
    return CudaProbe{
        "device/cuda/probes.cu", {"PROBE_MEMORY", reads, writes}, 2, 1024, 0, DType::f32};
  };
  switch (kind) {
    case ProbeKind::compute:
      return plain_probe(dtype);
    case ProbeKind::matrix:
      return matrix_probe(capability, dtype);
    case ProbeKind::copy:
      return memory("MEMORY_READS=1", "MEMORY_WRITES=1");
    case ProbeKind::read:
      return memory("MEMORY_READS=1", "MEMORY_WRITES=0");
    case ProbeKind::write:
      return memory("MEMORY_READS=0", "MEMORY_WRITES=1");
    case ProbeKind::launch:
      return {"device/cuda/probes.cu", {"PROBE_LAUNCH"}, 0, 32, 0, dtype};
  }
  return {};
}

Result<ProbeKernel> cuda_probe(CudaClient& client, ProbeKind kind, DType dtype) {
  const CudaProbe probe = describe_cuda_probe(client.capability(), kind, dtype);
  if (probe.file.empty()) {
    return fail(ErrorKind::unsupported, fmt::format("{} has no {} units for {}", client.name(),
                                                    to_string(kind), to_string(dtype)));
  }
  const auto text = with_includes(cuda_probe_sources(), probe.file);
  if (!text) return std::unexpected(text.error());
  KernelSource source;
  source.id = {fmt::format("probe_{}", to_string(kind)), digest(*text),
               fmt::format("{}", fmt::join(probe.defines, " "))};
  source.text = *text;
  source.options = probe.defines;
  auto kernel = client.compile(source);
  if (!kernel) return std::unexpected(kernel.error());
  const auto units = static_cast<std::uint32_t>(client.capabilities().compute_units);
  ProbeKernel result;
  result.kernel = *std::move(kernel);
  result.groups.x = std::max(1u, probe.blocks_per_unit * units);
  result.group_size.x = probe.threads;
  result.operations_per_repeat = probe.operations_per_repeat * result.groups.x;
  if (probe.measured != dtype && (kind == ProbeKind::compute || kind == ProbeKind::matrix)) {
    result.same_as = probe.measured;
  }
  return result;
}

}  // namespace rooftune
