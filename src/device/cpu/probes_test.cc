#include "device/cpu/probes.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/cpu/client.h"

namespace rooftune {
namespace {

using Sink = std::array<std::uint32_t, 16>;

// What one thread's registers hold after `repeats`.
Sink run(Client& client, const Kernel& kernel, std::uint64_t repeats) {
  alignas(64) std::array<Sink, 2> sink{};
  ProbeArgs args;
  args.repeats = repeats;
  args.sink = &sink;
  const Launch launch{&kernel, &args, sizeof args, {}, {}, 0, {}};
  EXPECT_TRUE(client.launch({}, launch));
  EXPECT_EQ(sink[1], Sink{}) << "writes into the next thread's part";
  return sink[0];
}

class CpuProbeTest : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    auto client = CpuClient::make({.threads = 1, .isa = GetParam()});
    if (!client) GTEST_SKIP() << client.error().text;
    client_ = *client;
  }
  std::shared_ptr<CpuClient> client_;
};

TEST_P(CpuProbeTest, EveryTypeHasAPeakAndEveryPeakComputes) {
  for (const ProbeKind kind : {ProbeKind::compute, ProbeKind::matrix}) {
    for (const DType dtype :
         {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i8, DType::u8}) {
      SCOPED_TRACE(std::string(to_string(kind)) + " " + std::string(to_string(dtype)));
      const auto probe = client_->probe_kernel(kind, dtype);
      if (!probe) {
        EXPECT_EQ(kind, ProbeKind::matrix);
        EXPECT_EQ(probe.error().kind, ErrorKind::unsupported);
        continue;
      }
      const Sink one = run(*client_, *probe->kernel, 1), two = run(*client_, *probe->kernel, 2),
                 three = run(*client_, *probe->kernel, 3);
      const DType measured = probe->same_as.value_or(dtype);
      EXPECT_NE(one, Sink{});
      switch (measured) {
        case DType::i8:
          EXPECT_NE(one, two);
          if (kind == ProbeKind::matrix) break;  // several sums, mixed
          // Sums of the same products grow by the same in every repeat.
          for (std::size_t i = 0; i < one.size(); ++i) {
            EXPECT_EQ(two[i] - one[i], three[i] - two[i]) << i;
          }
          break;
        case DType::bf16: {
          EXPECT_NE(one, two);
          if (kind == ProbeKind::matrix) break;
          float few, more;
          std::memcpy(&few, &one[0], sizeof few);
          std::memcpy(&more, &three[0], sizeof more);
          EXPECT_TRUE(std::isnormal(few) && std::isnormal(more));
          EXPECT_NEAR(more / few, 3, 0.1);
          break;
        }
        case DType::f32: {
          float value;
          std::memcpy(&value, &one[0], sizeof value);
          EXPECT_TRUE(std::isnormal(value));
          EXPECT_EQ(one, three) << "a fixed point";
          break;
        }
        default:
          EXPECT_EQ(measured, DType::f64);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, CpuProbeTest,
                         testing::Values(Isa::portable, Isa::neon, Isa::avx2, Isa::avx512,
                                         Isa::avx512_vnni, Isa::avx512_bf16, Isa::avx512_fp16,
                                         Isa::amx),
                         [](const auto& tested) { return std::string(to_string(tested.param)); });

IsaReport with_levels(std::vector<Isa> levels) {
  IsaReport report;
  for (const Isa level : levels) {
    if (level <= Isa::avx512) report.level = level;
  }
  report.levels = std::move(levels);
  return report;
}

TEST(ChooseProbe, TypesWithoutInstructionsOfTheirOwnShareAProbe) {
  const IsaReport portable = with_levels({Isa::portable});
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    const ChosenProbe chosen = choose_probe(portable, ProbeKind::compute, dtype);
    EXPECT_EQ(chosen.dtype, DType::f32);
    EXPECT_EQ(chosen.level, Isa::portable);
    EXPECT_NE(chosen.probe.entry, nullptr);
  }
  EXPECT_EQ(choose_probe(portable, ProbeKind::compute, DType::u8).probe.entry,
            choose_probe(portable, ProbeKind::compute, DType::i8).probe.entry);
  EXPECT_EQ(choose_probe(portable, ProbeKind::matrix, DType::bf16).probe.entry, nullptr);
  EXPECT_EQ(choose_probe(portable, ProbeKind::compute, DType::f8e4m3).probe.entry, nullptr);
}

#if defined(__x86_64__)
TEST(ChooseProbe, EachTypeHasTheBestOfTheSet) {
  const auto level = [](const IsaReport& usable, ProbeKind kind, DType dtype) {
    const ChosenProbe chosen = choose_probe(usable, kind, dtype);
    return chosen.probe.entry != nullptr ? std::string(to_string(chosen.level)) : "none";
  };
  const IsaReport zen4 =
      with_levels({Isa::portable, Isa::avx2, Isa::avx512, Isa::avx512_vnni, Isa::avx512_bf16});
  EXPECT_EQ(level(zen4, ProbeKind::compute, DType::f32), "avx512");
  EXPECT_EQ(level(zen4, ProbeKind::compute, DType::bf16), "avx512_bf16");
  EXPECT_EQ(level(zen4, ProbeKind::compute, DType::i8), "avx512_vnni");
  EXPECT_EQ(level(zen4, ProbeKind::compute, DType::u8), "avx512_vnni");
  EXPECT_EQ(level(zen4, ProbeKind::compute, DType::f16), "avx512");
  EXPECT_EQ(level(zen4, ProbeKind::read, DType::f32), "avx512");
  EXPECT_EQ(level(zen4, ProbeKind::matrix, DType::bf16), "none");
  const IsaReport skylake = with_levels({Isa::portable, Isa::avx2, Isa::avx512});
  EXPECT_EQ(level(skylake, ProbeKind::compute, DType::i8), "avx512");
  EXPECT_EQ(choose_probe(skylake, ProbeKind::compute, DType::i8).dtype, DType::i8);
  EXPECT_EQ(choose_probe(skylake, ProbeKind::compute, DType::bf16).dtype, DType::f32);
  const IsaReport rapids = with_levels({Isa::portable, Isa::avx2, Isa::avx512, Isa::amx});
  EXPECT_EQ(level(rapids, ProbeKind::matrix, DType::bf16), "amx");
  EXPECT_EQ(level(rapids, ProbeKind::matrix, DType::u8), "amx");
  EXPECT_EQ(level(rapids, ProbeKind::matrix, DType::f16), "none");
  EXPECT_EQ(level(rapids, ProbeKind::matrix, DType::f32), "none");
  EXPECT_EQ(level(rapids, ProbeKind::compute, DType::bf16), "avx512");
}
#endif

}  // namespace
}  // namespace rooftune
