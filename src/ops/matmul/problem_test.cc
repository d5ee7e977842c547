#include "ops/matmul/problem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ops/matmul/problem_for_test.h"

namespace rooftune {
namespace {

using ::testing::HasSubstr;

GemmArgs gemm_of(const Layout& lhs, const Layout& rhs, const Layout& out) {
  const auto problem = problem_of(lhs, rhs, out);
  EXPECT_TRUE(problem) << problem.error().text;
  return problem ? problem->gemm : GemmArgs{};
}

ErrorKind error_of(const Layout& lhs, const Layout& rhs, const Layout& out) {
  const auto problem = problem_of(lhs, rhs, out);
  return problem ? ErrorKind::internal : problem.error().kind;
}

TEST(MatmulProblemTest, AMatrixProduct) {
  const GemmArgs gemm = gemm_of(dense({4, 5}), dense({5, 7}), dense({4, 7}));
  EXPECT_EQ(gemm.m, 4);
  EXPECT_EQ(gemm.n, 7);
  EXPECT_EQ(gemm.k, 5);
  EXPECT_EQ(gemm.batch, 1);
  EXPECT_EQ(gemm.a_row, 5);
  EXPECT_EQ(gemm.b_row, 7);
  EXPECT_EQ(gemm.c_row, 7);
}

TEST(MatmulProblemTest, VectorsLackAnAxis) {
  const GemmArgs row = gemm_of(dense({5}), dense({5, 7}), dense({7}));
  EXPECT_EQ(row.m, 1);
  EXPECT_EQ(row.n, 7);
  const GemmArgs column = gemm_of(dense({4, 5}), strided({5}, {3}), dense({4}));
  EXPECT_EQ(column.n, 1);
  EXPECT_EQ(column.b_row, 3);
  EXPECT_EQ(column.c_row, 1);
  const GemmArgs inner = gemm_of(dense({5}), dense({5}), dense({}));
  EXPECT_EQ(inner.m * inner.n, 1);
}

TEST(MatmulProblemTest, ASharedRightOperandFoldsTheBatchIntoTheRows) {
  const GemmArgs gemm = gemm_of(dense({3, 4, 5}), dense({5, 7}), dense({3, 4, 7}));
  EXPECT_EQ(gemm.m, 12);
  EXPECT_EQ(gemm.batch, 1);
  // Also from [b, 1, k], whatever the pitch.
  EXPECT_EQ(gemm_of(strided({8, 1, 5}, {50, 5, 1}), dense({5, 7}), dense({8, 1, 7})).m, 8);
  // Not where the rows do not go on from matrix to matrix.
  const GemmArgs apart = gemm_of(strided({3, 4, 5}, {100, 5, 1}), dense({5, 7}), dense({3, 4, 7}));
  EXPECT_EQ(apart.m, 4);
  EXPECT_EQ(apart.batch, 3);
  // Nor a shared left operand.
  EXPECT_EQ(gemm_of(dense({4, 5}), dense({3, 5, 7}), dense({3, 4, 7})).batch, 3);
}

TEST(MatmulProblemTest, BatchesBroadcastAndMerge) {
  const GemmArgs gemm = gemm_of(dense({2, 1, 4, 5}), dense({3, 5, 7}), dense({2, 3, 4, 7}));
  EXPECT_EQ(gemm.batch, 6);
  EXPECT_EQ(gemm.batch_rank, 2);
  EXPECT_EQ(gemm.a_batch[1], 0);
  EXPECT_EQ(gemm.b_batch[0], 0);
  EXPECT_EQ(gemm_of(dense({2, 3, 4, 5}), dense({2, 3, 5, 7}), dense({2, 3, 4, 7})).batch_rank, 1);
}

TEST(MatmulProblemTest, EmptySizes) {
  EXPECT_EQ(gemm_of(dense({0, 4, 5}), dense({1, 5, 7}), dense({0, 4, 7})).batch, 0);
  EXPECT_EQ(gemm_of(dense({4, 0}), dense({0, 7}), dense({4, 7})).k, 0);
  EXPECT_EQ(gemm_of(dense({0, 5}), dense({5}), dense({0})).m, 0);
}

TEST(MatmulProblemTest, ShapesThatDoNotFit) {
  EXPECT_EQ(error_of(dense({4, 5}), dense({6, 7}), dense({4, 7})), ErrorKind::shape_mismatch);
  EXPECT_EQ(error_of(dense({4, 5}), dense({5, 7}), dense({4, 8})), ErrorKind::shape_mismatch);
  EXPECT_EQ(error_of(dense({4, 5}), dense({5, 7}), dense({1, 4, 7})), ErrorKind::shape_mismatch);
  EXPECT_EQ(error_of(dense({2, 4, 5}), dense({3, 5, 7}), dense({3, 4, 7})),
            ErrorKind::shape_mismatch);
  EXPECT_EQ(error_of(dense({}), dense({5, 7}), dense({7})), ErrorKind::shape_mismatch);
  const auto wrong = problem_of(dense({4, 5}), dense({6, 7}), dense({4, 7}));
  EXPECT_THAT(wrong.error().text, HasSubstr("[4, 5]"));
  EXPECT_THAT(wrong.error().text, HasSubstr("[6, 7]"));
}

TEST(MatmulProblemTest, TypesAndPolicies) {
  MatmulProblem problem;
  const ConstView f32{nullptr, DType::f32, dense({2, 2})}, f64{nullptr, DType::f64, dense({2, 2})};
  const ConstView bf16{nullptr, DType::bf16, dense({2, 2})};
  const View out{nullptr, DType::f32, dense({2, 2})};
  const Status mixed = make_matmul_problem(f32, f64, out, {}, problem);
  ASSERT_FALSE(mixed);
  EXPECT_EQ(mixed.error().kind, ErrorKind::unsupported);
  EXPECT_THAT(mixed.error().text, HasSubstr("f64"));
  EXPECT_TRUE(make_matmul_problem(bf16, bf16, {nullptr, DType::bf16, dense({2, 2})}, {}, problem));
  EXPECT_EQ(problem.gemm.family, TypeFamily::bf16);
  ASSERT_TRUE(make_matmul_problem(f32, f32, out, {.precision = Precision::high}, problem));
  EXPECT_EQ(problem.gemm.precision, Precision::high);
  // It speaks of f32: products of other types have one key whatever it is.
  ASSERT_TRUE(make_matmul_problem(bf16, bf16, out, {.precision = Precision::high}, problem));
  EXPECT_EQ(problem.gemm.precision, Precision::highest);
  EXPECT_FALSE(make_matmul_problem(f32, f32, out, {.precision = Precision(9)}, problem));
}

TEST(MatmulProblemTest, TypesThatThereIsAProductOf) {
  constexpr DType kAll[] = {DType::f64, DType::f32,    DType::f16,    DType::bf16, DType::i32,
                            DType::i8,  DType::f8e4m3, DType::f8e5m2, DType::u8};
  int products = 0;
  for (const DType a : kAll) {
    for (const DType b : kAll) {
      for (const DType c : kAll) products += type_family(a, b, c).has_value();
    }
  }
  // f32 and f64; the 16-bit types into two; pairs of bytes; pairs of f8 into three.
  EXPECT_EQ(products, 2 + 2 * 2 + 4 + 4 * 3);
  EXPECT_EQ(type_family(DType::f8e5m2, DType::f8e4m3, DType::bf16), TypeFamily::f8);
  EXPECT_EQ(type_family(DType::u8, DType::i8, DType::i32), TypeFamily::int8);
  EXPECT_EQ(type_family(DType::f16, DType::f16, DType::f32), TypeFamily::f16);
  EXPECT_FALSE(type_family(DType::f16, DType::f16, DType::bf16));
  EXPECT_FALSE(type_family(DType::f64, DType::f64, DType::f32));
}

TEST(MatmulProblemTest, ScalarsOfIntegerProductsAreWhole) {
  MatmulProblem problem;
  const ConstView bytes{nullptr, DType::i8, dense({2, 2})};
  const View out{nullptr, DType::i32, dense({2, 2})};
  EXPECT_TRUE(make_matmul_problem(bytes, bytes, out, {.alpha = -3, .beta = 0x1p31}, problem));
  for (const double bad : {0.5, 0x1p32, std::nan(""), HUGE_VAL}) {
    EXPECT_FALSE(make_matmul_problem(bytes, bytes, out, {.alpha = bad}, problem)) << bad;
    EXPECT_FALSE(make_matmul_problem(bytes, bytes, out, {.beta = bad}, problem)) << bad;
  }
}

TEST(MatmulProblemTest, OutputsThatOverlapThemselves) {
  EXPECT_EQ(error_of(dense({4, 5}), dense({5, 7}), strided({4, 7}, {0, 1})), ErrorKind::overlap);
  EXPECT_EQ(error_of(dense({4, 5}), dense({5, 7}), strided({4, 7}, {6, 1})), ErrorKind::overlap);
  EXPECT_EQ(error_of(dense({3, 4, 5}), dense({3, 5, 7}), strided({3, 4, 7}, {0, 7, 1})),
            ErrorKind::overlap);
  EXPECT_TRUE(problem_of(dense({4, 5}), dense({5, 7}), strided({4, 7}, {-7, 1})));
  EXPECT_TRUE(problem_of(dense({4, 5}), dense({5, 7}), strided({4, 7}, {1, 4})));
}

TEST(MatmulProblemTest, OutputsThatOverlapAnInput) {
  std::vector<float> memory(1000);
  MatmulProblem problem;
  const auto attempt = [&](std::size_t out_at, const Layout& out) {
    return make_matmul_problem({memory.data(), DType::f32, dense({4, 4})},
                               {memory.data() + 500, DType::f32, dense({4, 4})},
                               {memory.data() + out_at, DType::f32, out}, {}, problem);
  };
  EXPECT_TRUE(attempt(16, dense({4, 4})));
  const Status same = attempt(0, dense({4, 4}));
  ASSERT_FALSE(same);
  EXPECT_EQ(same.error().kind, ErrorKind::overlap);
  EXPECT_FALSE(attempt(15, dense({4, 4})));
  EXPECT_FALSE(attempt(503, strided({4, 4}, {100, 1})));
  // Columns of one matrix that lie side by side do not overlap.
  EXPECT_TRUE(make_matmul_problem({memory.data(), DType::f32, strided({4, 4}, {20, 1})},
                                  {memory.data() + 4, DType::f32, strided({4, 4}, {20, 1})},
                                  {memory.data() + 8, DType::f32, strided({4, 4}, {20, 1})}, {},
                                  problem));
}

TEST(MatmulProblemTest, BytesCountABroadcastOperandOnce) {
  const auto problem =
      problem_of(strided({8, 4, 5}, {0, 5, 1}), dense({8, 5, 7}), dense({8, 4, 7}));
  ASSERT_TRUE(problem);
  EXPECT_DOUBLE_EQ(matmul_bytes(problem->gemm), 4.0 * (4 * 5 + 8 * 5 * 7 + 8 * 4 * 7));
  EXPECT_DOUBLE_EQ(matmul_ops(problem->gemm), 8.0 * 4 * 7 * 9);
}

}  // namespace
}  // namespace rooftune
