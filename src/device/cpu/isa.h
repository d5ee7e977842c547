// Instruction-set levels of the CPU device, and what this processor and operating system allow.
#ifndef ROOFTUNE_DEVICE_CPU_ISA_H_
#define ROOFTUNE_DEVICE_CPU_ISA_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rooftune/error.h"

namespace rooftune {

// Ordered: on one architecture a level includes those below it.
//   portable: what the compiler targets by default (x86-64: SSE2).
//   neon:     every aarch64 processor.
//   avx2:     AVX2 and FMA.
//   avx512:   AVX-512 F, BW, DQ, VL.
enum class Isa : std::uint8_t { portable, neon, avx2, avx512 };

std::string_view to_string(Isa isa);
std::optional<Isa> parse_isa(std::string_view name);

struct CpuidRegisters {
  std::uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
  bool operator==(const CpuidRegisters&) const = default;
};

// Whether this process may use the AMX tile registers: Linux lends them to a process that asks.
enum class TilePermission : std::uint8_t { not_asked, granted, refused };

// What the processor says of itself (CPUID) and what the operating system has enabled (XCR0), as
// read. Leaves that the processor does not have are zero. Recorded sets are fed to `detect` by
// tests.
struct CpuidRecord {
  bool x86 = false;  // false on every other architecture; all that follows of x86 is then zero
  std::uint32_t highest_leaf = 0;
  CpuidRegisters leaf1{};
  CpuidRegisters leaf7{};    // sub-leaf 0
  CpuidRegisters leaf7_1{};  // sub-leaf 1, present when leaf7.eax >= 1
  std::uint64_t xcr0 = 0;    // XGETBV(0); zero when leaf 1 does not report OSXSAVE
  TilePermission tiles = TilePermission::not_asked;
  bool aarch64 = false;
};

// A feature or level that cannot be used here, and why.
struct IsaRefusal {
  std::string name;
  std::string reason;
};

struct IsaReport {
  Isa level = Isa::portable;          // the highest one that may be used
  std::vector<std::string> features;  // that may be used, by Linux's names: "avx2", "amx_tile", ...
  std::vector<IsaRefusal> refused;    // every other level and feature that Rooftune knows

  bool has(std::string_view feature) const;
  bool has_level(Isa isa) const;
  // Why a level or feature cannot be used; null when it can be, or is unknown.
  const std::string* reason_against(std::string_view name) const;
};

// What may be used: the processor has it, the operating system saves its registers, and whatever
// it builds on may be used as well. Depends on the record alone.
IsaReport detect(const CpuidRecord& record);

// Reads the processor that this thread runs on. Asks for nothing: `tiles` is not_asked.
CpuidRecord read_cpuid();

// Asks the operating system to lend this process the AMX tile registers, which enlarges the signal
// frame of every thread: call it once, when an AMX kernel is about to be used, not at start.
// Errors: unsupported when the processor has no tiles, the system does not know of them, or it
// refuses.
Status request_tile_permission();

}  // namespace rooftune

#endif  // ROOFTUNE_DEVICE_CPU_ISA_H_
