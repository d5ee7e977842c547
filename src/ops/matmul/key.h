// What two products must share to share a winner. SYSTEM-wide rule: sizes are anchored (rounded
// up to a coarse grid), alignment is not.
#ifndef ROOFTUNE_OPS_MATMUL_KEY_H_
#define ROOFTUNE_OPS_MATMUL_KEY_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "rooftune/dtype.h"
#include "rooftune/key.h"
#include "rooftune/matmul.h"
#include "rooftune/settings.h"

namespace rooftune {

enum class LayoutClass : std::uint8_t { contiguous, mildly_permuted, highly_permuted };

// How a strided batch of matrices lies in memory.
//   transposed:       the row stride is smaller than the column stride
//   batch_swap:       batch strides are not descending, or a batch axis is broadcast (stride 0)
//   highly_permuted:  a matrix axis has stride 0, or a batch axis lies inside the matrix axes
struct MatrixLayout {
  LayoutClass form = LayoutClass::contiguous;
  bool transposed = false;
  bool batch_swap = false;
  bool operator==(const MatrixLayout&) const = default;
};
// "Contiguous", "HighlyPermuted" or "MildlyPermuted { transposed: true, batch_swap: false }".
std::string to_string(const MatrixLayout& layout);
bool parse_key_field(std::string_view text, MatrixLayout& layout);

enum class MatrixStorage : std::uint8_t {
  rows,    // by strides
  panels,  // packed by Session::pack_rhs
};
std::string_view to_string(MatrixStorage storage);

enum class MatmulScale : std::uint8_t { small, medium, large };
std::string_view to_string(MatmulScale scale);  // "Small", ...

enum class MatmulKind : std::uint8_t {
  general,
  mat_vec,         // n = 1
  vec_mat,         // m = 1
  scalar_vec,      // m = k = 1
  vec_scalar,      // n = k = 1
  inner_product,   // m = n = 1
  outer_product,   // k = 1
  scalar_product,  // m = n = k = 1
};
std::string_view to_string(MatmulKind kind);  // "General", "MatVec", ...

struct MatmulKey {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;  // anchored
  std::int32_t threads = 1;                     // the device may use; 1 where it has none
  std::uint8_t lhs_pow2 = 0, rhs_pow2 = 0;      // 0..4, of the anchored contiguous extent
  std::uint8_t lhs_stride = 0, rhs_stride = 0;  // 0..10, of the real strides in bytes
  DType elem_lhs = DType::f32, elem_rhs = DType::f32, elem_out = DType::f32;
  MatrixStorage storage_lhs = MatrixStorage::rows, storage_rhs = MatrixStorage::rows;
  MatrixLayout layout_lhs, layout_rhs, layout_out;
  Precision precision = Precision::highest;
  bool accumulate = false;                 // beta is not 0
  bool gram = false;                       // rhs is lhs transposed, in the same memory
  MatmulScale scale = MatmulScale::small;  // from the anchored sizes
  MatmulKind kind = MatmulKind::general;   // from the real sizes
  // Keeps the struct free of padding, so that its bytes can be hashed and compared.
  std::array<std::uint8_t, 5> reserved{};

  ROOFTUNE_KEY(m, n, k, batch, lhs_pow2, lhs_stride, rhs_pow2, rhs_stride, elem_lhs, elem_rhs,
               elem_out, layout_lhs, layout_rhs, layout_out, storage_lhs, storage_rhs, precision,
               accumulate, gram, threads, scale, kind)
};

// The key of a product. The operands must have been checked (see matmul/problem.h); only shapes,
// strides and types are looked at, so the pointers may be null.
struct MatmulProblem;
MatmulKey make_matmul_key(const MatmulProblem& problem, Level level, int threads);

// The form of SYSTEM section 3: "m=1024 n=1024 k=1024 lhs_pow2=4 ... scale=Medium kind=General",
// and after it those other fields that differ from a plain f32 product (batch, types, layout_lhs).
std::string short_text(const MatmulKey& key);

static_assert(std::has_unique_object_representations_v<MatmulKey>);

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_KEY_H_
