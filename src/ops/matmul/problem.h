// One checked product: operands as matrices with a broadcast batch, ready for key and kernels.
#ifndef ROOFTUNE_OPS_MATMUL_PROBLEM_H_
#define ROOFTUNE_OPS_MATMUL_PROBLEM_H_

#include "ops/matmul/cpu/gemm_args.h"
#include "rooftune/error.h"
#include "rooftune/matmul.h"
#include "rooftune/tensor.h"

namespace rooftune {

// The arguments kernels see, plus what only the key needs.
struct MatmulProblem {
  GemmArgs gemm;
  DType lhs = DType::f32, rhs = DType::f32, out = DType::f32;
  Precision precision = Precision::highest;
};

// Checks shapes, types and overlap, broadcasts the batch, and folds a right operand that all
// batches share into the rows when strides allow it (metadata only). Extents may be zero; then
// only shapes are meaningful.
// Errors: shape_mismatch, unsupported, overlap, invalid_argument, each with the shapes in the text.
// `problem` is a fresh one; it is filled in rather than returned because it is large and this is
// on the path of every call.
Status make_matmul_problem(const ConstView& lhs, const ConstView& rhs, const View& out,
                           const MatmulOptions& options, MatmulProblem& problem);

// alpha or beta as kernels use it: rounded to the type of the operands.
inline double scalar_in(DType dtype, double value) {
  if (dtype != DType::f32) return value;
  // GCC 12 drops the way to float and back when it puts two of these into one vector; not from a
  // volatile.
  const volatile float rounded = static_cast<float>(value);
  return rounded;
}

// Operations and unavoidable bytes: batch * m * n * (2k - 1), and each input once (a broadcast
// one not repeated) plus the output once. In double: no size overflows.
double matmul_ops(const GemmArgs& gemm);
double matmul_bytes(const MatmulProblem& problem);

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_PROBLEM_H_
