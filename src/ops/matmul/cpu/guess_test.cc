#include "ops/matmul/cpu/guess.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

namespace rooftune {
namespace {

const CpuMatmulCandidate* row(std::string_view name) {
  for (const CpuMatmulCandidate& each : cpu_matmul_candidates()) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

GemmArgs product(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch = 1) {
  GemmArgs args;
  args.m = m;
  args.n = n;
  args.k = k;
  args.batch = batch;
  args.a_row = k;
  args.b_row = args.c_row = n;
  args.a_col = args.b_col = args.c_col = 1;
  args.a_type = args.b_type = args.c_type = DType::f32;
  args.family = TypeFamily::f32;
  return args;
}

GemmArgs with_left_transposed(GemmArgs args) {
  args.a_row = 1;
  args.a_col = args.m;
  return args;
}

GemmArgs with_right_transposed(GemmArgs args) {
  args.b_row = 1;
  args.b_col = args.k;
  return args;
}

double guess_of(std::string_view name, const GemmArgs& args, int threads = 2) {
  const CpuMatmulCandidate* found = row(name);
  if (found == nullptr) return std::nan("");
  const auto guess = KernelGuess::make(*found);
  return guess ? guess->seconds(args, threads) : 0;
}

// A technique that gets no model is measured every time: new ones should not be forgotten.
TEST(KernelGuess, EveryTechniqueHasAModelOrAReason) {
  const std::set<std::string_view> without = {"naive", "gram", "prepacked", "prepacked_dot",
                                              "prepacked_tiles"};
  for (const CpuMatmulCandidate& each : cpu_matmul_candidates()) {
    const bool none = without.contains(each.source) || each.gives != Precision::highest;
    EXPECT_EQ(KernelGuess::make(each).has_value(), !none) << each.name;
  }
}

TEST(KernelGuess, IsATimeForEveryProduct) {
  for (const CpuMatmulCandidate& each : cpu_matmul_candidates()) {
    const auto guess = KernelGuess::make(each);
    if (!guess || each.kernels.f32 == nullptr || each.gives != Precision::highest) continue;
    for (const std::int64_t m : {1, 7, 1000, 1 << 20}) {
      for (const std::int64_t k : {1, 33, 1 << 20}) {
        for (const int threads : {1, 2, 256}) {
          const double seconds = guess->seconds(product(m, 50, k, 3), threads);
          EXPECT_TRUE(std::isfinite(seconds) && seconds > 0) << each.name << " " << m << " " << k;
        }
      }
    }
  }
}

TEST(KernelGuess, GrowsWithTheWorkAndShrinksWithThreads) {
  const std::string_view name = "packed_portable_4x2v_k256";
  ASSERT_NE(row(name), nullptr);
  EXPECT_GT(guess_of(name, product(512, 512, 512)), 7 * guess_of(name, product(256, 256, 256)));
  EXPECT_LT(guess_of(name, product(512, 512, 512), 8), guess_of(name, product(512, 512, 512), 4));
}

// What the model is for: techniques in their place.
TEST(KernelGuess, KnowsWhatSuits) {
  for (const std::string isa : {"portable", "avx2", "avx512"}) {
    const std::string tile = isa == "portable" ? "4x2v" : isa == "avx2" ? "6x2v" : "14x2v";
    if (row("tile_" + isa + "_" + tile) == nullptr) continue;
    const auto packed = "packed_" + isa + "_" + tile + "_k256";
    if (isa != "portable") {
      EXPECT_LT(guess_of("tiny_" + isa + "_" + tile, product(23, 23, 23, 2000)),
                guess_of(packed, product(23, 23, 23, 2000)) / 1.5)
          << isa;
    }
    EXPECT_LT(guess_of("gemv_rows_" + isa, product(4096, 1, 1024)),
              guess_of(packed, product(4096, 1, 1024)) / 1.8)
        << isa;
  }
}

// Few vectors by a matrix that lies transposed: the long side is what vectors go along.
TEST(KernelGuess, KnowsWhichSideIsWalkedAlong) {
  for (const std::string isa : {"avx2", "avx512"}) {
    const std::string skinny = "skinny_cols_" + isa + (isa == "avx2" ? "_6x2v" : "_24x1v_k256");
    const std::string tile = "tile_" + isa + (isa == "avx2" ? "_6x2v" : "_24x1v");
    if (row(skinny) == nullptr) continue;
    const GemmArgs tall = with_left_transposed(product(4000, 4, 64));
    EXPECT_NEAR(guess_of(skinny, tall), guess_of(skinny, product(4, 4000, 64)),
                0.15 * guess_of(skinny, tall))
        << isa;
    EXPECT_LT(guess_of(skinny, tall), guess_of(tile, tall)) << isa;
  }
}

// Tiles that read both operands where they lie write C across its rows then; strips do not.
TEST(KernelGuess, KnowsTheLayouts) {
  if (row("tile_avx512_14x2v") == nullptr) GTEST_SKIP() << "no AVX-512 in this build";
  const GemmArgs plain = product(18, 647, 27);
  const GemmArgs turned = with_left_transposed(with_right_transposed(plain));
  EXPECT_LT(guess_of("tile_avx512_14x2v", plain, 1), guess_of("tile_avx512_14x2v", turned, 1));
  EXPECT_LT(guess_of("strip_avx512_8x3v", turned, 1), guess_of("tile_avx512_14x2v", turned, 1));
  // A left operand whose terms are pages apart.
  const GemmArgs far = with_left_transposed(product(7680, 64, 512));
  EXPECT_LT(1.2 * guess_of("tile_avx512_14x2v", product(7680, 64, 512)),
            guess_of("tile_avx512_14x2v", far));
}

TEST(KernelGuess, MatrixTilesAreForLargeProductsOfNarrowTypes) {
  const std::string_view tiles = "packed_tiles_amx_32x32_k1024", vectors = "tile_avx512_14x2v_half";
  if (row(tiles) == nullptr) GTEST_SKIP() << "no AMX in this build";
  const auto narrow = [](GemmArgs args) {
    args.a_type = args.b_type = args.c_type = DType::bf16;
    args.family = TypeFamily::bf16;
    return args;
  };
  EXPECT_EQ(guess_of(tiles, product(512, 512, 512)), 0);
  EXPECT_LT(2 * guess_of(tiles, narrow(product(512, 512, 512))),
            guess_of(vectors, narrow(product(512, 512, 512))));
  EXPECT_LT(guess_of(vectors, narrow(product(4, 8, 900))),
            guess_of(tiles, narrow(product(4, 8, 900))));
}

// Half of the lanes are of no use in a result of 8 columns.
TEST(KernelGuess, CountsTheWasteOfATile) {
  if (row("tile_avx512_14x2v") == nullptr) GTEST_SKIP() << "no AVX-512 in this build";
  EXPECT_NEAR(guess_of("tile_avx512_14x2v", product(4096, 8, 512)),
              guess_of("tile_avx512_14x2v", product(4096, 16, 512)),
              0.2 * guess_of("tile_avx512_14x2v", product(4096, 16, 512)));
}

}  // namespace
}  // namespace rooftune
