#include "device/cpu/isa.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <locale>
#include <sstream>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif
#if defined(__linux__) && defined(__x86_64__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace rooftune {
namespace {

// A processor state that the operating system must save at a context switch; the bits of XCR0.
struct State {
  std::string_view name;
  std::uint64_t bits;
};
constexpr State kNoState{"", 0};
constexpr State kAvxState{"AVX", 0x6};          // XMM and the upper halves of YMM
constexpr State kAvx512State{"AVX-512", 0xe6};  // the same, opmask, ZMM upper halves, ZMM16-31
constexpr State kTileState{"AMX", 0x60000};     // tile configuration and tile data

enum class Where : std::uint8_t {
  leaf1_ecx,
  leaf1_edx,
  leaf7_ebx,
  leaf7_ecx,
  leaf7_edx,
  leaf7_1_eax
};

struct Feature {
  std::string_view name;
  Where where;
  int bit;
  State state;
  std::string_view base;  // a feature listed before it, that it is useless or undefined without
};

constexpr Feature kFeatures[] = {
    {"sse2", Where::leaf1_edx, 26, kNoState, ""},
    {"sse3", Where::leaf1_ecx, 0, kNoState, "sse2"},
    {"ssse3", Where::leaf1_ecx, 9, kNoState, "sse2"},
    {"sse4_1", Where::leaf1_ecx, 19, kNoState, "sse2"},
    {"sse4_2", Where::leaf1_ecx, 20, kNoState, "sse2"},
    {"avx", Where::leaf1_ecx, 28, kAvxState, "sse2"},
    {"f16c", Where::leaf1_ecx, 29, kAvxState, "avx"},
    {"fma", Where::leaf1_ecx, 12, kAvxState, "avx"},
    {"avx2", Where::leaf7_ebx, 5, kAvxState, "avx"},
    {"avx_vnni", Where::leaf7_1_eax, 4, kAvxState, "avx2"},
    {"avx512f", Where::leaf7_ebx, 16, kAvx512State, "avx2"},
    {"avx512dq", Where::leaf7_ebx, 17, kAvx512State, "avx512f"},
    {"avx512bw", Where::leaf7_ebx, 30, kAvx512State, "avx512f"},
    {"avx512vl", Where::leaf7_ebx, 31, kAvx512State, "avx512f"},
    {"avx512vbmi", Where::leaf7_ecx, 1, kAvx512State, "avx512bw"},
    {"avx512vnni", Where::leaf7_ecx, 11, kAvx512State, "avx512f"},
    {"avx512bf16", Where::leaf7_1_eax, 5, kAvx512State, "avx512bw"},
    {"avx512fp16", Where::leaf7_edx, 23, kAvx512State, "avx512bw"},
    {"amx_tile", Where::leaf7_edx, 24, kTileState, ""},
    {"amx_bf16", Where::leaf7_edx, 22, kTileState, "amx_tile"},
    {"amx_int8", Where::leaf7_edx, 25, kTileState, "amx_tile"},
    {"amx_fp16", Where::leaf7_1_eax, 21, kTileState, "amx_tile"},
};

struct Level {
  Isa isa;
  std::array<std::string_view, 6> needs;
};
constexpr Level kLevels[] = {
    {Isa::avx2, {"avx2", "fma"}},
    {Isa::avx512, {"avx2", "fma", "avx512f", "avx512bw", "avx512dq", "avx512vl"}},
};

constexpr std::uint32_t kOsxsave = std::uint32_t{1} << 27;
// Of XCR0 and of arch_prctl alike: the tile data component.
[[maybe_unused]] constexpr unsigned long kTileDataComponent = 18;

std::uint32_t registers_at(const CpuidRecord& record, Where where) {
  const bool has7 = record.highest_leaf >= 7;
  switch (where) {
    case Where::leaf1_ecx:
      return record.leaf1.ecx;
    case Where::leaf1_edx:
      return record.leaf1.edx;
    case Where::leaf7_ebx:
      return has7 ? record.leaf7.ebx : 0;
    case Where::leaf7_ecx:
      return has7 ? record.leaf7.ecx : 0;
    case Where::leaf7_edx:
      return has7 ? record.leaf7.edx : 0;
    case Where::leaf7_1_eax:
      return has7 && record.leaf7.eax >= 1 ? record.leaf7_1.eax : 0;
  }
  return 0;
}

// Empty when the feature may be used.
std::string refusal(const CpuidRecord& record, const Feature& feature, const IsaReport& so_far) {
  if (((registers_at(record, feature.where) >> feature.bit) & 1) == 0) {
    return "the processor does not have it";
  }
  if (feature.state.bits != 0) {
    const std::string has = "the processor has " + std::string(feature.state.name) + " but ";
    if ((record.leaf1.ecx & kOsxsave) == 0) {
      return has + "the operating system does not save its registers (OSXSAVE is off)";
    }
    if ((record.xcr0 & feature.state.bits) != feature.state.bits) {
      std::ostringstream text;
      text.imbue(std::locale::classic());
      text << has << "the operating system has not enabled its state (XCR0=0x" << std::hex
           << record.xcr0 << ", needs 0x" << feature.state.bits << ")";
      return text.str();
    }
  }
  if (feature.state.bits == kTileState.bits && record.tiles == TilePermission::refused) {
    return "the operating system refuses this process the tile registers";
  }
  if (!feature.base.empty() && !so_far.has(feature.base)) {
    return "it builds on " + std::string(feature.base) + ", which cannot be used";
  }
  return {};
}

}  // namespace

std::string_view to_string(Isa isa) {
  switch (isa) {
    case Isa::portable:
      return "portable";
    case Isa::neon:
      return "neon";
    case Isa::avx2:
      return "avx2";
    case Isa::avx512:
      return "avx512";
  }
  return "unknown";
}

std::optional<Isa> parse_isa(std::string_view name) {
  for (Isa isa : {Isa::portable, Isa::neon, Isa::avx2, Isa::avx512}) {
    if (name == to_string(isa)) return isa;
  }
  return std::nullopt;
}

bool IsaReport::has(std::string_view feature) const {
  return std::find(features.begin(), features.end(), feature) != features.end();
}

bool IsaReport::has_level(Isa isa) const {
  return isa <= level && reason_against(to_string(isa)) == nullptr;
}

const std::string* IsaReport::reason_against(std::string_view name) const {
  for (const IsaRefusal& refusal : refused) {
    if (refusal.name == name) return &refusal.reason;
  }
  return nullptr;
}

IsaReport detect(const CpuidRecord& record) {
  IsaReport report;
  if (record.aarch64) {
    report.level = Isa::neon;
    report.features.emplace_back("asimd");
  } else {
    report.refused.push_back(
        {std::string(to_string(Isa::neon)), "this is not a 64-bit Arm processor"});
  }
  if (!record.x86) {
    for (const Level& level : kLevels) {
      report.refused.push_back({std::string(to_string(level.isa)), "this is not an x86 processor"});
    }
    return report;
  }
  for (const Feature& feature : kFeatures) {
    std::string reason = refusal(record, feature, report);
    if (reason.empty()) {
      report.features.emplace_back(feature.name);
    } else {
      report.refused.push_back({std::string(feature.name), std::move(reason)});
    }
  }
  for (const Level& level : kLevels) {
    std::string reason;
    for (std::string_view need : level.needs) {
      const std::string* against = report.reason_against(need);
      if (against == nullptr || !reason.empty()) continue;
      reason = "needs " + std::string(need) + ": " + *against;
    }
    if (reason.empty()) {
      report.level = level.isa;
    } else if (report.reason_against(to_string(level.isa)) == nullptr) {
      // Level avx2 without the feature avx2 is already listed, with the reason of the feature.
      report.refused.push_back({std::string(to_string(level.isa)), std::move(reason)});
    }
  }
  return report;
}

CpuidRecord read_cpuid() {
  CpuidRecord record;
#if defined(__x86_64__) || defined(__i386__)
  record.x86 = true;
  record.highest_leaf = __get_cpuid_max(0, nullptr);
  const auto read = [&record](std::uint32_t leaf, std::uint32_t subleaf) {
    CpuidRegisters registers;
    if (leaf <= record.highest_leaf) {
      __cpuid_count(leaf, subleaf, registers.eax, registers.ebx, registers.ecx, registers.edx);
    }
    return registers;
  };
  record.leaf1 = read(1, 0);
  record.leaf7 = read(7, 0);
  if (record.leaf7.eax >= 1) record.leaf7_1 = read(7, 1);
  if ((record.leaf1.ecx & kOsxsave) != 0) {
    // Not the intrinsic, which would need this file compiled for processors with XSAVE.
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    record.xcr0 = (std::uint64_t{high} << 32) | low;
  }
#elif defined(__aarch64__)
  record.aarch64 = true;
#endif
  return record;
}

Status request_tile_permission() {
  const IsaReport report = detect(read_cpuid());
  if (!report.has("amx_tile")) {
    const std::string* reason = report.reason_against("amx_tile");
    return fail(ErrorKind::unsupported,
                "no AMX tiles: " + (reason != nullptr ? *reason : "this is not an x86 processor"));
  }
#if defined(__linux__) && defined(__x86_64__)
  constexpr int kArchReqXcompPerm = 0x1023;  // asm/prctl.h has it only since Linux 5.16
  if (syscall(SYS_arch_prctl, kArchReqXcompPerm, kTileDataComponent) == 0) return {};
  return fail(ErrorKind::unsupported,
              std::string("no AMX tiles: the operating system refuses this process the tile "
                          "registers (arch_prctl: ") +
                  std::strerror(errno) + ")");
#else
  return {};
#endif
}

}  // namespace rooftune
