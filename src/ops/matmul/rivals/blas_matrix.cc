#include "ops/matmul/rivals/blas_matrix.h"

#include <algorithm>
#include <utility>

namespace rooftune::rivals {

std::optional<BlasMatrix> blas_matrix(std::int64_t rows, std::int64_t columns,
                                      std::int64_t row_stride, std::int64_t column_stride) {
  if (rows == 1) row_stride = std::max<std::int64_t>(columns, 1);
  if (columns == 1) column_stride = 1;
  if (column_stride == 1 && row_stride >= std::max<std::int64_t>(columns, 1)) {
    return BlasMatrix{false, row_stride};
  }
  if (rows == 1) row_stride = 1;
  if (columns == 1) column_stride = std::max<std::int64_t>(rows, 1);
  if (row_stride == 1 && column_stride >= std::max<std::int64_t>(rows, 1)) {
    return BlasMatrix{true, column_stride};
  }
  return std::nullopt;
}

std::optional<BlasCall> blas_call(const GemmArgs& args) {
  const auto a = blas_matrix(args.m, args.k, args.a_row, args.a_col);
  const auto b = blas_matrix(args.k, args.n, args.b_row, args.b_col);
  const auto c = blas_matrix(args.m, args.n, args.c_row, args.c_col);
  if (!a || !b || !c || c->transposed) return std::nullopt;
  return BlasCall{*a, *b, *c};
}

GemmArgs with_output_by_rows(const GemmArgs& args) {
  GemmArgs other = args;
  const auto c = blas_matrix(args.m, args.n, args.c_row, args.c_col);
  if (!c || !c->transposed) return other;
  std::swap(other.m, other.n);
  std::swap(other.a, other.b);
  std::swap(other.a_type, other.b_type);
  std::swap(other.a_batch, other.b_batch);
  other.a_row = args.b_col, other.a_col = args.b_row;
  other.b_row = args.a_col, other.b_col = args.a_row;
  std::swap(other.c_row, other.c_col);
  return other;
}

}  // namespace rooftune::rivals
