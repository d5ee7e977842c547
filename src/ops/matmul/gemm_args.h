// One matmul as kernels see it: sizes, element strides, pointers. Every operand is valid
// memory for exactly the elements that its strides reach; nothing beside them may be touched.
#ifndef ROOFTUNE_OPS_MATMUL_GEMM_ARGS_H_
#define ROOFTUNE_OPS_MATMUL_GEMM_ARGS_H_

#include <array>
#include <cstdint>

#include "rooftune/dtype.h"
#include "rooftune/precision.h"

namespace rooftune {

inline constexpr int kMaxBatchAxes = 6;

// The types of a product: those of A and B decide which kernels there are.
enum class TypeFamily : std::uint8_t {
  f32,   // f32 in and out
  f64,   // f64 in and out
  bf16,  // bf16 in, sums in f32, bf16 or f32 out
  f16,   // f16 in, sums in f32, f16 or f32 out
  int8,  // i8 or u8 in, each for itself; sums and out i32
  f8,    // f8e4m3 or f8e5m2 in, each for itself; sums in f32, f32, bf16 or f16 out
};
inline constexpr int kTypeFamilies = 6;

struct PackedRhs;  // packed_rhs.h

// C[b](i,j) = alpha * sum_p A[b](i,p) * B[b](p,j) + beta * C[b](i,j).
// m, n, k and batch are at least 1; alpha is not 0. beta == 0 means that C is not read. A fallback
// for memory that the host cannot write also takes k == 0: beta times C, whatever alpha is.
// Strides count elements and may be negative, or 0 for A and B. Pointers may be misaligned even
// to the element size.
struct GemmArgs {
  TypeFamily family = TypeFamily::f32;
  DType a_type = DType::f32, b_type = DType::f32, c_type = DType::f32;
  Precision precision = Precision::highest;  // the least that the result must have
  std::int64_t m = 0, n = 0, k = 0;
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
  std::int64_t a_row = 0, a_col = 0;  // A(i,p) is a + i * a_row + p * a_col
  std::int64_t b_row = 0, b_col = 0;  // B(p,j) is b + p * b_row + j * b_col
  std::int64_t c_row = 0, c_col = 0;
  double alpha = 1, beta = 0;
  // Batch axes, outermost first; a stride of 0 in a_batch or b_batch broadcasts.
  std::int64_t batch = 1;  // product of batch_extent
  int batch_rank = 0;
  std::array<std::int64_t, kMaxBatchAxes> batch_extent{};
  std::array<std::int64_t, kMaxBatchAxes> a_batch{}, b_batch{}, c_batch{};
  // B in panels, the same for the whole batch: then b is null and its strides mean nothing.
  const PackedRhs* packed = nullptr;
  // B is A transposed: the same memory, seen the other way in every batch.
  bool gram = false;
};

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_GEMM_ARGS_H_
