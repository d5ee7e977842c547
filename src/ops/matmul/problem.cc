#include "ops/matmul/problem.h"

#include <algorithm>
#include <cmath>

#include "base/overlap.h"
#include "ops/matmul/cpu/packed_rhs.h"

namespace rooftune {
namespace {

std::string shapes(const ConstView& lhs, const ConstView& rhs, const View& out) {
  return "lhs " + lhs.to_string() + ", rhs " + rhs.to_string() + ", out " + out.to_string();
}

std::string dims(const Layout& layout) {
  std::string text = "[";
  for (int i = 0; i < layout.rank; ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(layout.extents[static_cast<std::size_t>(i)]);
  }
  return text + "]";
}

Status check_operands(const ConstView& lhs, const ConstView& rhs, const View& out) {
  for (const auto& [name, view] : {std::pair{"lhs", lhs}, {"rhs", rhs}, {"out", ConstView(out)}}) {
    if (Status valid = check(view.layout); !valid) {
      return fail(valid.error().kind, std::string(name) + ": " + valid.error().text);
    }
  }
  return {};
}

// The extent of a broadcast axis; -1 when the two do not broadcast.
std::int64_t broadcast(std::int64_t a, std::int64_t b) {
  if (a == b) return a;
  if (a == 1) return b;
  return b == 1 ? a : -1;
}

// One batch axis of all three operands; a stride of 0 broadcasts.
struct BatchAxis {
  std::int64_t extent, a, b, c;
};

// Batch axes, innermost last, with neighbours that are one longer axis for all three merged.
struct BatchAxes {
  std::array<BatchAxis, kMaxBatchAxes> axes;
  int count = 0;

  // Called from the outermost axis inward.
  void append(const BatchAxis& axis) {
    if (axis.extent == 1) return;
    if (count > 0) {
      BatchAxis& outer = axes[static_cast<std::size_t>(count - 1)];
      if (outer.a == axis.a * axis.extent && outer.b == axis.b * axis.extent &&
          outer.c == axis.c * axis.extent) {
        outer = {outer.extent * axis.extent, axis.a, axis.b, axis.c};
        return;
      }
    }
    axes[static_cast<std::size_t>(count++)] = axis;
  }
};

// Whether the address ranges of two views are apart: the common case, decided without looking
// into the ranges.
bool apart(const ConstView& a, const ConstView& b) {
  const auto range = [](const ConstView& view) {
    const auto [lowest, highest] = view.layout.reach();
    const auto base = reinterpret_cast<std::intptr_t>(view.data);
    const std::int64_t bytes = size_of(view.dtype);
    return std::pair(base + lowest * bytes, base + (highest + 1) * bytes);
  };
  const auto [a_begin, a_end] = range(a);
  const auto [b_begin, b_end] = range(b);
  return a_end <= b_begin || b_end <= a_begin;
}

}  // namespace

std::optional<TypeFamily> type_family(DType lhs, DType rhs, DType out) {
  const auto is_int8 = [](DType type) { return type == DType::i8 || type == DType::u8; };
  if (is_int8(lhs) && is_int8(rhs) && out == DType::i32) return TypeFamily::int8;
  const auto is_f8 = [](DType type) { return type == DType::f8e4m3 || type == DType::f8e5m2; };
  if (is_f8(lhs) && is_f8(rhs)) {
    const bool wide = out == DType::f32 || out == DType::bf16 || out == DType::f16;
    return wide ? std::optional(TypeFamily::f8) : std::nullopt;
  }
  if (lhs != rhs || (out != lhs && out != DType::f32)) return std::nullopt;
  switch (lhs) {
    case DType::f32:
      return TypeFamily::f32;
    case DType::f64:
      return out == DType::f64 ? std::optional(TypeFamily::f64) : std::nullopt;
    case DType::bf16:
      return TypeFamily::bf16;
    case DType::f16:
      return TypeFamily::f16;
    default:
      return std::nullopt;
  }
}

Status make_matmul_problem(const ConstView& lhs, const ConstView& rhs, const View& out,
                           const MatmulOptions& options, MatmulProblem& problem) {
  if (Status valid = check_operands(lhs, rhs, out); !valid) return valid;
  if (lhs.layout.rank == 0 || rhs.layout.rank == 0) {
    return fail(ErrorKind::shape_mismatch,
                "an operand of a matmul has at least one axis: " + shapes(lhs, rhs, out));
  }
  const auto family = type_family(lhs.dtype, rhs.dtype, out.dtype);
  if (!family) {
    return fail(ErrorKind::unsupported,
                "matmul of " + std::string(to_string(lhs.dtype)) + " by " +
                    std::string(to_string(rhs.dtype)) + " into " +
                    std::string(to_string(out.dtype)) +
                    ": there are f32 and f64 (one type for all three), bf16 and f16 (into f32 or "
                    "the same type), i8 and u8 in any combination (into i32), f8e4m3 and f8e5m2 "
                    "in any combination (into f32, bf16 or f16)");
  }
  if (options.precision > Precision::medium) {
    return fail(ErrorKind::invalid_argument,
                "precision is none of highest, split, high and medium");
  }
  if (*family == TypeFamily::int8) {
    for (const double scalar : {options.alpha, options.beta}) {
      if (scalar == std::trunc(scalar) && std::abs(scalar) <= 0x1p31) continue;
      return fail(ErrorKind::invalid_argument,
                  "alpha and beta of an integer product are whole numbers of at most 2^31, not " +
                      std::to_string(scalar));
    }
  }

  GemmArgs& gemm = problem.gemm;
  gemm.family = *family;
  gemm.a_type = lhs.dtype;
  gemm.b_type = rhs.dtype;
  gemm.c_type = out.dtype;
  // The policies speak of f32 only: one key for all of them otherwise.
  gemm.precision = *family == TypeFamily::f32 ? options.precision : Precision::highest;
  gemm.alpha = scalar_in(*family, options.alpha);
  gemm.beta = scalar_in(*family, options.beta);
  gemm.a = lhs.data;
  gemm.b = rhs.data;
  gemm.c = out.data;

  // The matrix axes. An axis that a rank-1 operand lacks has extent 1, and out does without it.
  const Layout &a = lhs.layout, &b = rhs.layout, &c = out.layout;
  const auto at = [](const Layout& layout, int axis) {
    return static_cast<std::size_t>(axis < 0 ? axis + layout.rank : axis);
  };
  const bool a_vector = a.rank == 1, b_vector = b.rank == 1;
  gemm.m = a_vector ? 1 : a.extents[at(a, -2)];
  gemm.k = a.extents[at(a, -1)];
  gemm.n = b_vector ? 1 : b.extents[at(b, -1)];
  const std::int64_t b_k = b_vector ? b.extents[0] : b.extents[at(b, -2)];
  const int a_batch = std::max(a.rank - 2, 0), b_batch = std::max(b.rank - 2, 0);
  const int batch_rank = std::max(a_batch, b_batch);
  const int matrix_rank = (a_vector ? 0 : 1) + (b_vector ? 0 : 1);
  bool fits = gemm.k == b_k && c.rank == batch_rank + matrix_rank;
  if (fits && !a_vector) fits = c.extents[at(c, b_vector ? -1 : -2)] == gemm.m;
  if (fits && !b_vector) fits = c.extents[at(c, -1)] == gemm.n;
  BatchAxes batch;
  bool empty = false;
  for (int axis = 0; fits && axis < batch_rank; ++axis) {
    const int in_a = axis - (batch_rank - a_batch), in_b = axis - (batch_rank - b_batch);
    const std::int64_t a_extent = in_a < 0 ? 1 : a.extents[at(a, in_a)];
    const std::int64_t b_extent = in_b < 0 ? 1 : b.extents[at(b, in_b)];
    const std::int64_t extent = broadcast(a_extent, b_extent);
    if (extent < 0 || c.extents[at(c, axis)] != extent) {
      fits = false;
      break;
    }
    empty = empty || extent == 0;
    batch.append({extent, a_extent == 1 ? 0 : a.strides[at(a, in_a)],
                  b_extent == 1 ? 0 : b.strides[at(b, in_b)], c.strides[at(c, axis)]});
  }
  if (!fits) {
    return fail(ErrorKind::shape_mismatch,
                "lhs " + dims(a) + " times rhs " + dims(b) + " does not give out " + dims(c) +
                    ": lhs is [..., m, k], rhs [..., k, n], out [..., m, n], and the leading axes "
                    "broadcast");
  }
  if (empty) gemm.batch = 0;

  // An axis of extent 1 has no stride of its own: give it the one of a dense matrix, so that
  // kernels and key see the plain case.
  const auto stride = [](bool there, std::int64_t extent, std::int64_t given, std::int64_t dense) {
    return there && extent != 1 ? given : dense;
  };
  gemm.a_col = stride(true, gemm.k, a.strides[at(a, -1)], 1);
  gemm.a_row = stride(!a_vector, gemm.m, a_vector ? 0 : a.strides[at(a, -2)], gemm.k);
  gemm.b_col = stride(!b_vector, gemm.n, b_vector ? 0 : b.strides[at(b, -1)], 1);
  gemm.b_row = stride(true, gemm.k, b_vector ? b.strides[0] : b.strides[at(b, -2)], gemm.n);
  gemm.c_col = stride(!b_vector, gemm.n, b_vector ? 0 : c.strides[at(c, -1)], 1);
  gemm.c_row =
      stride(!a_vector, gemm.m, a_vector ? 0 : c.strides[at(c, b_vector ? -1 : -2)], gemm.n);

  if (gemm.m == 0 || gemm.n == 0 || gemm.batch == 0) return {};
  if (gemm.c_col != 1 || gemm.c_row < gemm.n || batch.count > 0) {
    if (c.self_overlaps()) {
      return fail(ErrorKind::overlap,
                  "two elements of the output share memory: " + out.to_string());
    }
  }
  for (const auto& [name, in] : {std::pair{"lhs", &lhs}, {"rhs", &rhs}}) {
    // Views without memory are for asking about keys and decisions.
    if (in->data != nullptr && !apart(*in, out) && may_overlap(*in, out)) {
      return fail(ErrorKind::overlap,
                  std::string("out shares memory with ") + name + ": " + shapes(lhs, rhs, out));
    }
  }

  // A right operand that the innermost batch axes share makes their matrices one taller matrix,
  // where the rows of lhs and out go on from one to the next.
  while (batch.count > 0) {
    const BatchAxis& inner = batch.axes[static_cast<std::size_t>(batch.count - 1)];
    if (inner.b != 0) break;
    if (gemm.m == 1) {
      gemm.a_row = inner.a;
      gemm.c_row = inner.c;
    } else if (inner.a != gemm.m * gemm.a_row || inner.c != gemm.m * gemm.c_row) {
      break;
    }
    gemm.m *= inner.extent;
    --batch.count;
  }
  gemm.batch_rank = batch.count;
  for (int i = 0; i < batch.count; ++i) {
    const auto index = static_cast<std::size_t>(i);
    const BatchAxis& axis = batch.axes[index];
    gemm.batch *= axis.extent;
    gemm.batch_extent[index] = axis.extent;
    gemm.a_batch[index] = axis.a;
    gemm.b_batch[index] = axis.b;
    gemm.c_batch[index] = axis.c;
  }
  // Views without memory, which ask about keys and decisions, share none.
  gemm.gram = gemm.a != nullptr && gemm.a == gemm.b && is_gram_shaped(gemm);
  return {};
}

Status make_matmul_problem(const ConstView& lhs, const PackedRhs& rhs, const View& out,
                           const MatmulOptions& options, MatmulProblem& problem) {
  const std::array<std::int64_t, 2> extents = {rhs.k, rhs.n};
  const auto layout = Layout::contiguous(extents);
  if (!layout) return std::unexpected(layout.error());
  // Memory that is the library's own overlaps nothing.
  if (Status made = make_matmul_problem(lhs, {nullptr, rhs.dtype, *layout}, out, options, problem);
      !made) {
    return made;
  }
  problem.gemm.packed = &rhs;
  return {};
}

bool is_gram_shaped(const GemmArgs& gemm) {
  return gemm.m > 1 && gemm.m == gemm.n && gemm.k > 1 && gemm.a_type == gemm.b_type &&
         gemm.a_row == gemm.b_col && gemm.a_col == gemm.b_row && gemm.a_batch == gemm.b_batch;
}

double matmul_ops(const GemmArgs& gemm) {
  return double(gemm.batch) * double(gemm.m) * double(gemm.n) * (2 * double(gemm.k) - 1);
}

double matmul_bytes(const GemmArgs& gemm) {
  // What the matrices of one operand take, a broadcast batch axis counting once.
  const auto bytes = [&](double rows, double cols, const auto& batch_strides, DType dtype) {
    double elements = rows * cols;
    for (int i = 0; i < gemm.batch_rank; ++i) {
      const auto index = static_cast<std::size_t>(i);
      if (batch_strides[index] != 0) elements *= double(gemm.batch_extent[index]);
    }
    return elements * double(size_of(dtype));
  };
  const auto extent = [](std::int64_t size, std::int64_t stride) {
    return stride == 0 ? 1.0 : double(size);
  };
  return bytes(extent(gemm.m, gemm.a_row), extent(gemm.k, gemm.a_col), gemm.a_batch, gemm.a_type) +
         bytes(extent(gemm.k, gemm.b_row), extent(gemm.n, gemm.b_col), gemm.b_batch, gemm.b_type) +
         bytes(double(gemm.m), double(gemm.n), gemm.c_batch, gemm.c_type);
}

}  // namespace rooftune
