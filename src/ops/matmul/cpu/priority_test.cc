#include "ops/matmul/cpu/priority.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ops/matmul/cpu/candidates.h"
#include "ops/matmul/key.h"

namespace rooftune {
namespace {

MatmulKey key_of(std::int64_t m, std::int64_t n, std::int64_t k, int threads = 2) {
  MatmulKey key;
  key.m = m, key.n = n, key.k = k;
  key.threads = threads;
  const std::int64_t most = std::max({m, n, k});
  key.scale = most < 512    ? MatmulScale::small
              : most < 2048 ? MatmulScale::medium
                            : MatmulScale::large;
  if (n == 1) key.kind = MatmulKind::mat_vec;
  if (m == 1) key.kind = MatmulKind::vec_mat;
  return key;
}

// Techniques of the candidates of one level that are tried first, each as often as it has one.
std::vector<std::string> first_round(const MatmulKey& key, Isa isa) {
  std::vector<std::string> sources;
  for (const CpuMatmulCandidate& row : cpu_matmul_candidates()) {
    if (row.kernels.f32 == nullptr || row.gives != Precision::highest) continue;
    if (row.isa == isa && row.priority(key) == 3) sources.emplace_back(row.source);
  }
  return sources;
}

bool has(const std::vector<std::string>& round, const std::string& source) {
  return std::find(round.begin(), round.end(), source) != round.end();
}

TEST(Priority, FirstRoundsAreShort) {
  for (const std::int64_t m : {1, 2, 8, 64, 128, 512, 1024, 4096}) {
    for (const std::int64_t n : {1, 2, 8, 64, 128, 512, 1024, 4096}) {
      for (const std::int64_t k : {1, 2, 8, 64, 128, 512, 1024, 4096, 65536}) {
        for (const Isa isa : {Isa::portable, Isa::neon, Isa::avx2, Isa::avx512}) {
          const auto rows = cpu_matmul_candidates();
          if (std::none_of(rows.begin(), rows.end(), [&](auto& r) { return r.isa == isa; }))
            continue;
          const auto round = first_round(key_of(m, n, k), isa);
          EXPECT_GE(round.size(), 1u) << m << " " << n << " " << k;
          EXPECT_LE(round.size(), 8u) << m << " " << n << " " << k;
        }
      }
    }
  }
}

TEST(Priority, EveryTechniqueIsTriedFirstSomewhere) {
  constexpr Isa kIsa = Isa::portable;
  EXPECT_TRUE(has(first_round(key_of(4096, 4096, 4096), kIsa), "packed"));
  EXPECT_TRUE(has(first_round(key_of(256, 256, 256), kIsa), "tile"));
  EXPECT_TRUE(has(first_round(key_of(8, 8, 8), kIsa), "tiny"));
  EXPECT_TRUE(has(first_round(key_of(64, 64, 65536), kIsa), "split_k"));
  EXPECT_TRUE(has(first_round(key_of(4096, 16, 4096), kIsa), "skinny_rows"));
  EXPECT_TRUE(has(first_round(key_of(16, 4096, 4096), kIsa), "skinny_cols"));
  EXPECT_TRUE(has(first_round(key_of(1, 4096, 4096), kIsa), "gemv_cols"));
  EXPECT_TRUE(has(first_round(key_of(4096, 1, 4096), kIsa), "gemv_rows"));
  EXPECT_TRUE(has(first_round(key_of(1, 1, 65536), kIsa), "gemv_split_k"));
  EXPECT_TRUE(has(first_round(key_of(4096, 4096, 1), kIsa), "outer"));
}

TEST(Priority, SplittingTheSumIsForSeveralThreads) {
  EXPECT_FALSE(has(first_round(key_of(64, 64, 65536, 1), Isa::portable), "split_k"));
  EXPECT_FALSE(has(first_round(key_of(1, 4096, 4096, 1), Isa::portable), "gemv_split_k"));
}

// A key stands for sizes down to the one above the next smaller anchor.
TEST(Priority, AnchoredSizesDoNotHideATechnique) {
  EXPECT_TRUE(has(first_round(key_of(64, 4096, 4096), Isa::portable), "skinny_cols"));
  EXPECT_FALSE(has(first_round(key_of(128, 4096, 4096), Isa::portable), "skinny_cols"));
  EXPECT_TRUE(has(first_round(key_of(256, 256, 256), Isa::portable), "tiny"));
  EXPECT_FALSE(has(first_round(key_of(512, 512, 512), Isa::portable), "tiny"));
}

TEST(Priority, PortableIsNeverOutOfReach) {
  // Whatever the key, some portable candidate that accepts everything is in some round.
  for (const std::int64_t m : {1, 64, 4096}) {
    for (const std::int64_t n : {1, 64, 4096}) {
      EXPECT_GE(cpu_matmul_candidates().front().priority(key_of(m, n, 512)), 0);
    }
  }
}

}  // namespace
}  // namespace rooftune
