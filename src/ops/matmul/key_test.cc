#include "ops/matmul/key.h"

#include <gtest/gtest.h>

#include "ops/matmul/problem_for_test.h"

namespace rooftune {
namespace {

MatmulKey key_of(const Layout& lhs, const Layout& rhs, const Layout& out, DType dtype = DType::f32,
                 const MatmulOptions& options = {}, Level level = Level::balanced) {
  const auto problem = problem_of(lhs, rhs, out, dtype, options);
  EXPECT_TRUE(problem) << problem.error().text;
  return make_matmul_key(*problem, level, 4);
}

MatmulKey square(std::int64_t n, bool transposed = false) {
  return key_of(dense({n, n}), transposed ? strided({n, n}, {1, n}) : dense({n, n}), dense({n, n}));
}

MatmulKey product(std::int64_t m, std::int64_t n, std::int64_t k) {
  return key_of(dense({m, k}), dense({k, n}), dense({m, n}));
}

// The lines that SYSTEM section 3 gives.
TEST(MatmulKeyTest, SquareProductsArePinned) {
  const auto contiguous = [](int size, int stride, const char* scale) {
    const std::string n = std::to_string(size), s = std::to_string(stride);
    return "m=" + n + " n=" + n + " k=" + n + " lhs_pow2=4 lhs_stride=" + s +
           " rhs_pow2=4 rhs_stride=" + s + " layout_rhs=Contiguous scale=" + scale +
           " kind=General";
  };
  EXPECT_EQ(short_text(square(512)), contiguous(512, 10, "Medium"));
  EXPECT_EQ(short_text(square(768)), contiguous(1024, 10, "Medium"));
  EXPECT_EQ(short_text(square(1000)), contiguous(1024, 5, "Medium"));
  EXPECT_EQ(short_text(square(1024)), contiguous(1024, 10, "Medium"));
  EXPECT_EQ(short_text(square(1025)), contiguous(2048, 2, "Large"));
  EXPECT_EQ(short_text(square(2048)), contiguous(2048, 10, "Large"));
  EXPECT_EQ(short_text(square(1024, true)),
            "m=1024 n=1024 k=1024 lhs_pow2=4 lhs_stride=10 rhs_pow2=4 rhs_stride=10 "
            "layout_rhs=MildlyPermuted { transposed: true, batch_swap: false } scale=Medium "
            "kind=General");
  EXPECT_EQ(square(768), square(1024));
  EXPECT_FALSE(square(1000) == square(1024));
}

TEST(MatmulKeyTest, KindIsThatOfTheRealSizes) {
  EXPECT_EQ(product(5, 7, 3).kind, MatmulKind::general);
  EXPECT_EQ(product(5, 1, 3).kind, MatmulKind::mat_vec);
  EXPECT_EQ(product(1, 7, 3).kind, MatmulKind::vec_mat);
  EXPECT_EQ(product(1, 7, 1).kind, MatmulKind::scalar_vec);
  EXPECT_EQ(product(5, 1, 1).kind, MatmulKind::vec_scalar);
  EXPECT_EQ(product(1, 1, 3).kind, MatmulKind::inner_product);
  EXPECT_EQ(product(5, 7, 1).kind, MatmulKind::outer_product);
  EXPECT_EQ(product(1, 1, 1).kind, MatmulKind::scalar_product);
}

TEST(MatmulKeyTest, ScaleIsThatOfTheAnchoredSizes) {
  EXPECT_EQ(product(256, 256, 256).scale, MatmulScale::small);
  EXPECT_EQ(product(257, 4, 4).scale, MatmulScale::medium);
  EXPECT_EQ(product(1024, 1024, 1024).scale, MatmulScale::medium);
  EXPECT_EQ(product(4, 4, 1025).scale, MatmulScale::large);
}

TEST(MatmulKeyTest, AlignmentIsThatOfTheRealStrides) {
  // Rows of 100 floats in a pitch of 104, 128 and 1000 bytes' worth of elements.
  for (const auto& [pitch, zeros] :
       {std::pair{std::int64_t{104}, 5}, {128, 9}, {256, 10}, {1024, 10}, {101, 2}}) {
    const MatmulKey key = key_of(strided({64, 100}, {pitch, 1}), dense({100, 64}), dense({64, 64}));
    EXPECT_EQ(key.lhs_stride, zeros) << pitch;
  }
  // f64 has twice the bytes.
  EXPECT_EQ(key_of(strided({64, 100}, {101, 1}), dense({100, 64}), dense({64, 64}), DType::f64)
                .lhs_stride,
            3);
  // A single row has no stride left.
  EXPECT_EQ(product(1, 7, 9).lhs_stride, 10);
  // Negative strides count by their size.
  EXPECT_EQ(key_of(strided({64, 100}, {-104, 1}), dense({100, 64}), dense({64, 64})).lhs_stride, 5);
}

TEST(MatmulKeyTest, LayoutsOfAStridedBatch) {
  const auto lhs = [](const Layout& layout) {
    return key_of(layout, dense({3, 5, 7}), dense({3, 4, 7})).layout_lhs;
  };
  EXPECT_EQ(to_string(lhs(dense({3, 4, 5}))), "Contiguous");
  EXPECT_EQ(to_string(lhs(strided({3, 4, 5}, {20, 1, 4}))),
            "MildlyPermuted { transposed: true, batch_swap: false }");
  // A broadcast batch is swapped, and so aligned to nothing.
  EXPECT_EQ(to_string(lhs(strided({3, 4, 5}, {0, 5, 1}))),
            "MildlyPermuted { transposed: false, batch_swap: true }");
  // A batch axis inside the matrix axes, and a matrix axis without a step.
  EXPECT_EQ(to_string(lhs(strided({3, 4, 5}, {5, 15, 1}))), "HighlyPermuted");
  EXPECT_EQ(to_string(lhs(strided({3, 4, 5}, {20, 0, 1}))), "HighlyPermuted");
  const MatmulKey key = key_of(strided({3, 4, 5}, {5, 15, 1}), dense({3, 5, 7}), dense({3, 4, 7}));
  EXPECT_EQ(key.lhs_pow2, 0);
  EXPECT_EQ(key.lhs_stride, 0);
  // Batch strides that ascend.
  EXPECT_EQ(to_string(key_of(strided({2, 3, 4, 5}, {20, 40, 5, 1}), dense({2, 3, 5, 7}),
                             dense({2, 3, 4, 7}))
                          .layout_lhs),
            "MildlyPermuted { transposed: false, batch_swap: true }");
}

TEST(MatmulKeyTest, OursAddsBatchTypesAndAccumulation) {
  const MatmulKey one = product(64, 64, 64);
  EXPECT_FALSE(one == key_of(dense({9, 64, 64}), dense({9, 64, 64}), dense({9, 64, 64})));
  EXPECT_EQ(key_of(dense({9, 64, 64}), dense({9, 64, 64}), dense({9, 64, 64})),
            key_of(dense({16, 64, 64}), dense({16, 64, 64}), dense({16, 64, 64})));
  EXPECT_FALSE(one == key_of(dense({64, 64}), dense({64, 64}), dense({64, 64}), DType::f64));
  EXPECT_FALSE(one ==
               key_of(dense({64, 64}), dense({64, 64}), dense({64, 64}), DType::f32, {.beta = 1}));
  EXPECT_EQ(one,
            key_of(dense({64, 64}), dense({64, 64}), dense({64, 64}), DType::f32, {.alpha = 3}));
  const auto problem = problem_of(dense({64, 64}), dense({64, 64}), dense({64, 64}));
  EXPECT_FALSE(one == make_matmul_key(*problem, Level::balanced, 5)) << "threads";
}

TEST(MatmulKeyTest, LevelsRoundDifferently) {
  EXPECT_EQ(
      key_of(dense({100, 100}), dense({100, 100}), dense({100, 100}), DType::f32, {}, Level::full)
          .m,
      100);
  EXPECT_EQ(key_of(dense({100, 100}), dense({100, 100}), dense({100, 100}), DType::f32, {},
                   Level::minimal)
                .m,
            245);
}

TEST(MatmulKeyTest, JsonBothWays) {
  for (const MatmulKey& key :
       {square(1000), square(1024, true), product(1, 1, 3),
        key_of(strided({3, 4, 5}, {5, 15, 1}), dense({3, 5, 7}), dense({3, 4, 7})),
        key_of(dense({64, 64}), dense({64, 64}), dense({64, 64}), DType::f64, {.beta = 1})}) {
    const auto back = key_from_json<MatmulKey>(key_json(key));
    ASSERT_TRUE(back) << back.error().text;
    EXPECT_EQ(*back, key);
    EXPECT_TRUE(same_key(*back, key));
  }
}

TEST(MatmulKeyTest, ShortTextShowsWhatDiffersFromAPlainProduct) {
  EXPECT_EQ(
      short_text(key_of(dense({9, 64, 64}), dense({9, 64, 64}), dense({9, 64, 64}), DType::f64)),
      "m=64 n=64 k=64 lhs_pow2=4 lhs_stride=9 rhs_pow2=4 rhs_stride=9 "
      "layout_rhs=Contiguous scale=Small kind=General batch=16 elem_lhs=f64 elem_rhs=f64 "
      "elem_out=f64");
}

TEST(MatmulKeyTest, HugeSizesStayPositive) {
  const MatmulKey key = product(1, std::int64_t{1} << 31, 1);
  EXPECT_EQ(key.n, std::int64_t{1} << 31);
  const auto problem =
      problem_of(dense({100000, 100000}), dense({100000, 100000}), dense({100000, 100000}));
  EXPECT_DOUBLE_EQ(matmul_ops(problem->gemm), 1e10 * 199999.0);
  EXPECT_DOUBLE_EQ(matmul_bytes(problem->gemm), 12e10);
}

}  // namespace
}  // namespace rooftune
