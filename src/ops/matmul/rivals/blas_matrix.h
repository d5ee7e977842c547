// A product in the terms of BLAS: matrices with a leading dimension.
#ifndef ROOFTUNE_OPS_MATMUL_RIVALS_BLAS_MATRIX_H_
#define ROOFTUNE_OPS_MATMUL_RIVALS_BLAS_MATRIX_H_

#include <cstdint>
#include <optional>

#include "ops/matmul/gemm_args.h"

namespace rooftune::rivals {

// A matrix as BLAS takes it in row-major order: as it is or transposed, with a leading dimension.
struct BlasMatrix {
  bool transposed = false;
  std::int64_t leading = 1;
};
// Nothing when the strides do not allow it: one of them must be 1, the other at least the extent
// of the first. The stride of an axis with one element does not matter.
std::optional<BlasMatrix> blas_matrix(std::int64_t rows, std::int64_t columns,
                                      std::int64_t row_stride, std::int64_t column_stride);

struct BlasCall {
  BlasMatrix a, b, c;  // c is not transposed
};
// Nothing when the strides do not allow it. `args` must come from with_output_by_rows.
std::optional<BlasCall> blas_call(const GemmArgs& args);

// The same product, so that its output lies by rows where one of both ways does: the transpose of a
// product is the product of the transposes, in the other order.
GemmArgs with_output_by_rows(const GemmArgs& args);

}  // namespace rooftune::rivals

#endif  // ROOFTUNE_OPS_MATMUL_RIVALS_BLAS_MATRIX_H_
