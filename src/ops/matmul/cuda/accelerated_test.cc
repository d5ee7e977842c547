#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "ops/matmul/cuda/candidate.h"

namespace rooftune {
namespace {

constexpr CudaMachine kH200{.capability = 90,
                            .multiprocessors = 132,
                            .shared_bytes = 232448,
                            .last_level_cache_bytes = 60 << 20};

CudaCandidates accelerated() {
  CudaCandidates rows;
  add_accelerated(rows);
  return rows;
}

const CudaCandidate& named(const CudaCandidates& rows, const std::string& name) {
  return **std::find_if(rows.begin(), rows.end(),
                        [&](const auto& row) { return row->name() == name; });
}

// Row-major A, B and C without gaps.
GemmArgs product(TypeFamily family, DType in, DType out, std::int64_t n) {
  alignas(16) static double memory[4];  // only its address is looked at
  GemmArgs args;
  args.family = family;
  args.a_type = args.b_type = in;
  args.c_type = out;
  args.precision = Precision::high;
  args.m = args.n = args.k = n;
  args.a = args.b = args.c = memory;
  args.a_row = args.b_row = args.c_row = n;
  args.a_col = args.b_col = args.c_col = 1;
  return args;
}

bool defines(const CudaCandidate& row, const GemmArgs& args, const std::string& what) {
  const auto plans = row.plans(row.variant(args));
  const auto& all = plans.front().defines;
  return std::find(all.begin(), all.end(), what) != all.end();
}

TEST(Accelerated, HasTheReferencesTwentyRows) {
  const CudaCandidates rows = accelerated();
  EXPECT_EQ(rows.size(), 20u);
  EXPECT_EQ(std::count_if(rows.begin(), rows.end(),
                          [](const auto& row) { return row->needs() == CudaNeeds::tma; }),
            6);
}

TEST(Accelerated, EveryVariantFitsAnH200) {
  for (const auto& row : accelerated()) {
    for (const CudaVariant variant : row->variants()) {
      for (const CudaKernelPlan& plan : row->plans(variant)) {
        EXPECT_LE(plan.shared_bytes, kH200.shared_bytes) << row->name();
        EXPECT_LE(plan.threads, 1024u) << row->name();
      }
    }
  }
}

TEST(Accelerated, UnalignedLinesAreTakenRawOrShifted) {
  const CudaCandidates rows = accelerated();
  const GemmArgs odd = product(TypeFamily::bf16, DType::bf16, DType::bf16, 1025);
  const GemmArgs even = product(TypeFamily::bf16, DType::bf16, DType::bf16, 1024);
  const CudaCandidate& raw = named(rows, "double_cyclic_mma");
  EXPECT_EQ(raw.illegal_because(odd, kH200), nullptr);
  EXPECT_TRUE(defines(raw, odd, "A_LOAD=4"));
  EXPECT_TRUE(defines(raw, even, "A_LOAD=0"));
  EXPECT_TRUE(defines(named(rows, "simple_cyclic_cmma"), odd, "A_LOAD=1"));
  EXPECT_NE(named(rows, "specialized_tma_mma").illegal_because(odd, kH200), nullptr);
  EXPECT_EQ(named(rows, "specialized_tma_mma").illegal_because(even, kH200), nullptr);
}

TEST(Accelerated, TypesThatAKindOfProductLacksAreRefused) {
  const CudaCandidates rows = accelerated();
  GemmArgs f32 = product(TypeFamily::f32, DType::f32, DType::f32, 1024);
  GemmArgs bytes = product(TypeFamily::int8, DType::i8, DType::i32, 1024);
  bytes.b_type = DType::u8;
  const GemmArgs f8 = product(TypeFamily::f8, DType::f8e4m3, DType::bf16, 1024);
  const CudaMachine ampere{.capability = 80,
                           .multiprocessors = 108,
                           .shared_bytes = 166912,
                           .last_level_cache_bytes = 40 << 20};
  const CudaCandidate& mma = named(rows, "double_cyclic_mma");
  const CudaCandidate& cmma = named(rows, "double_cyclic_cmma");
  EXPECT_EQ(mma.illegal_because(f32, kH200), nullptr);
  f32.precision = Precision::highest;
  EXPECT_NE(mma.illegal_because(f32, kH200), nullptr);
  EXPECT_EQ(mma.illegal_because(bytes, kH200), nullptr);
  EXPECT_NE(cmma.illegal_because(bytes, kH200), nullptr);
  EXPECT_EQ(mma.illegal_because(f8, kH200), nullptr);
  EXPECT_NE(mma.illegal_because(f8, ampere), nullptr);
  EXPECT_NE(cmma.illegal_because(f8, kH200), nullptr);
}

TEST(Accelerated, DoubledBuffersWaitForLargerProducts) {
  const CudaCandidates rows = accelerated();
  MatmulKey key;
  key.scale = MatmulScale::small;
  EXPECT_EQ(named(rows, "specialized_tma_mma").memberships(key).size(), 2u);
  EXPECT_EQ(named(rows, "double_cyclic_mma").memberships(key).front().inner, 2);
  EXPECT_EQ(named(rows, "simple_cyclic_mma").memberships(key).front().inner, 3);
  key.scale = MatmulScale::large;
  EXPECT_EQ(named(rows, "double_cyclic_mma").memberships(key).front().inner, 3);
}

}  // namespace
}  // namespace rooftune
