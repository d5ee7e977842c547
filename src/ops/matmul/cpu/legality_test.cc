#include "ops/matmul/cpu/legality.h"

#include <gtest/gtest.h>

#include <string>

namespace rooftune {
namespace {

// Dense operands; T: stored transposed.
GemmArgs product(std::int64_t m, std::int64_t n, std::int64_t k, const std::string& layout = "NN") {
  GemmArgs g;
  g.m = m, g.n = n, g.k = k;
  g.a_row = layout[0] == 'N' ? k : 1;
  g.a_col = layout[0] == 'N' ? 1 : m;
  g.b_row = layout[1] == 'N' ? n : 1;
  g.b_col = layout[1] == 'N' ? 1 : k;
  g.c_row = n, g.c_col = 1;
  g.batch = 1;
  return g;
}

TEST(Legality, VectorKernelsNeedAVector) {
  EXPECT_STREQ(gemv_rows_illegal(product(2, 2, 9), 1), "needs m = 1 or n = 1");
  EXPECT_STREQ(gemv_cols_illegal(product(2, 2, 9), 1), "needs m = 1 or n = 1");
  EXPECT_STREQ(gemv_split_k_illegal(product(2, 2, 9), 1), "needs m = 1 or n = 1");
}

TEST(Legality, VectorKernelsNeedTheirLayout) {
  EXPECT_EQ(gemv_rows_illegal(product(9, 1, 9, "NN"), 1), nullptr);
  EXPECT_NE(gemv_rows_illegal(product(9, 1, 9, "TN"), 1), nullptr);
  EXPECT_EQ(gemv_cols_illegal(product(9, 1, 9, "TN"), 1), nullptr);
  EXPECT_NE(gemv_cols_illegal(product(9, 1, 9, "NN"), 1), nullptr);
  EXPECT_EQ(gemv_rows_illegal(product(1, 9, 9, "NT"), 1), nullptr);
  EXPECT_NE(gemv_rows_illegal(product(1, 9, 9, "NN"), 1), nullptr);
  EXPECT_EQ(gemv_cols_illegal(product(1, 9, 9, "NN"), 1), nullptr);
  for (const char* layout : {"NN", "NT", "TN", "TT"}) {
    EXPECT_EQ(gemv_split_k_illegal(product(1, 9, 9, layout), 1), nullptr);
    EXPECT_EQ(gemv_split_k_illegal(product(9, 1, 9, layout), 1), nullptr);
  }
  GemmArgs sliced = product(9, 1, 9);
  sliced.a_col = 2;
  EXPECT_NE(gemv_split_k_illegal(sliced, 1), nullptr);
}

// The stride of an axis of extent 1 means nothing.
TEST(Legality, StridesOfSingleElementsDoNotCount) {
  GemmArgs g = product(9, 1, 1);
  g.a_col = 77;
  EXPECT_EQ(gemv_rows_illegal(g, 1), nullptr);
  g = product(1, 9, 9, "NT");
  g.a_row = -5;
  EXPECT_EQ(tile_illegal(g, 1), nullptr);
}

TEST(Legality, SkinnyKernelsLookAtTheLargeOperand) {
  EXPECT_EQ(skinny_rows_illegal(product(999, 32, 9, "NN"), 1), nullptr);
  EXPECT_STREQ(skinny_rows_illegal(product(999, 33, 9, "NN"), 1), "needs m <= 32 or n <= 32");
  EXPECT_NE(skinny_rows_illegal(product(999, 16, 9, "TN"), 1), nullptr);
  EXPECT_EQ(skinny_cols_illegal(product(999, 16, 9, "TN"), 1), nullptr);
  EXPECT_EQ(skinny_cols_illegal(product(16, 999, 9, "TN"), 1), nullptr);
  EXPECT_EQ(skinny_rows_illegal(product(16, 999, 9, "TT"), 1), nullptr);
}

TEST(Legality, TilesNeedVectorsOfOneOperand) {
  EXPECT_EQ(tile_illegal(product(9, 9, 9, "NN"), 1), nullptr);
  EXPECT_EQ(tile_illegal(product(9, 9, 9, "TN"), 1), nullptr);
  EXPECT_EQ(tile_illegal(product(9, 9, 9, "TT"), 1), nullptr);
  EXPECT_NE(tile_illegal(product(9, 9, 9, "NT"), 1), nullptr);
}

TEST(Legality, TinyKernelsTakeEveryLayout) {
  EXPECT_EQ(tiny_illegal(product(160, 160, 160, "NN"), 1), nullptr);
  EXPECT_EQ(tiny_illegal(product(160, 160, 160, "NT"), 1), nullptr);
  EXPECT_STREQ(tiny_illegal(product(161, 1, 1, "NN"), 1), "needs m, n and k <= 160");
}

TEST(Legality, StretchesInPlaceNeedSmallResultsAndVectors) {
  EXPECT_EQ(split_k_in_place_illegal(product(64, 64, 9, "TN"), 1), nullptr);
  EXPECT_NE(split_k_in_place_illegal(product(64, 64, 9, "NT"), 1), nullptr);
  EXPECT_NE(split_k_in_place_illegal(product(1024, 1025, 9, "NN"), 1), nullptr);
}

TEST(Legality, PartialResultsAreBoundedWithoutOverflow) {
  EXPECT_EQ(split_k_illegal(product(1024, 1024, 9), 1), nullptr);
  EXPECT_NE(split_k_illegal(product(1024, 1025, 9), 1), nullptr);
  EXPECT_NE(split_k_illegal(product(std::int64_t{1} << 40, std::int64_t{1} << 40, 1), 1), nullptr);
}

TEST(Legality, OuterProductsHaveOneTerm) {
  EXPECT_EQ(outer_illegal(product(9, 9, 1), 1), nullptr);
  EXPECT_STREQ(outer_illegal(product(9, 9, 2), 1), "needs k = 1");
}

}  // namespace
}  // namespace rooftune
