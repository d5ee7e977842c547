#include "ops/matmul/rivals/blas_matrix.h"

#include "gtest/gtest.h"

namespace rooftune::rivals {
namespace {

TEST(BlasMatrix, RowsAreContiguous) {
  const auto matrix = blas_matrix(3, 5, 7, 1);
  ASSERT_TRUE(matrix);
  EXPECT_FALSE(matrix->transposed);
  EXPECT_EQ(matrix->leading, 7);
}

TEST(BlasMatrix, ColumnsAreContiguous) {
  const auto matrix = blas_matrix(3, 5, 1, 4);
  ASSERT_TRUE(matrix);
  EXPECT_TRUE(matrix->transposed);
  EXPECT_EQ(matrix->leading, 4);
}

TEST(BlasMatrix, WhatBlasCannotExpress) {
  EXPECT_FALSE(blas_matrix(3, 5, 10, 2));  // every second column
  EXPECT_FALSE(blas_matrix(3, 5, -5, 1));  // reversed
  EXPECT_FALSE(blas_matrix(3, 5, 0, 1));   // broadcast
  EXPECT_FALSE(blas_matrix(3, 5, 4, 1));   // rows overlap
}

TEST(BlasMatrix, StridesOfSingleElementsDoNotMatter) {
  EXPECT_EQ(blas_matrix(1, 5, 0, 1)->leading, 5);
  EXPECT_FALSE(blas_matrix(1, 5, 0, 1)->transposed);
  EXPECT_EQ(blas_matrix(5, 1, 3, -9)->leading, 3);
  EXPECT_TRUE(blas_matrix(1, 5, 1, 3)->transposed);  // a row with gaps: a column's transpose
  EXPECT_EQ(blas_matrix(1, 5, 1, 3)->leading, 3);
  EXPECT_TRUE(blas_matrix(1, 1, -2, -2));
}

TEST(BlasMatrix, AnOutputByColumnsIsThatOfTheTransposedProduct) {
  GemmArgs args;
  args.m = 3, args.n = 5, args.k = 7;
  args.a_row = 7, args.a_col = 1, args.b_row = 1, args.b_col = 8, args.c_row = 1, args.c_col = 4;
  args.a_type = DType::u8, args.b_type = DType::i8, args.c_type = DType::i32;
  const GemmArgs other = with_output_by_rows(args);
  EXPECT_EQ(other.m, 5);
  EXPECT_EQ(other.n, 3);
  EXPECT_EQ(other.a_type, DType::i8);
  EXPECT_EQ(other.b_type, DType::u8);
  const auto call = blas_call(other);
  ASSERT_TRUE(call);
  EXPECT_FALSE(call->a.transposed);
  EXPECT_EQ(call->a.leading, 8);
  EXPECT_TRUE(call->b.transposed);
  EXPECT_EQ(call->b.leading, 7);
  EXPECT_EQ(call->c.leading, 4);
}

TEST(BlasMatrix, AnOutputByRowsStays) {
  GemmArgs args;
  args.m = 3, args.n = 5, args.k = 7;
  args.c_row = 5, args.c_col = 1;
  EXPECT_EQ(with_output_by_rows(args).m, 3);
}

}  // namespace
}  // namespace rooftune::rivals
