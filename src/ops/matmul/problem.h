// One checked product: operands as matrices with a broadcast batch, ready for key and kernels.
#ifndef ROOFTUNE_OPS_MATMUL_PROBLEM_H_
#define ROOFTUNE_OPS_MATMUL_PROBLEM_H_

#include <optional>

#include "ops/matmul/gemm_args.h"
#include "rooftune/error.h"
#include "rooftune/matmul.h"
#include "rooftune/tensor.h"

namespace rooftune {

// One product, as kernels see it.
struct MatmulProblem {
  GemmArgs gemm;
};

// The family of these operand types; nothing for a combination that there is no product of.
std::optional<TypeFamily> type_family(DType lhs, DType rhs, DType out);

// Checks shapes, types and overlap, broadcasts the batch, and folds a right operand that all
// batches share into the rows when strides allow it (metadata only). Extents may be zero; then
// only shapes are meaningful.
// Errors: shape_mismatch, unsupported, overlap, invalid_argument, each with the shapes in the text.
// `problem` is a fresh one; it is filled in rather than returned because it is large and this is
// on the path of every call.
Status make_matmul_problem(const ConstView& lhs, const ConstView& rhs, const View& out,
                           const MatmulOptions& options, MatmulProblem& problem);

// The same with a right operand that was packed before.
struct PackedRhs;
Status make_matmul_problem(const ConstView& lhs, const PackedRhs& rhs, const View& out,
                           const MatmulOptions& options, MatmulProblem& problem);

// Whether the right operand lies as the left one does, transposed: in the same memory it is that.
bool is_gram_shaped(const GemmArgs& gemm);

// alpha or beta as kernels use it: rounded to the type of the sums, which for integers it is
// already.
inline double scalar_in(TypeFamily family, double value) {
  if (family == TypeFamily::f64 || family == TypeFamily::int8) return value;
  // GCC 12 drops the way to float and back when it puts two of these into one vector; not from a
  // volatile.
  const volatile float rounded = static_cast<float>(value);
  return rounded;
}

// Operations and unavoidable bytes: batch * m * n * (2k - 1), and each input once (a broadcast
// one not repeated) plus the output once. In double: no size overflows.
double matmul_ops(const GemmArgs& gemm);
double matmul_bytes(const GemmArgs& gemm);

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_PROBLEM_H_
