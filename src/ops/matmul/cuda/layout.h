// Questions that every family asks about a problem.
#ifndef ROOFTUNE_OPS_MATMUL_CUDA_LAYOUT_H_
#define ROOFTUNE_OPS_MATMUL_CUDA_LAYOUT_H_

#include <cstdint>
#include <string_view>
#include <utility>

#include "ops/matmul/gemm_args.h"

namespace rooftune {

// The batch as one axis of equal strides (0 broadcasts). False when it takes several axes.
struct FlatBatch {
  std::int64_t count = 1, a = 0, b = 0, c = 0;  // strides in elements
};
inline bool flatten_batch(const GemmArgs& args, FlatBatch& flat) {
  // Neighbouring axes that could be one were merged when the problem was made.
  if (args.batch_rank > 1) return false;
  flat.count = args.batch;
  if (args.batch_rank == 1) {
    flat.a = args.a_batch[0];
    flat.b = args.b_batch[0];
    flat.c = args.c_batch[0];
  }
  return true;
}

// The transposed product, C^T = B^T A^T: for kernels that want C's columns contiguous, or m large.
inline GemmArgs transposed(const GemmArgs& args) {
  GemmArgs swapped = args;
  std::swap(swapped.m, swapped.n);
  std::swap(swapped.a, swapped.b);
  std::swap(swapped.a_type, swapped.b_type);
  swapped.a_row = args.b_col;
  swapped.a_col = args.b_row;
  swapped.b_row = args.a_col;
  swapped.b_col = args.a_row;
  swapped.c_row = args.c_col;
  swapped.c_col = args.c_row;
  std::swap(swapped.a_batch, swapped.b_batch);
  return swapped;
}

// Which axis of an operand is contiguous. An axis of extent 1 is contiguous with any stride; where
// both are, k comes first.
enum class Major : std::uint8_t { k, mn, none };
inline Major a_major(const GemmArgs& args) {
  if (args.a_col == 1 || args.k == 1) return Major::k;
  return args.a_row == 1 || args.m == 1 ? Major::mn : Major::none;
}
inline Major b_major(const GemmArgs& args) {
  if (args.b_row == 1 || args.k == 1) return Major::k;
  return args.b_col == 1 || args.n == 1 ? Major::mn : Major::none;
}

// The largest power of two, at most 16, that divides a byte address or distance.
inline std::uint64_t alignment(const void* address, std::int64_t stride_bytes = 0) {
  const auto bits = reinterpret_cast<std::uintptr_t>(address) |
                    static_cast<std::uint64_t>(stride_bytes < 0 ? -stride_bytes : stride_bytes) |
                    16u;
  return bits & (~bits + 1);
}

// The name of a type in kernels (types.cuh).
constexpr std::string_view cuda_type(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return "double";
    case DType::f32:
      return "float";
    case DType::f16:
      return "f16";
    case DType::bf16:
      return "bf16";
    case DType::i32:
      return "int";
    case DType::i8:
      return "int8";
    case DType::u8:
      return "uint8";
    case DType::f8e4m3:
      return "f8e4m3";
    case DType::f8e5m2:
      return "f8e5m2";
  }
  return "?";
}

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CUDA_LAYOUT_H_
