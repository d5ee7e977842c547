#include "ops/matmul/verify.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <new>
#include <utility>
#include <vector>

#include "ops/matmul/cpu/panels.h"

namespace rooftune {
namespace {

// A fixed stream of numbers in +-[0.5, 1.5]: the same for every run and machine.
class Stream64 {
 public:
  double next() {
    state_ += 0x9e3779b97f4a7c15ull;
    std::uint64_t word = state_;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9ull;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebull;
    word ^= word >> 31;
    const double size = 0.5 + double(word >> 12) * 0x1p-52;
    return (word & 1) != 0 ? size : -size;
  }

 private:
  std::uint64_t state_ = 2026;
};

// Of the sums of a product and of its output.
struct Limits {
  double epsilon;            // of the sums
  double smallest, largest;  // that keep their relative precision
  double rounding = 0;       // of an output that is narrower than the sums: half an epsilon
};

Limits limits_of(const GemmArgs& gemm) {
  using F32 = std::numeric_limits<float>;
  using F64 = std::numeric_limits<double>;
  switch (gemm.family) {
    case TypeFamily::f64:
      return {F64::epsilon(), F64::min(), F64::max()};
    case TypeFamily::int8:  // exact, but this check is made in f64
      return {F64::epsilon(), 0, 0x1p31};
    case TypeFamily::bf16:
      return {F32::epsilon(), F32::min(), F32::max(), gemm.c_type == DType::bf16 ? 0x1p-9 : 0};
    case TypeFamily::f16:
      if (gemm.c_type == DType::f16) return {F32::epsilon(), 0x1p-14, 65504, 0x1p-12};
      return {F32::epsilon(), F32::min(), F32::max()};
    case TypeFamily::f8:
      if (gemm.c_type == DType::f16) return {F32::epsilon(), 0x1p-14, 65504, 0x1p-12};
      return {F32::epsilon(), F32::min(), F32::max(), gemm.c_type == DType::bf16 ? 0x1p-9 : 0};
    case TypeFamily::f32:
      break;
  }
  return {F32::epsilon(), F32::min(), F32::max()};
}

// Whether the values of a matrix differ by at least a tenth of their mean size. Looks at a thousand
// of them, or some more.
Result<bool> varied(MatrixPasses& passes, MatrixBatch matrix) {
  constexpr std::int64_t kMost = 32;
  const auto thin_out = [](std::int64_t& extent, std::int64_t& stride) {
    const std::int64_t step = std::max<std::int64_t>(1, extent / kMost);
    extent = (extent + step - 1) / step;
    stride *= step;
  };
  thin_out(matrix.rows, matrix.row_stride);
  thin_out(matrix.cols, matrix.col_stride);
  matrix.count = 1;
  const auto rows = static_cast<std::size_t>(matrix.rows);
  auto ones = passes.make(3 * matrix.cols);
  auto sums = passes.make(3 * matrix.rows);
  if (!ones || !sums) return std::unexpected((!ones ? ones : sums).error());
  const std::vector<double> in(static_cast<std::size_t>(3 * matrix.cols), 1.0);
  std::vector<double> out(3 * rows);
  if (Status done = passes.write(*ones, in); !done) return std::unexpected(done.error());
  if (Status done = passes.apply(matrix, *ones, 0, *sums, 0); !done) {
    return std::unexpected(done.error());
  }
  if (Status done = passes.read(out, *sums); !done) return std::unexpected(done.error());
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    sum += out[i];
    squares += out[2 * rows + i];
  }
  const double count = double(matrix.rows) * double(matrix.cols);
  const double mean = sum / count;
  const double variance = squares / count - mean * mean;
  return variance > 0.01 * mean * mean;
}

// Both random vectors of n numbers, and n ones.
std::vector<double> random_vectors(std::size_t n) {
  std::vector<double> x(3 * n, 1.0);
  Stream64 stream;
  for (std::size_t j = 0; j < n; ++j) {
    x[j] = stream.next();
    x[n + j] = stream.next();
  }
  return x;
}

// `count` matrices from `first` on.
MatrixBatch part(MatrixBatch matrices, std::int64_t first, std::int64_t count) {
  matrices.first = first;
  matrices.count = count;
  return matrices;
}

}  // namespace

GemmArgs with_plain_rhs(const GemmArgs& gemm, std::byte* plain) {
  GemmArgs seen = gemm;
  unpack_columns(*gemm.packed, 0, gemm.n, plain);
  seen.packed = nullptr;
  seen.b = plain;
  seen.b_row = gemm.n;
  seen.b_col = 1;
  return seen;
}

Result<ProductCheck> ProductCheck::make(const GemmArgs& gemm, std::unique_ptr<MatrixPasses> passes,
                                        double high_error) {
  ProductCheck result;
  result.passes_ = std::move(passes);
  result.high_error_ = high_error;
  try {
    if (Status done = result.expect(gemm); !done) return std::unexpected(done.error());
  } catch (const std::bad_alloc&) {
    return fail(ErrorKind::out_of_memory, "no memory for the vectors of the verification");
  }
  return result;
}

Status ProductCheck::expect(const GemmArgs& gemm) {
  const MatrixBatch a = a_matrices(gemm), b = b_matrices(gemm), c = c_matrices(gemm);
  // Where all batches share one B, its vectors are made once.
  const bool b_shared = std::all_of(gemm.b_batch.begin(), gemm.b_batch.begin() + gemm.batch_rank,
                                    [](std::int64_t stride) { return stride == 0; });
  group_ = passes_->group(gemm.batch, 3 * (gemm.m + (b_shared ? 0 : gemm.k)));
  const std::int64_t inner_step = b_shared ? 0 : 3 * gemm.k;
  double* inner = nullptr;
  for (const auto& [vectors, numbers] : {std::pair{&x_, 3 * gemm.n},
                                         {&expected_, 3 * gemm.m * gemm.batch},
                                         {&product_, 3 * gemm.m * group_},
                                         {&inner, 3 * gemm.k * (b_shared ? 1 : group_)}}) {
    auto made = passes_->make(numbers);
    if (!made) return std::unexpected(made.error());
    *vectors = *made;
  }
  if (Status done = passes_->write(x_, random_vectors(static_cast<std::size_t>(gemm.n))); !done) {
    return done;
  }

  MatrixPasses::Extremes extremes;
  for (std::int64_t first = 0; first < gemm.batch; first += group_) {
    const std::int64_t count = std::min(group_, gemm.batch - first);
    double* const y = expected_ + first * 3 * gemm.m;
    Status done;
    if (first == 0 || !b_shared) {
      if (first > 0) done = passes_->clear(inner, 3 * gemm.k * count);
      if (done)
        done = passes_->apply(part(b, first, b_shared ? 1 : count), x_, 0, inner, inner_step);
    }
    if (done) done = passes_->apply(part(a, first, count), inner, inner_step, y, 3 * gemm.m);
    if (done && gemm.beta != 0) {
      if (first > 0) done = passes_->clear(product_, 3 * gemm.m * count);
      if (done) done = passes_->apply(part(c, first, count), x_, 0, product_, 3 * gemm.m);
    }
    if (!done) return done;
    const auto found = passes_->finish(y, gemm.beta != 0 ? product_ : nullptr, gemm.m, count,
                                       gemm.alpha, gemm.beta);
    if (!found) return std::unexpected(found.error());
    extremes.finite = extremes.finite && found->finite;
    extremes.largest = std::max(extremes.largest, found->largest);
  }

  const Limits limits = limits_of(gemm);
  const double size = std::sqrt(extremes.largest);  // of a row of sums of products
  const double terms = double(gemm.n) * double(gemm.k);
  // No partial sum of a row is larger than this (Cauchy and Schwarz).
  bool fits = size * std::sqrt(double(gemm.k)) < limits.largest / 16;
  // Nor can so few products of bytes be, whatever they are.
  if (gemm.family == TypeFamily::int8) fits = fits || gemm.k <= 32768;
  conclusive_ =
      extremes.finite && fits && size / std::sqrt(terms) > limits.smallest / limits.epsilon;
  // Rounding errors of up to 64 equal terms stay below the bound whichever way they go.
  constexpr std::int64_t kFewTerms = 64;
  if (gemm.k <= kFewTerms) return {};
  for (const MatrixBatch* matrices : {&a, &b}) {
    if (!conclusive_) break;
    const auto differ = varied(*passes_, *matrices);
    if (!differ) return std::unexpected(differ.error());
    conclusive_ = *differ;
  }
  return {};
}

double ProductCheck::error_bound(const GemmArgs& gemm, double high_error) {
  double roots = std::sqrt(double(gemm.k));
  // This check rounds as well.
  const bool in_f64 = gemm.family == TypeFamily::f64 || gemm.family == TypeFamily::int8;
  if (in_f64) roots += std::sqrt(double(gemm.n));
  const Limits limits = limits_of(gemm);
  double sums = 4 * limits.epsilon * (roots + 1) + 4 * limits.rounding;
  if (gemm.family == TypeFamily::f8) sums += 0x1p-12;
  switch (gemm.precision) {
    case Precision::split:
      return 4 * sums;
    case Precision::high:
      return sums + high_error;
    case Precision::medium:
      return sums + 0x1p-7;
    case Precision::highest:
      break;
  }
  return sums;
}

Result<Check> ProductCheck::check(const GemmArgs& gemm) const {
  Check check;
  check.conclusive = conclusive_;
  check.error_bound = error_bound(gemm, high_error_);
  // Below this a difference is that of subnormal numbers, which have no relative precision.
  const double floor = limits_of(gemm).smallest * double(gemm.n) * double(gemm.k);
  const MatrixBatch c = c_matrices(gemm);
  for (std::int64_t first = 0; first < gemm.batch && !std::isinf(check.error); first += group_) {
    const std::int64_t count = std::min(group_, gemm.batch - first);
    Status done = passes_->clear(product_, 3 * gemm.m * count);
    if (done) done = passes_->apply(part(c, first, count), x_, 0, product_, 3 * gemm.m);
    if (!done) return std::unexpected(done.error());
    const auto error =
        passes_->largest_error(expected_ + first * 3 * gemm.m, product_, gemm.m, count, floor);
    if (!error) return std::unexpected(error.error());
    check.error = std::max(check.error, *error);
  }
  return check;
}

}  // namespace rooftune
