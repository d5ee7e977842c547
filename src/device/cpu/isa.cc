#include "device/cpu/isa.h"

#include <algorithm>
#include <array>
#include <atomic>
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
  Isa level;              // that uses it
};

constexpr Feature kFeatures[] = {
    {"sse2", Where::leaf1_edx, 26, kNoState, "", Isa::portable},
    {"sse3", Where::leaf1_ecx, 0, kNoState, "sse2", Isa::portable},
    {"ssse3", Where::leaf1_ecx, 9, kNoState, "sse2", Isa::portable},
    {"sse4_1", Where::leaf1_ecx, 19, kNoState, "sse2", Isa::portable},
    {"sse4_2", Where::leaf1_ecx, 20, kNoState, "sse2", Isa::portable},
    {"avx", Where::leaf1_ecx, 28, kAvxState, "sse2", Isa::avx2},
    {"f16c", Where::leaf1_ecx, 29, kAvxState, "avx", Isa::avx2},
    {"fma", Where::leaf1_ecx, 12, kAvxState, "avx", Isa::avx2},
    {"avx2", Where::leaf7_ebx, 5, kAvxState, "avx", Isa::avx2},
    {"avx_vnni", Where::leaf7_1_eax, 4, kAvxState, "avx2", Isa::avx2},
    {"avx512f", Where::leaf7_ebx, 16, kAvx512State, "avx2", Isa::avx512},
    {"avx512dq", Where::leaf7_ebx, 17, kAvx512State, "avx512f", Isa::avx512},
    {"avx512bw", Where::leaf7_ebx, 30, kAvx512State, "avx512f", Isa::avx512},
    {"avx512vl", Where::leaf7_ebx, 31, kAvx512State, "avx512f", Isa::avx512},
    {"avx512vbmi", Where::leaf7_ecx, 1, kAvx512State, "avx512bw", Isa::avx512},
    {"avx512vnni", Where::leaf7_ecx, 11, kAvx512State, "avx512f", Isa::avx512_vnni},
    {"avx512bf16", Where::leaf7_1_eax, 5, kAvx512State, "avx512bw", Isa::avx512_bf16},
    {"avx512fp16", Where::leaf7_edx, 23, kAvx512State, "avx512bw", Isa::avx512_fp16},
    {"amx_tile", Where::leaf7_edx, 24, kTileState, "", Isa::amx},
    {"amx_bf16", Where::leaf7_edx, 22, kTileState, "amx_tile", Isa::amx},
    {"amx_int8", Where::leaf7_edx, 25, kTileState, "amx_tile", Isa::amx},
    {"amx_fp16", Where::leaf7_1_eax, 21, kTileState, "amx_tile", Isa::amx},
};

struct Level {
  Isa isa;
  Isa base;  // a level listed before it, or portable
  std::array<std::string_view, 4> needs;
};
constexpr Level kLevels[] = {
    {Isa::avx2, Isa::portable, {"avx2", "fma", "f16c"}},
    {Isa::avx512, Isa::avx2, {"avx512f", "avx512bw", "avx512dq", "avx512vl"}},
    {Isa::avx512_vnni, Isa::avx512, {"avx512vnni"}},
    {Isa::avx512_bf16, Isa::avx512, {"avx512bf16"}},
    {Isa::avx512_fp16, Isa::avx512, {"avx512fp16"}},
    {Isa::amx, Isa::avx512, {"amx_tile", "amx_bf16", "amx_int8"}},
};

constexpr bool is_vector_level(Isa isa) { return isa <= Isa::avx512; }

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

// What the operating system has answered this process, and in which words it refused. The words
// are written once, before the answer.
std::atomic<TilePermission> tile_answer{TilePermission::not_asked};
std::string& tile_refusal() {
  static std::string text;
  return text;
}

Status ask_operating_system() {
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
    if (!record.tile_refusal.empty()) return record.tile_refusal;
    return "the operating system refuses this process the tile registers";
  }
  if (!feature.base.empty() && !so_far.has(feature.base)) {
    return "it builds on " + std::string(feature.base) + ", which cannot be used";
  }
  return {};
}

}  // namespace

std::string_view to_string(Isa isa) {
  const auto index = static_cast<std::size_t>(isa);
  return index < kIsaNames.size() ? kIsaNames[index] : "unknown";
}

std::optional<Isa> parse_isa(std::string_view name) {
  const auto found = std::find(kIsaNames.begin(), kIsaNames.end(), name);
  if (found == kIsaNames.end()) return std::nullopt;
  return static_cast<Isa>(found - kIsaNames.begin());
}

bool IsaReport::has(std::string_view feature) const {
  return std::find(features.begin(), features.end(), feature) != features.end();
}

bool IsaReport::has_level(Isa wanted) const {
  return std::find(levels.begin(), levels.end(), wanted) != levels.end();
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
    report.features.emplace_back("asimd");
    report.levels.push_back(Isa::neon);
    report.level = Isa::neon;
  } else {
    report.refused.push_back({"neon", "this is not an aarch64 processor"});
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
    const auto need = [&](std::string_view name) {
      const std::string* against = report.reason_against(name);
      if (against == nullptr || !reason.empty()) return;
      // The level below has said already what it needs.
      const bool says_why = against->starts_with("needs ");
      reason = says_why ? *against : "needs " + std::string(name) + ": " + *against;
    };
    need(to_string(level.base));
    for (std::string_view name : level.needs) need(name);
    if (reason.empty()) {
      report.levels.push_back(level.isa);
      if (is_vector_level(level.isa)) report.level = level.isa;
    } else if (report.reason_against(to_string(level.isa)) == nullptr) {
      // Level avx2 without the feature avx2 is already listed, with the reason of the feature.
      report.refused.push_back({std::string(to_string(level.isa)), std::move(reason)});
    }
  }
  return report;
}

IsaReport detect_under(std::optional<Isa> cap, CpuidRecord record,
                       FunctionRef<Status()> ask_for_tiles) {
  const Isa highest = cap.value_or(Isa::amx);
  IsaReport report = detect(record);
  if (highest >= Isa::amx && report.has_level(Isa::amx) &&
      record.tiles == TilePermission::not_asked) {
    const Status lent = ask_for_tiles();
    record.tiles = lent ? TilePermission::granted : TilePermission::refused;
    if (!lent) record.tile_refusal = lent.error().text;
    report = detect(record);
  }
  const std::string above = "above the cap isa = \"" + std::string(to_string(highest)) + "\"";
  std::erase_if(report.levels, [&](Isa isa) {
    if (isa <= highest) return false;
    report.refused.push_back({std::string(to_string(isa)), above});
    return true;
  });
  report.level = *std::find_if(report.levels.rbegin(), report.levels.rend(), is_vector_level);
  for (const Feature& feature : kFeatures) {
    if (report.has_level(feature.level) || !report.has(feature.name)) continue;
    std::erase(report.features, feature.name);
    const std::string level(to_string(feature.level));
    // A level may have the name of a feature.
    if (report.reason_against(feature.name) != nullptr) continue;
    const std::string* against = report.reason_against(level);
    report.refused.push_back(
        {std::string(feature.name),
         "its level " + level + " cannot be used: " + (against ? *against : "")});
  }
  return report;
}

CpuidRecord read_cpuid() {
  CpuidRecord record;
  record.tiles = tile_answer.load(std::memory_order_acquire);
  if (record.tiles == TilePermission::refused) record.tile_refusal = tile_refusal();
#ifdef __aarch64__
  record.aarch64 = true;
#endif
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
#endif
  return record;
}

Status request_tile_permission() {
  // A local static is made by one thread, and others wait for it.
  static const Status answer = [] {
    Status asked = ask_operating_system();
    if (!asked) tile_refusal() = asked.error().text;
    tile_answer.store(asked ? TilePermission::granted : TilePermission::refused,
                      std::memory_order_release);
    return asked;
  }();
  return answer;
}

}  // namespace rooftune
