#include "device/cpu/isa.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace rooftune {
namespace {

// Recorded sets: CPUID leaves 1, 7.0, 7.1 and XCR0 as processors of these families report them.
CpuidRecord zen4() {
  return {.x86 = true,
          .highest_leaf = 0x10,
          .leaf1 = {0x00a10f11, 0x00020800, 0xfffa3203, 0x178bfbff},
          .leaf7 = {0x1, 0xf1bf97a9, 0x00405fce, 0x10000010},
          .leaf7_1 = {0x20, 0, 0, 0},
          .xcr0 = 0xe7};
}

CpuidRecord sapphire_rapids() {
  return {.x86 = true,
          .highest_leaf = 0x20,
          .leaf1 = {0x000806f8, 0x00400800, 0x7ffefbff, 0xbfebfbff},
          .leaf7 = {0x2, 0xf3bfb7ef, 0xfb417ffe, 0xffdd4432},
          .leaf7_1 = {0x1c30, 0, 0, 0},
          .xcr0 = 0x602e7};
}

CpuidRecord haswell() {
  return {.x86 = true,
          .highest_leaf = 0xd,
          .leaf1 = {0x000306c3, 0x00100800, 0x7ffafbbf, 0xbfebfbff},
          .leaf7 = {0, 0x000027ab, 0, 0x9c000400},
          .xcr0 = 0x7};
}

CpuidRecord sse2_only() {  // a Pentium 4 of 2001
  return {.x86 = true, .highest_leaf = 2, .leaf1 = {0x00000f12, 0x00010808, 0, 0x3febfbff}};
}

std::string reason(const IsaReport& report, std::string_view name) {
  const std::string* against = report.reason_against(name);
  return against != nullptr ? *against : "";
}

testing::AssertionResult says(const IsaReport& report, std::string_view name,
                              std::string_view part) {
  const std::string text = reason(report, name);
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << name << " is refused because '" << text << "'";
}

TEST(IsaTest, NamesGoBothWays) {
  for (Isa isa : {Isa::portable, Isa::neon, Isa::avx2, Isa::avx512}) {
    EXPECT_EQ(parse_isa(to_string(isa)), isa);
  }
  for (std::string_view name : {"", "AVX2", "avx", "avx2 ", "avx512f", "0"}) {
    EXPECT_FALSE(parse_isa(name)) << name;
  }
}

TEST(IsaTest, Zen4) {
  const IsaReport report = detect(zen4());
  EXPECT_EQ(report.level, Isa::avx512);
  for (std::string_view feature :
       {"sse2", "sse4_2", "avx", "f16c", "fma", "avx2", "avx512f", "avx512bw", "avx512dq",
        "avx512vl", "avx512vbmi", "avx512vnni", "avx512bf16"}) {
    EXPECT_TRUE(report.has(feature)) << feature << ": " << reason(report, feature);
  }
  for (std::string_view feature : {"avx512fp16", "avx_vnni", "amx_tile", "amx_bf16"}) {
    EXPECT_FALSE(report.has(feature)) << feature;
    EXPECT_TRUE(says(report, feature, "processor does not have it"));
  }
  EXPECT_EQ(report.reason_against("avx512"), nullptr);
}

TEST(IsaTest, SapphireRapids) {
  const IsaReport report = detect(sapphire_rapids());
  EXPECT_EQ(report.level, Isa::avx512);
  for (std::string_view feature :
       {"avx_vnni", "avx512fp16", "avx512bf16", "avx512vnni", "amx_tile", "amx_bf16", "amx_int8"}) {
    EXPECT_TRUE(report.has(feature)) << feature << ": " << reason(report, feature);
  }
  EXPECT_TRUE(says(report, "amx_fp16", "processor does not have it"));
}

TEST(IsaTest, SapphireRapidsWithoutTileState) {
  CpuidRecord record = sapphire_rapids();
  record.xcr0 = 0x2e7;
  const IsaReport report = detect(record);
  EXPECT_EQ(report.level, Isa::avx512);
  EXPECT_FALSE(report.has("amx_bf16"));
  EXPECT_TRUE(says(report, "amx_tile", "XCR0=0x2e7"));

  record.xcr0 = 0x202e7;  // the tile configuration alone
  EXPECT_FALSE(detect(record).has("amx_tile"));
}

TEST(IsaTest, SapphireRapidsWithTilesRefusedToTheProcess) {
  CpuidRecord record = sapphire_rapids();
  record.tiles = TilePermission::refused;
  const IsaReport report = detect(record);
  EXPECT_TRUE(report.has("avx512fp16"));
  EXPECT_TRUE(says(report, "amx_tile", "refuses this process"));
  EXPECT_FALSE(report.has("amx_int8"));
  record.tiles = TilePermission::granted;
  EXPECT_TRUE(detect(record).has("amx_int8"));
}

TEST(IsaTest, Haswell) {
  const IsaReport report = detect(haswell());
  EXPECT_EQ(report.level, Isa::avx2);
  EXPECT_TRUE(report.has("fma"));
  EXPECT_TRUE(report.has("f16c"));
  EXPECT_TRUE(says(report, "avx512", "avx512f"));
  EXPECT_TRUE(says(report, "avx512", "processor does not have it"));
}

TEST(IsaTest, Sse2Only) {
  const IsaReport report = detect(sse2_only());
  EXPECT_EQ(report.level, Isa::portable);
  EXPECT_EQ(report.features, std::vector<std::string>{"sse2"});
  EXPECT_TRUE(says(report, "avx2", "processor does not have it"));
  EXPECT_FALSE(reason(report, "avx512").empty());
}

TEST(IsaTest, Avx512WithoutTheConsentOfTheOperatingSystem) {
  // Every way to leave out one of SSE, AVX, opmask, ZMM_Hi256 and Hi16_ZMM.
  for (std::uint64_t missing : {0xe0u, 0x20u, 0x40u, 0x80u, 0xc0u}) {
    CpuidRecord record = zen4();
    record.xcr0 &= ~missing;
    const IsaReport report = detect(record);
    EXPECT_EQ(report.level, Isa::avx2) << std::hex << record.xcr0;
    EXPECT_FALSE(report.has("avx512f"));
    EXPECT_FALSE(report.has("avx512bf16"));
    EXPECT_TRUE(says(report, "avx512", "operating system has not enabled its state"));
  }
  CpuidRecord record = zen4();
  record.xcr0 = 0x7;
  EXPECT_TRUE(says(detect(record), "avx512", "processor has AVX-512 but"));
  EXPECT_TRUE(says(detect(record), "avx512", "XCR0=0x7,"));
}

TEST(IsaTest, AvxWithoutTheConsentOfTheOperatingSystem) {
  CpuidRecord record = zen4();
  record.xcr0 = 0x3;  // x87 and SSE
  const IsaReport report = detect(record);
  EXPECT_EQ(report.level, Isa::portable);
  EXPECT_TRUE(says(report, "avx2", "XCR0=0x3"));
  EXPECT_TRUE(report.has("sse4_2"));
}

TEST(IsaTest, AvxWithoutOsxsave) {
  CpuidRecord record = haswell();
  record.leaf1.ecx &= ~(1u << 27);
  // XCR0 cannot be read then; a stale value must not be believed.
  for (std::uint64_t xcr0 : {0x0u, 0xe7u}) {
    record.xcr0 = xcr0;
    const IsaReport report = detect(record);
    EXPECT_EQ(report.level, Isa::portable);
    EXPECT_TRUE(says(report, "avx2", "OSXSAVE"));
    EXPECT_TRUE(says(report, "fma", "OSXSAVE"));
  }
}

TEST(IsaTest, HypervisorThatHidesPartOfTheProcessor) {
  CpuidRecord record = zen4();
  record.leaf7.ebx &= ~(1u << 16);  // avx512f hidden, its companions forgotten
  IsaReport report = detect(record);
  EXPECT_EQ(report.level, Isa::avx2);
  EXPECT_FALSE(report.has("avx512vnni"));
  EXPECT_TRUE(says(report, "avx512vnni", "builds on avx512f"));

  record = zen4();
  record.leaf1.ecx &= ~(1u << 12);  // fma hidden
  report = detect(record);
  EXPECT_EQ(report.level, Isa::portable);
  EXPECT_TRUE(report.has("avx2"));
  EXPECT_TRUE(says(report, "avx512", "needs fma"));

  record = zen4();
  record.leaf7.ebx &= ~(1u << 31);  // avx512vl hidden: a Xeon Phi
  report = detect(record);
  EXPECT_EQ(report.level, Isa::avx2);
  EXPECT_TRUE(says(report, "avx512", "needs avx512vl"));
}

TEST(IsaTest, LeavesBeyondTheHighestAreNotBelieved) {
  CpuidRecord record = zen4();
  record.highest_leaf = 6;
  EXPECT_EQ(detect(record).level, Isa::portable);
  record = zen4();
  record.leaf7.eax = 0;  // no sub-leaf 1
  EXPECT_EQ(detect(record).level, Isa::avx512);
  EXPECT_FALSE(detect(record).has("avx512bf16"));
}

TEST(IsaTest, EveryAarch64HasNeonAndNothingElseHas) {
  CpuidRecord record;
  record.aarch64 = true;
  const IsaReport report = detect(record);
  EXPECT_EQ(report.level, Isa::neon);
  EXPECT_TRUE(report.has_level(Isa::portable));
  EXPECT_TRUE(report.has_level(Isa::neon));
  EXPECT_FALSE(report.has_level(Isa::avx2));
  EXPECT_TRUE(says(report, "avx512", "not an x86 processor"));

  EXPECT_FALSE(detect(zen4()).has_level(Isa::neon));
  EXPECT_TRUE(detect(zen4()).has_level(Isa::avx2));
  EXPECT_TRUE(says(detect(zen4()), "neon", "not a 64-bit Arm processor"));
}

TEST(IsaTest, OtherArchitecturesArePortable) {
  CpuidRecord record = zen4();
  record.x86 = false;
  const IsaReport report = detect(record);
  EXPECT_EQ(report.level, Isa::portable);
  EXPECT_TRUE(report.features.empty());
  EXPECT_TRUE(says(report, "avx2", "not an x86 processor"));
  EXPECT_TRUE(says(report, "avx512", "not an x86 processor"));
}

#ifdef __aarch64__
TEST(IsaTest, ThisMachineHasNeon) { EXPECT_EQ(detect(read_cpuid()).level, Isa::neon); }
#endif

#ifdef __x86_64__
TEST(IsaTest, ThisMachineAgreesWithTheCompilerRuntime) {
  const IsaReport report = detect(read_cpuid());
  EXPECT_TRUE(report.has("sse2"));
  EXPECT_EQ(report.has("avx2"), __builtin_cpu_supports("avx2") != 0);
  EXPECT_EQ(report.has("fma"), __builtin_cpu_supports("fma") != 0);
  EXPECT_EQ(report.has("avx512f"), __builtin_cpu_supports("avx512f") != 0);
  EXPECT_EQ(report.has("avx512vnni"), __builtin_cpu_supports("avx512vnni") != 0);
  EXPECT_EQ(report.has("avx512bf16"), __builtin_cpu_supports("avx512bf16") != 0);
}
#endif

TEST(IsaTest, TilePermissionIsRefusedWithAReasonWhereThereAreNoTiles) {
  if (detect(read_cpuid()).has("amx_tile")) GTEST_SKIP() << "this processor has tiles";
  const Status status = request_tile_permission();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::unsupported);
  EXPECT_NE(status.error().text.find("no AMX tiles"), std::string::npos);
}

}  // namespace
}  // namespace rooftune
