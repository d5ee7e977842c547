// Whether bulk tensor copies can take an operand where it is, and how its batch lies.
#ifndef ROOFTUNE_OPS_MATMUL_CUDA_BULK_OPERAND_H_
#define ROOFTUNE_OPS_MATMUL_CUDA_BULK_OPERAND_H_

#include <array>
#include <cstdint>

#include "ops/matmul/cuda/layout.h"
#include "ops/matmul/gemm_args.h"

namespace rooftune {

// A or B as lines: A(i, p) and B(p, i) are at i * line + p * item, in elements.
struct OperandView {
  const void* data = nullptr;
  DType dtype = DType::f32;
  std::int64_t lines = 0, items = 0;  // m or n, and k
  std::int64_t line = 0, item = 0;    // strides
  Major major = Major::none;
  const std::array<std::int64_t, kMaxBatchAxes>* batch = nullptr;
};
inline OperandView view_of_a(const GemmArgs& args) {
  return {args.a,     args.a_type, args.m,        args.k,
          args.a_row, args.a_col,  a_major(args), &args.a_batch};
}
inline OperandView view_of_b(const GemmArgs& args) {
  return {args.b,     args.b_type, args.n,        args.k,
          args.b_col, args.b_row,  b_major(args), &args.b_batch};
}

// The distance between the matrices of a batch when it is the same for all neighbours (0: one
// matrix for all).
struct BatchStride {
  bool even = true;
  std::int64_t stride = 0;
};
inline BatchStride batch_stride(const GemmArgs& args,
                                const std::array<std::int64_t, kMaxBatchAxes>& strides) {
  if (args.batch_rank == 0) return {};
  BatchStride found = {true, strides[args.batch_rank - 1]};
  std::int64_t next = found.stride;
  for (int axis = args.batch_rank - 1; axis >= 0; --axis) {
    if (strides[axis] != next) return {false, 0};
    next = strides[axis] * args.batch_extent[axis];
  }
  return found;
}

// Tensor maps take strides that are multiples of 16 bytes, and below 2^40 of them.
constexpr bool is_bulk_stride(std::int64_t bytes) {
  return bytes > 0 && bytes % 16 == 0 && bytes < (std::int64_t{1} << 40);
}

// Whether a tensor map of the operand can be made with its k (or, for 2-byte types, its m or n)
// as the contiguous axis.
inline bool is_bulk_operand(const GemmArgs& args, const OperandView& x) {
  const auto bytes = static_cast<std::int64_t>(size_of(x.dtype));
  if (x.major == Major::none || (x.major == Major::mn && bytes != 2)) return false;
  const std::int64_t pitch = x.major == Major::k ? x.line : x.item;
  const std::int64_t pitches = x.major == Major::k ? x.lines : x.items;
  if (alignment(x.data) < 16 || (pitches > 1 && !is_bulk_stride(pitch * bytes))) return false;
  const BatchStride batch = batch_stride(args, *x.batch);
  return batch.even && (batch.stride == 0 || is_bulk_stride(batch.stride * bytes));
}

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CUDA_BULK_OPERAND_H_
