#include "ops/matmul/cuda/tiled.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "ops/matmul/cuda/split.h"

namespace rooftune {
namespace {

constexpr CudaMachine kH200{90, 132, 232448, 60u << 20};

// Dense operands at aligned addresses that are never read; T: stored transposed.
GemmArgs product(std::int64_t m, std::int64_t n, std::int64_t k, const std::string& layout = "NN",
                 DType type = DType::f32) {
  GemmArgs g;
  g.family = type == DType::f64 ? TypeFamily::f64 : TypeFamily::f32;
  g.a_type = g.b_type = g.c_type = type;
  g.m = m, g.n = n, g.k = k;
  g.a = reinterpret_cast<const void*>(0x1000);
  g.b = reinterpret_cast<const void*>(0x2000);
  g.c = reinterpret_cast<void*>(0x3000);
  g.a_row = layout[0] == 'N' ? k : 1;
  g.a_col = layout[0] == 'N' ? 1 : m;
  g.b_row = layout[1] == 'N' ? n : 1;
  g.b_col = layout[1] == 'N' ? 1 : k;
  g.c_row = n, g.c_col = 1;
  return g;
}

const CudaCandidates& rows() {
  static const CudaCandidates* all = [] {
    auto* made = new CudaCandidates;
    add_naive(*made);
    add_unit(*made);
    add_dmma(*made);
    return made;
  }();
  return *all;
}
const CudaCandidate& row(const std::string& name) {
  return **std::ranges::find(rows(), name, [](const auto& one) { return one->name(); });
}
bool has_define(const CudaCandidate& candidate, const GemmArgs& args, const std::string& define) {
  const auto plan = candidate.plans(candidate.variant(args)).front();
  return std::ranges::find(plan.defines, define) != plan.defines.end();
}

// Keeps what run() launches.
class Recorder final : public CudaLauncher {
 public:
  const CudaMachine& machine() const override { return kH200; }
  Status launch(const Kernel&, const void* args, std::size_t args_bytes, Dim3 blocks, std::uint32_t,
                std::uint32_t) override {
    if (launches++ == 0 && args_bytes == sizeof first) std::memcpy(&first, args, sizeof first);
    if (launches == 1) grid = blocks;
    return {};
  }
  Result<void*> scratch(std::uint64_t bytes) override {
    scratch_bytes = bytes;
    return reinterpret_cast<void*>(0x4000);
  }
  Status clear(void*, std::uint64_t) override { return {}; }
  Status encode(const TensorMapShape&, TensorMap&) override { return {}; }

  int launches = 0;
  SplitArgs first{};
  Dim3 grid;
  std::uint64_t scratch_bytes = 0;
};
void record(Recorder& recorder, const CudaCandidate& candidate, const GemmArgs& args) {
  const Kernel kernel{KernelId{}};
  const Kernel* const kernels[] = {&kernel, &kernel};
  ASSERT_TRUE(candidate.run(recorder, kernels, args));
}

TEST(Tiled, WideCopiesWhereBothOperandsAllowThem) {
  const CudaCandidate& simt = row("simt_64x64");
  EXPECT_TRUE(has_define(simt, product(64, 64, 64), "A_COPY=3"));
  EXPECT_TRUE(has_define(simt, product(64, 64, 64), "B_COPY=2"));
  EXPECT_TRUE(has_define(simt, product(64, 64, 64, "TT"), "A_COPY=2"));
  EXPECT_TRUE(has_define(simt, product(64, 64, 64, "TT"), "B_COPY=3"));
  // An odd n makes the rows of B start anywhere.
  EXPECT_TRUE(has_define(simt, product(64, 65, 64), "A_COPY=0"));
  EXPECT_TRUE(has_define(simt, product(64, 65, 64), "B_COPY=1"));
  // A last column that is not a multiple of 16 bytes: a wide copy would read beyond it.
  GemmArgs padded = product(64, 62, 64);
  padded.b_row = 64;
  EXPECT_TRUE(has_define(simt, padded, "B_COPY=1"));
  GemmArgs moved = product(64, 64, 64);
  moved.a = reinterpret_cast<const void*>(0x1004);
  EXPECT_TRUE(has_define(simt, moved, "A_COPY=0"));
  GemmArgs batched = product(64, 64, 64);
  batched.batch = batched.batch_extent[0] = 2;
  batched.batch_rank = 1;
  batched.b_batch[0] = 64 * 64 + 1;
  EXPECT_TRUE(has_define(simt, batched, "B_COPY=1"));
  GemmArgs strided = product(64, 64, 64);
  strided.a_col = 2;
  strided.a_row = 128;
  EXPECT_TRUE(has_define(simt, strided, "A_COPY=1"));
}

TEST(Tiled, EveryVariantThatIsUsedIsListed) {
  for (const auto& candidate : rows()) {
    const auto listed = candidate->variants();
    for (const DType type : {DType::f32, DType::f64}) {
      for (const char* layout : {"NN", "NT", "TN", "TT"}) {
        for (const std::int64_t odd : {0, 1}) {
          for (const int shift : {0, 1, 4, 8}) {
            GemmArgs args = product(256 + odd, 256 + odd, 4096 + odd, layout, type);
            args.b = static_cast<const char*>(args.b) + shift;
            if (candidate->illegal_because(args, kH200) != nullptr) continue;
            EXPECT_NE(std::ranges::find(listed, candidate->variant(args)), listed.end())
                << candidate->name();
          }
        }
      }
    }
  }
}

TEST(Tiled, ContiguousColumnsOfCMakeTheTransposedProduct) {
  GemmArgs args = product(100, 300, 64);
  args.c_row = 1;
  args.c_col = 100;
  Recorder recorder;
  record(recorder, row("simt_128x128"), args);
  EXPECT_EQ(recorder.first.product.m, 300);
  EXPECT_EQ(recorder.first.product.a, args.b);
  EXPECT_EQ(recorder.first.product.c_col, 1);
  EXPECT_EQ(recorder.grid.x, 3u);
}

TEST(Tiled, PartsOfKAreWholeTilesAndNoneIsEmpty) {
  const CudaCandidate& split = row("simt_128x128_split");
  for (const std::int64_t k : {1000, 1025, 4096, 65537, 169343}) {
    const GemmArgs args = product(256, 256, k);
    ASSERT_EQ(split.illegal_because(args, kH200), nullptr) << k;
    Recorder recorder;
    record(recorder, split, args);
    const std::int64_t parts = recorder.first.splits;
    EXPECT_GT(parts, 1);
    EXPECT_EQ(recorder.first.terms % 8, 0);
    EXPECT_GE(recorder.first.terms * parts, k);
    EXPECT_LT(recorder.first.terms * (parts - 1), k);
    EXPECT_EQ(recorder.scratch_bytes, static_cast<std::uint64_t>(parts) * 256 * 256 * 4);
    EXPECT_EQ(recorder.grid.x, 4 * parts);
    EXPECT_EQ(recorder.launches, 2);
  }
}

TEST(Tiled, SplitsOnlyWhereItGains) {
  const CudaCandidate& split = row("simt_64x64_split");
  EXPECT_NE(split.illegal_because(product(4096, 4096, 4096), kH200), nullptr);
  EXPECT_NE(split.illegal_because(product(64, 64, 32), kH200), nullptr);
  // 264 tiles of equal length for 132 multiprocessors: nothing to gain, and one launch.
  Recorder recorder;
  record(recorder, split, product(64 * 24, 64 * 11, 512));
  EXPECT_EQ(recorder.first.splits, 1);
  EXPECT_EQ(recorder.first.partials, nullptr);
  EXPECT_EQ(recorder.launches, 1);
}

TEST(Tiled, ClustersShareKInOneLaunch) {
  const CudaCandidate& eight = row("simt_64x64_k8");
  EXPECT_EQ(eight.needs(), CudaNeeds::tma);
  EXPECT_EQ(row("simt_64x64").needs(), CudaNeeds::ampere);
  // Of 1000 terms each block has 128; of 65 the last three blocks have none.
  for (const std::int64_t k : {65, 128, 1000, 65537}) {
    GemmArgs args = product(100, 200, k);
    args.batch = args.batch_extent[0] = 3;
    args.batch_rank = 1;
    ASSERT_EQ(eight.illegal_because(args, kH200), nullptr) << k;
    Recorder recorder;
    record(recorder, eight, args);
    EXPECT_EQ(recorder.launches, 1);
    EXPECT_EQ(recorder.scratch_bytes, 0u);
    EXPECT_EQ(recorder.first.partials, nullptr);
    EXPECT_EQ(recorder.first.splits, 8);
    EXPECT_EQ(recorder.first.terms % 16, 0);
    EXPECT_GE(recorder.first.terms * 8, k);
    EXPECT_EQ(recorder.grid.x, 2u * 4u * 3u * 8u);
    EXPECT_TRUE(has_define(eight, args, "CLUSTER_K=8"));
    EXPECT_EQ(eight.plans(eight.variant(args)).size(), 1u);
  }
  // A cluster of four would have as much to do in each block.
  EXPECT_NE(eight.illegal_because(product(64, 64, 64), kH200), nullptr);
  EXPECT_EQ(row("simt_64x64_k4").illegal_because(product(64, 64, 64), kH200), nullptr);
  EXPECT_NE(eight.illegal_because(product(4096, 4096, 4096), kH200), nullptr);
}

TEST(Tiled, RefusesWhatItsIndicesCannotHold) {
  const CudaCandidate& simt = row("simt_128x128");
  EXPECT_EQ(simt.illegal_because(product(4096, 4096, 4096), kH200), nullptr);
  EXPECT_STREQ(simt.illegal_because(product(64, 64, 64, "NN", DType::f64), kH200), "other types");
  EXPECT_NE(simt.illegal_because(product(64, 64, std::int64_t{1} << 31), kH200), nullptr);
  GemmArgs apart = product(64, 64, 64);
  apart.a_row = std::int64_t{1} << 25;
  EXPECT_NE(simt.illegal_because(apart, kH200), nullptr);
  apart.a_row = -(std::int64_t{1} << 20);
  EXPECT_EQ(simt.illegal_because(apart, kH200), nullptr);
  GemmArgs misaligned = product(64, 64, 64);
  misaligned.c = reinterpret_cast<void*>(0x3002);
  EXPECT_NE(simt.illegal_because(misaligned, kH200), nullptr);
  CudaMachine small = kH200;
  small.shared_bytes = 99 << 10;
  EXPECT_EQ(simt.illegal_because(product(64, 64, 64), small), nullptr);
  EXPECT_NE(row("simt_128x256").illegal_because(product(64, 64, 64), small), nullptr);
}

TEST(Tiled, TheModelPrefersLargeTilesForLargeProductsAndSplitsLongOnes) {
  const auto best = [](const GemmArgs& args) {
    double least = 1e9;
    std::string name;
    for (const auto& candidate : rows()) {
      if (candidate->illegal_because(args, kH200) != nullptr) continue;
      const double s = candidate->predicted_s(args, kH200);
      if (s < least) least = s, name = candidate->name();
    }
    return name;
  };
  EXPECT_EQ(best(product(4096, 4096, 4096)), "simt_128x128");
  EXPECT_EQ(best(product(256, 256, 169343, "TN")), "simt_128x128_split");
  EXPECT_EQ(best(product(2048, 2048, 2048, "NN", DType::f64)).substr(0, 4), "dmma");
  // A few tiles, whose sums take longer by a second kernel than by their cluster.
  EXPECT_EQ(best(product(128, 128, 128, "NN", DType::f64)).substr(0, 10), "dmma_32x32");
  EXPECT_EQ(best(product(128, 128, 128, "NN", DType::f64)).find("split"), std::string::npos);
}

TEST(Naive, TakesWhatOthersRefuse) {
  const CudaCandidate& naive = row("naive");
  GemmArgs args = product(3, 5, 7);
  args.b = reinterpret_cast<const void*>(0x2001);
  args.a_row = -7;
  args.b_row = 0;
  EXPECT_EQ(naive.illegal_because(args, kH200), nullptr);
  EXPECT_TRUE(has_define(naive, args, "BYTEWISE=1"));
  EXPECT_TRUE(has_define(naive, product(3, 5, 7), "BYTEWISE=0"));
}

}  // namespace
}  // namespace rooftune
