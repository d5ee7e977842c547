#include "ops/matmul/key.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <span>

#include "ops/matmul/problem.h"

namespace rooftune {
namespace {

constexpr int kMostPow2 = 4;
constexpr int kMostStride = 10;

// One operand of a product: its two matrix axes and its batch axes.
struct Operand {
  std::int64_t rows, cols;  // real extents
  std::int64_t row_stride, col_stride;
  std::span<const std::int64_t> batch_strides;
  std::int64_t element_bytes;
};

int trailing_zeros(std::uint64_t x, int most) {
  return x == 0 ? most : std::min(std::countr_zero(x), most);
}

std::uint64_t magnitude(std::int64_t stride) {
  return stride < 0 ? 0 - static_cast<std::uint64_t>(stride) : static_cast<std::uint64_t>(stride);
}

MatrixLayout classify(const Operand& operand) {
  const std::uint64_t row = magnitude(operand.row_stride);
  const std::uint64_t col = magnitude(operand.col_stride);
  const bool has_rows = operand.rows > 1, has_cols = operand.cols > 1;
  if ((has_rows && row == 0) || (has_cols && col == 0)) return {LayoutClass::highly_permuted};
  const std::uint64_t outermost = std::max(has_rows ? row : 0, has_cols ? col : 0);
  bool swapped = false;
  std::uint64_t previous = UINT64_MAX;
  for (const std::int64_t stride : operand.batch_strides) {
    const std::uint64_t size = magnitude(stride);
    if (size != 0 && size < outermost) return {LayoutClass::highly_permuted};
    swapped = swapped || size == 0 || size > previous;
    previous = size;
  }
  const bool transposed = has_rows && has_cols && row < col;
  if (!transposed && !swapped) return {};
  return {LayoutClass::mildly_permuted, transposed, swapped};
}

// Trailing zeros of the anchored extent along the contiguous axis; 0 when no axis is contiguous.
std::uint8_t contiguous_pow2(const Operand& operand, const MatrixLayout& layout,
                             std::int64_t anchored_rows, std::int64_t anchored_cols) {
  if (layout.form == LayoutClass::highly_permuted) return 0;
  const bool by_rows = layout.transposed;
  const std::int64_t stride = by_rows ? operand.row_stride : operand.col_stride;
  const std::int64_t extent = by_rows ? operand.rows : operand.cols;
  if (extent > 1 && stride != 1) return 0;
  const auto anchored = static_cast<std::uint64_t>(by_rows ? anchored_rows : anchored_cols);
  return static_cast<std::uint8_t>(trailing_zeros(anchored, kMostPow2));
}

std::uint8_t stride_alignment(const Operand& operand, const MatrixLayout& layout) {
  if (layout.form == LayoutClass::highly_permuted || layout.batch_swap) return 0;
  int least = kMostStride;
  const auto consider = [&](std::int64_t extent, std::int64_t stride, bool innermost) {
    if (extent <= 1 || (innermost && stride == 1)) return;
    const std::uint64_t bytes =
        magnitude(stride) * static_cast<std::uint64_t>(operand.element_bytes);
    least = std::min(least, trailing_zeros(bytes, kMostStride));
  };
  consider(operand.rows, operand.row_stride, layout.transposed);
  consider(operand.cols, operand.col_stride, !layout.transposed);
  for (const std::int64_t stride : operand.batch_strides) consider(2, stride, false);
  return static_cast<std::uint8_t>(least);
}

MatmulScale scale_of(std::int64_t m, std::int64_t n, std::int64_t k) {
  const std::int64_t largest = std::max({m, n, k});
  if (largest < 512) return MatmulScale::small;
  return largest < 2048 ? MatmulScale::medium : MatmulScale::large;
}

MatmulKind kind_of(std::int64_t m, std::int64_t n, std::int64_t k) {
  if (m == 1 && n == 1) return k == 1 ? MatmulKind::scalar_product : MatmulKind::inner_product;
  if (k == 1) {
    if (m == 1) return MatmulKind::scalar_vec;
    if (n == 1) return MatmulKind::vec_scalar;
    return MatmulKind::outer_product;
  }
  if (n == 1) return MatmulKind::mat_vec;
  if (m == 1) return MatmulKind::vec_mat;
  return MatmulKind::general;
}

}  // namespace

std::string to_string(const MatrixLayout& layout) {
  switch (layout.form) {
    case LayoutClass::contiguous:
      return "Contiguous";
    case LayoutClass::highly_permuted:
      return "HighlyPermuted";
    case LayoutClass::mildly_permuted:
      break;
  }
  const auto flag = [](bool value) { return value ? "true" : "false"; };
  return std::string("MildlyPermuted { transposed: ") + flag(layout.transposed) +
         ", batch_swap: " + flag(layout.batch_swap) + " }";
}

bool parse_key_field(std::string_view text, MatrixLayout& layout) {
  for (const MatrixLayout& form : {MatrixLayout{}, MatrixLayout{LayoutClass::highly_permuted},
                                   MatrixLayout{LayoutClass::mildly_permuted, true, false},
                                   MatrixLayout{LayoutClass::mildly_permuted, false, true},
                                   MatrixLayout{LayoutClass::mildly_permuted, true, true}}) {
    if (to_string(form) == text) {
      layout = form;
      return true;
    }
  }
  return false;
}

std::string_view to_string(MatrixStorage storage) {
  switch (storage) {
    case MatrixStorage::rows:
      return "Rows";
    case MatrixStorage::panels:
      return "Panels";
  }
  return "";
}

std::string_view to_string(MatmulScale scale) {
  switch (scale) {
    case MatmulScale::small:
      return "Small";
    case MatmulScale::medium:
      return "Medium";
    case MatmulScale::large:
      return "Large";
  }
  return "";
}

std::string_view to_string(MatmulKind kind) {
  switch (kind) {
    case MatmulKind::general:
      return "General";
    case MatmulKind::mat_vec:
      return "MatVec";
    case MatmulKind::vec_mat:
      return "VecMat";
    case MatmulKind::scalar_vec:
      return "ScalarVec";
    case MatmulKind::vec_scalar:
      return "VecScalar";
    case MatmulKind::inner_product:
      return "InnerProduct";
    case MatmulKind::outer_product:
      return "OuterProduct";
    case MatmulKind::scalar_product:
      return "ScalarProduct";
  }
  return "";
}

MatmulKey make_matmul_key(const MatmulProblem& problem, Level level, int threads) {
  const GemmArgs& gemm = problem.gemm;
  const auto batch_rank = static_cast<std::size_t>(gemm.batch_rank);
  const Operand lhs{gemm.m,
                    gemm.k,
                    gemm.a_row,
                    gemm.a_col,
                    {gemm.a_batch.data(), batch_rank},
                    size_of(gemm.a_type)};
  const Operand rhs{gemm.k,
                    gemm.n,
                    gemm.b_row,
                    gemm.b_col,
                    {gemm.b_batch.data(), batch_rank},
                    size_of(gemm.b_type)};
  const Operand out{gemm.m,
                    gemm.n,
                    gemm.c_row,
                    gemm.c_col,
                    {gemm.c_batch.data(), batch_rank},
                    size_of(gemm.c_type)};
  MatmulKey key;
  key.m = anchor(gemm.m, level);
  key.n = anchor(gemm.n, level);
  key.k = anchor(gemm.k, level);
  key.batch = anchor(gemm.batch, level);
  key.threads = threads;
  key.layout_lhs = classify(lhs);
  key.layout_rhs = classify(rhs);
  key.layout_out = classify(out);
  key.lhs_pow2 = contiguous_pow2(lhs, key.layout_lhs, key.m, key.k);
  key.rhs_pow2 = contiguous_pow2(rhs, key.layout_rhs, key.k, key.n);
  key.lhs_stride = stride_alignment(lhs, key.layout_lhs);
  key.rhs_stride = stride_alignment(rhs, key.layout_rhs);
  if (gemm.packed != nullptr) {
    // Panels lie as they do whatever the strides of the batch are.
    key.storage_rhs = MatrixStorage::panels;
    key.layout_rhs = {};
    key.rhs_pow2 =
        static_cast<std::uint8_t>(trailing_zeros(static_cast<std::uint64_t>(key.n), kMostPow2));
    key.rhs_stride = kMostStride;
  }
  key.elem_lhs = gemm.a_type;
  key.elem_rhs = gemm.b_type;
  key.elem_out = gemm.c_type;
  key.precision = gemm.precision;
  key.accumulate = gemm.beta != 0;
  key.gram = gemm.gram;
  key.scale = scale_of(key.m, key.n, key.k);
  key.kind = kind_of(gemm.m, gemm.n, gemm.k);
  return key;
}

std::string short_text(const MatmulKey& key) {
  const MatmulKey plain;
  std::string text, rest;
  // What every line shows; other fields follow where they are not those of a plain f32 product.
  constexpr std::string_view kShown[] = {"m",          "n",        "k",          "lhs_pow2",
                                         "lhs_stride", "rhs_pow2", "rhs_stride", "layout_rhs",
                                         "scale",      "kind"};
  MatmulKey usual = key;
  usual.batch = 1;
  usual.elem_lhs = usual.elem_rhs = usual.elem_out = DType::f32;
  usual.layout_lhs = usual.layout_out = plain.layout_lhs;
  usual.storage_rhs = plain.storage_rhs;
  usual.precision = plain.precision;
  usual.accumulate = false;
  usual.gram = false;
  std::vector<std::string> expected;
  detail::for_each_key_field(usual, [&](const std::string&, const auto& field) {
    expected.push_back(detail::key_field_text(field));
  });
  std::size_t index = 0;
  detail::for_each_key_field(key, [&](const std::string& name, const auto& field) {
    const std::string value = detail::key_field_text(field);
    const bool shown = std::find(std::begin(kShown), std::end(kShown), name) != std::end(kShown);
    std::string& line = shown ? text : rest;
    if (shown || value != expected[index]) line += (line.empty() ? "" : " ") + name + "=" + value;
    ++index;
  });
  return rest.empty() ? text : text + " " + rest;
}

}  // namespace rooftune
