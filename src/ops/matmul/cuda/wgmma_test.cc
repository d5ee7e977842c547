// The host side of the warpgroup products: what is launched for awkward problems, without a GPU.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ops/matmul/cuda/candidate.h"
#include "ops/matmul/cuda/wgmma_args.h"

namespace rooftune {
namespace {

// Keeps what a candidate asks for.
class RecordingLauncher final : public CudaLauncher {
 public:
  const CudaMachine& machine() const override { return machine_; }
  Status launch(const Kernel&, const void* args, std::size_t bytes, Dim3 blocks,
                std::uint32_t threads, std::uint32_t shared_bytes) override {
    EXPECT_EQ(bytes, sizeof args_);
    std::memcpy(&args_, args, sizeof args_);
    blocks_ = blocks;
    threads_ = threads;
    shared_bytes_ = shared_bytes;
    return {};
  }
  Result<void*> scratch(std::uint64_t bytes) override {
    memory_.resize(bytes);
    return memory_.data();
  }
  Status clear(void*, std::uint64_t) override { return {}; }
  Status encode(const TensorMapShape& shape, TensorMap&) override {
    maps_.push_back(shape);
    return {};
  }

  CudaMachine machine_{.capability = 90,
                       .multiprocessors = 132,
                       .shared_bytes = 227 * 1024,
                       .last_level_cache_bytes = 60 << 20};
  WgmmaArgs args_{};
  Dim3 blocks_;
  std::uint32_t threads_ = 0, shared_bytes_ = 0;
  std::vector<std::byte> memory_;
  std::vector<TensorMapShape> maps_;
};

class NoKernel final : public Kernel {
 public:
  NoKernel() : Kernel(KernelId{}) {}
};

void* place(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

// Rows of A, columns of B and rows of C contiguous, or the other axis.
GemmArgs product(DType in, DType out, TypeFamily family, std::int64_t m, std::int64_t n,
                 std::int64_t k, bool a_mn = false, bool b_mn = false, bool c_turned = false) {
  GemmArgs args;
  args.family = family;
  args.precision = Precision::high;
  args.a_type = args.b_type = in;
  args.c_type = out;
  args.m = m;
  args.n = n;
  args.k = k;
  args.a = place(0x100000);
  args.b = place(0x200000);
  args.c = place(0x300000);
  (a_mn ? args.a_col : args.a_row) = (((a_mn ? m : k) + 15) / 16) * 16;
  (a_mn ? args.a_row : args.a_col) = 1;
  (b_mn ? args.b_row : args.b_col) = (((b_mn ? n : k) + 15) / 16) * 16;
  (b_mn ? args.b_col : args.b_row) = 1;
  (c_turned ? args.c_col : args.c_row) = c_turned ? m : n;
  (c_turned ? args.c_row : args.c_col) = 1;
  return args;
}

CudaCandidates rows() {
  CudaCandidates all;
  add_wgmma(all);
  return all;
}

std::string defined(const CudaKernelPlan& plan, const std::string& name) {
  for (const std::string& define : plan.defines) {
    if (define.starts_with(name + "=")) return define.substr(name.size() + 1);
  }
  return "";
}

int number(const CudaKernelPlan& plan, const std::string& name) {
  return std::stoi(defined(plan, name));
}

TEST(Wgmma, LaunchesWhatItPlansWithinWhatCopiesAndBlocksCanDo) {
  const CudaCandidates all = rows();
  std::mt19937 random(7);
  const auto size = [&](int most) {
    return std::uniform_int_distribution<std::int64_t>(1, most)(random);
  };
  int launches = 0;
  for (int round = 0; round < 60; ++round) {
    GemmArgs args;
    const std::int64_t m = size(700), n = size(700), k = size(5000);
    switch (round % 4) {
      case 0:
        args = product(DType::bf16, round % 3 == 0 ? DType::f32 : DType::bf16, TypeFamily::bf16, m,
                       n, k, round % 8 == 4, round % 16 >= 8, round % 5 == 0);
        break;
      case 1:
        args = product(DType::f32, DType::f32, TypeFamily::f32, m, n, k);
        break;
      case 2:
        args = product(DType::u8, DType::i32, TypeFamily::int8, m, n, k);
        break;
      default:
        args = product(DType::f8e5m2, DType::bf16, TypeFamily::f8, m, n, k);
    }
    args.beta = round % 7 == 0 ? 0.5 : 0;
    for (const auto& row : all) {
      RecordingLauncher launcher;
      if (row->illegal_because(args, launcher.machine()) != nullptr) continue;
      SCOPED_TRACE(row->name() + " " + std::to_string(m) + " " + std::to_string(n) + " " +
                   std::to_string(k));
      const std::vector<CudaKernelPlan> plans = row->plans(row->variant(args));
      ASSERT_EQ(plans.size(), 1u);
      const NoKernel kernel;
      const Kernel* const kernels[] = {&kernel};
      ASSERT_TRUE(row->run(launcher, kernels, args));
      ++launches;
      EXPECT_EQ(launcher.threads_, plans[0].threads);
      EXPECT_EQ(launcher.shared_bytes_, plans[0].shared_bytes);
      EXPECT_LE(launcher.shared_bytes_, launcher.machine().shared_bytes);
      EXPECT_GE(std::stoi(defined(plans[0], "STAGES")), 3);
      EXPECT_EQ(launcher.maps_.size(), defined(plans[0], "BULK_C") == "1" ? 3u : 2u);
      for (const TensorMapShape& map : launcher.maps_) {
        EXPECT_EQ(map.rank, 3);
        EXPECT_LE(map.box[0] * size_of(map.dtype), map.swizzle_bytes);
        EXPECT_LE(map.box[1], 256u);
        EXPECT_EQ(map.strides_bytes[0] % 16, 0u);
        EXPECT_EQ(map.strides_bytes[1] % 16, 0u);
      }
      // Blocks that share an operand load whole patterns of the swizzle, of 8 lines.
      EXPECT_EQ(launcher.maps_[0].box[1] % 8, 0u);
      EXPECT_EQ(launcher.maps_[1].box[1] % 8, 0u);
      // Every part of k has a block, or its sums would be those of nothing.
      const int parts = launcher.args_.k_groups * std::stoi(defined(plans[0], "CLUSTER_K"));
      EXPECT_LE(parts, launcher.args_.k_blocks);
      EXPECT_LE(launcher.args_.k_groups, 255);
      EXPECT_EQ(launcher.args_.no_arrivals & 255u, 0u);
      EXPECT_GT(row->predicted_s(args, launcher.machine()), 0);
    }
  }
  EXPECT_GT(launches, 1000);
}

TEST(Wgmma, SaysNoToWhatBulkCopiesCannotRead) {
  const CudaCandidates all = rows();
  const CudaMachine machine = RecordingLauncher().machine();
  GemmArgs good = product(DType::bf16, DType::bf16, TypeFamily::bf16, 256, 256, 256);
  EXPECT_EQ(all[0]->illegal_because(good, machine), nullptr);
  GemmArgs args = good;
  args.a = place(0x100008);
  EXPECT_NE(all[0]->illegal_because(args, machine), nullptr);
  args = good;
  args.b_col = 257;
  EXPECT_NE(all[0]->illegal_because(args, machine), nullptr);
  args = good;
  args.a_row = -256;
  EXPECT_NE(all[0]->illegal_because(args, machine), nullptr);
  // C may be anything.
  args = good;
  args.c = place(0x300002);
  args.c_row = 301;
  EXPECT_EQ(all[0]->illegal_because(args, machine), nullptr);
  EXPECT_NE(all[0]->variant(args), all[0]->variant(good));
  // Only 16-bit operands may have m or n contiguous; TF32 is no f32.
  args = product(DType::i8, DType::i32, TypeFamily::int8, 256, 256, 256, true);
  EXPECT_NE(all[0]->illegal_because(args, machine), nullptr);
  args = product(DType::f32, DType::f32, TypeFamily::f32, 256, 256, 256);
  EXPECT_EQ(all[0]->illegal_because(args, machine), nullptr);
  args.precision = Precision::split;
  EXPECT_NE(all[0]->illegal_because(args, machine), nullptr);
}

TEST(Wgmma, BroadcastOperandsAreReadAtTheirFirstMatrix) {
  const CudaCandidates all = rows();
  GemmArgs args = product(DType::f16, DType::f16, TypeFamily::f16, 64, 128, 64);
  args.batch = 70000;
  args.batch_rank = 1;
  args.batch_extent[0] = args.batch;
  args.a_batch[0] = 64 * 64;
  args.c_batch[0] = 64 * 128;
  RecordingLauncher launcher;
  const NoKernel kernel;
  const Kernel* const kernels[] = {&kernel};
  ASSERT_EQ(all[0]->illegal_because(args, launcher.machine()), nullptr);
  ASSERT_TRUE(all[0]->run(launcher, kernels, args));
  EXPECT_EQ(launcher.args_.a_batched, 1);
  EXPECT_EQ(launcher.args_.b_batched, 0);
  EXPECT_EQ(launcher.maps_[0].extents[2], 70000u);
  EXPECT_EQ(launcher.maps_[1].extents[2], 1u);
  EXPECT_EQ(launcher.args_.tiles, 70000u);
  EXPECT_EQ(launcher.blocks_.x, 132u);
}

TEST(Wgmma, EveryVariantCanBePlanned) {
  for (const auto& row : rows()) {
    for (const CudaVariant variant : row->variants()) {
      const std::vector<CudaKernelPlan> plans = row->plans(variant);
      ASSERT_EQ(plans.size(), 1u);
      EXPECT_LE(plans[0].shared_bytes, 227u * 1024);
      EXPECT_LE(plans[0].threads, 1024u);
      if (defined(plans[0], "SPLIT") != "1") continue;
      // The sums of a tile take the place of the stages: wgmma_split_k.cuh.
      const int m = 64 * number(plans[0], "ROW_BLOCKS") * number(plans[0], "WARPGROUPS");
      const int n = number(plans[0], "WGMMA_N");
      const bool turned = number(plans[0], "C_TURNED") != 0;
      const int lines = turned ? n : m, pitch = turned ? m + 4 : n + 8;
      const int rows_b = number(plans[0], "B_MN") != 0 ? (n + 63) / 64 * 64 : n;
      EXPECT_EQ(lines % number(plans[0], "CLUSTER_K"), 0) << row->name();
      EXPECT_LE(lines * pitch * 4, number(plans[0], "STAGES") * (m + rows_b) * 128) << row->name();
    }
  }
}

TEST(Wgmma, NoTwoRowsAreTheSameForAProduct) {
  const CudaMachine machine = RecordingLauncher().machine();
  const CudaCandidates all = rows();
  for (const DType in : {DType::bf16, DType::f8e4m3}) {
    const TypeFamily family = in == DType::bf16 ? TypeFamily::bf16 : TypeFamily::f8;
    for (const auto& [m, n] : {std::pair{256, 256}, {64, 4096}, {4096, 64}}) {
      const GemmArgs args = product(in, DType::bf16, family, m, n, 4096);
      std::map<std::pair<std::vector<std::string>, bool>, std::string> names;
      for (const auto& row : all) {
        if (row->illegal_because(args, machine) != nullptr) continue;
        const bool swaps = m < n && row->name().find("_swap_") != std::string::npos;
        const auto [same, added] =
            names.try_emplace({row->plans(row->variant(args))[0].defines, swaps}, row->name());
        EXPECT_TRUE(added) << row->name() << " is " << same->second;
      }
    }
  }
}

// The name of the row with the best guess.
std::string best_guess(const GemmArgs& args) {
  const CudaMachine machine = RecordingLauncher().machine();
  std::string best;
  double best_s = 1;
  for (const auto& row : rows()) {
    if (row->illegal_because(args, machine) != nullptr) continue;
    if (const double s = row->predicted_s(args, machine); s < best_s) {
      best_s = s;
      best = row->name();
    }
  }
  return best;
}

TEST(Wgmma, GuessesFillTheMachineAndSplitOnlyWhatIsDeep) {
  const auto bf16 = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    return product(DType::bf16, DType::bf16, TypeFamily::bf16, m, n, k);
  };
  // Measured on an H200 as the best; 128 x 144 makes 128 tiles for 132 multiprocessors.
  EXPECT_EQ(best_guess(bf16(4096, 4096, 4096)), "wgmma_coop_128x256_c2");
  EXPECT_EQ(best_guess(bf16(4096, 576, 7168)), "wgmma_coop_128x144");
  EXPECT_EQ(best_guess(bf16(128, 256, 7168)), "wgmma_split_64x64_k8");
}

}  // namespace
}  // namespace rooftune
