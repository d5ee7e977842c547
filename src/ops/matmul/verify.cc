#include "ops/matmul/verify.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <type_traits>

#include "ops/matmul/cpu/batch.h"
#include "rooftune/float16.h"

// The passes over the operands are compiled for several instruction sets and chosen by the dynamic
// linker. Sanitizers instrument that choice before they are ready for it.
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define ROOFTUNE_CLONES __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define ROOFTUNE_CLONES
#endif

namespace rooftune {
namespace {

typedef double Vector __attribute__((vector_size(64)));
constexpr std::int64_t kLanes = 8;

// A matrix and what it is applied to: out1 += M in1, out2 += M in2, squares += (M .* M) weights.
struct Apply {
  const std::byte* matrix;
  std::int64_t rows, cols, row_stride, col_stride;  // in elements
  const double *in1, *in2, *weights;                // cols
  double *out1, *out2, *squares;                    // rows
};

template <class T>
[[gnu::always_inline]] inline double load_one(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  if constexpr (sizeof(T) == 2) {
    return double(float(value));
  } else {
    return double(value);
  }
}

// Eight 16-bit numbers, widened.
typedef std::uint32_t Words __attribute__((vector_size(32)));
template <class T>
[[gnu::always_inline]] inline void widen(const Words& bits, Vector& lanes) {
  typedef float Floats __attribute__((vector_size(32)));
  Words words = bits << 16;
  if constexpr (std::is_same_v<T, Float16>) {
    // An f16 without its sign is an f32 of the same digits and an exponent that is 112 too small.
    const Words size = (bits & 0x7fffu) << 13;
    Floats value;
    std::memcpy(&value, &size, sizeof value);
    value *= 0x1p112f;
    std::memcpy(&words, &value, sizeof words);
    words = size >= 0x0f800000u ? size | 0x7f800000u : words;
    words |= (bits & 0x8000u) << 16;
  }
  Floats floats;
  std::memcpy(&floats, &words, sizeof floats);
  lanes = __builtin_convertvector(floats, Vector);
}

// Vectors go by reference: passed by value they would make the calling convention depend on the
// instruction set.
template <class T>
[[gnu::always_inline]] inline void load_lanes(const std::byte* at, Vector& lanes) {
  if constexpr (sizeof(T) == 2) {
    typedef std::uint16_t Narrow __attribute__((vector_size(16)));
    Narrow narrow;
    std::memcpy(&narrow, at, sizeof narrow);
    widen<T>(__builtin_convertvector(narrow, Words), lanes);
  } else {
    typedef T Narrow __attribute__((vector_size(sizeof(T) * 8)));
    Narrow narrow;
    std::memcpy(&narrow, at, sizeof narrow);
    lanes = __builtin_convertvector(narrow, Vector);
  }
}

[[gnu::always_inline]] inline void load_doubles(const double* at, Vector& lanes) {
  std::memcpy(&lanes, at, sizeof lanes);
}

[[gnu::always_inline]] inline double sum_lanes(const Vector& vector) {
  double sum = 0;
  for (int i = 0; i < kLanes; ++i) sum += vector[i];
  return sum;
}

// Rows that lie contiguously in memory: three dot products a row.
template <class T>
[[gnu::always_inline]] inline void apply_rows(const Apply& job) {
  const std::int64_t whole = job.cols / kLanes * kLanes;
  for (std::int64_t i = 0; i < job.rows; ++i) {
    const std::byte* row = job.matrix + i * job.row_stride * std::int64_t{sizeof(T)};
    Vector sum1 = {}, sum2 = {}, sum3 = {};
    for (std::int64_t j = 0; j < whole; j += kLanes) {
      Vector value, x1, x2, weight;
      load_lanes<T>(row + j * std::int64_t{sizeof(T)}, value);
      load_doubles(job.in1 + j, x1);
      load_doubles(job.in2 + j, x2);
      load_doubles(job.weights + j, weight);
      sum1 += value * x1;
      sum2 += value * x2;
      sum3 += value * value * weight;
    }
    double rest1 = 0, rest2 = 0, rest3 = 0;
    for (std::int64_t j = whole; j < job.cols; ++j) {
      const double value = load_one<T>(row + j * std::int64_t{sizeof(T)});
      rest1 += value * job.in1[j];
      rest2 += value * job.in2[j];
      rest3 += value * value * job.weights[j];
    }
    job.out1[i] += sum_lanes(sum1) + rest1;
    job.out2[i] += sum_lanes(sum2) + rest2;
    job.squares[i] += sum_lanes(sum3) + rest3;
  }
}

// Any other strides: columns outside, in bands of rows whose sums stay in the first-level cache,
// so that a transposed matrix too is read along its memory.
template <class T>
[[gnu::always_inline]] inline void apply_columns(const Apply& job) {
  constexpr std::int64_t kBand = 512;
  for (std::int64_t first = 0; first < job.rows; first += kBand) {
    const std::int64_t last = std::min(first + kBand, job.rows);
    for (std::int64_t j = 0; j < job.cols; ++j) {
      const std::byte* column = job.matrix + j * job.col_stride * std::int64_t{sizeof(T)};
      const double x1 = job.in1[j], x2 = job.in2[j], weight = job.weights[j];
      for (std::int64_t i = first; i < last; ++i) {
        const double value = load_one<T>(column + i * job.row_stride * std::int64_t{sizeof(T)});
        job.out1[i] += value * x1;
        job.out2[i] += value * x2;
        job.squares[i] += value * value * weight;
      }
    }
  }
}

template <class T>
[[gnu::always_inline]] inline void apply_any(const Apply& job) {
  job.col_stride == 1 ? apply_rows<T>(job) : apply_columns<T>(job);
}

ROOFTUNE_CLONES void apply_f32(const Apply& job) { apply_any<float>(job); }
ROOFTUNE_CLONES void apply_f64(const Apply& job) { apply_any<double>(job); }
ROOFTUNE_CLONES void apply_bf16(const Apply& job) { apply_any<BFloat16>(job); }
ROOFTUNE_CLONES void apply_f16(const Apply& job) { apply_any<Float16>(job); }
ROOFTUNE_CLONES void apply_i32(const Apply& job) { apply_any<std::int32_t>(job); }
ROOFTUNE_CLONES void apply_i8(const Apply& job) { apply_any<std::int8_t>(job); }
ROOFTUNE_CLONES void apply_u8(const Apply& job) { apply_any<std::uint8_t>(job); }

void apply(DType dtype, const Apply& job) {
  switch (dtype) {
    case DType::f64:
      return apply_f64(job);
    case DType::bf16:
      return apply_bf16(job);
    case DType::f16:
      return apply_f16(job);
    case DType::i32:
      return apply_i32(job);
    case DType::i8:
      return apply_i8(job);
    case DType::u8:
      return apply_u8(job);
    default:
      return apply_f32(job);
  }
}

double value_at(const std::byte* place, DType dtype) {
  switch (dtype) {
    case DType::f64:
      return load_one<double>(place);
    case DType::bf16:
      return load_one<BFloat16>(place);
    case DType::f16:
      return load_one<Float16>(place);
    case DType::i32:
      return load_one<std::int32_t>(place);
    case DType::i8:
      return load_one<std::int8_t>(place);
    case DType::u8:
      return load_one<std::uint8_t>(place);
    default:
      return load_one<float>(place);
  }
}

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

const std::byte* at(const void* base, std::int64_t offset, DType dtype) {
  return static_cast<const std::byte*>(base) + offset * size_of(dtype);
}

// Whether the values of a matrix differ by at least a tenth of their mean size. Looks at a few
// thousand of them.
bool varied(const void* base, std::int64_t rows, std::int64_t cols, std::int64_t row_stride,
            std::int64_t col_stride, DType dtype) {
  constexpr std::int64_t kMost = 64;
  double sum = 0, squares = 0;
  std::int64_t count = 0;
  const std::int64_t row_step = std::max<std::int64_t>(1, rows / kMost);
  const std::int64_t col_step = std::max<std::int64_t>(1, cols / kMost);
  for (std::int64_t i = 0; i < rows; i += row_step) {
    for (std::int64_t j = 0; j < cols; j += col_step) {
      const std::byte* place = at(base, i * row_stride + j * col_stride, dtype);
      const double value = value_at(place, dtype);
      sum += value;
      squares += value * value;
      ++count;
    }
  }
  const double mean = sum / double(count);
  const double variance = squares / double(count) - mean * mean;
  return variance > 0.01 * mean * mean;
}

}  // namespace

Result<ProductCheck> ProductCheck::make(const GemmArgs& gemm) {
  ProductCheck result;
  const auto m = static_cast<std::size_t>(gemm.m), n = static_cast<std::size_t>(gemm.n);
  const auto k = static_cast<std::size_t>(gemm.k), batch = static_cast<std::size_t>(gemm.batch);
  std::vector<double> inner;
  try {
    result.vectors_.resize(3 * n);
    result.expected_.resize(2 * m * batch);
    result.scale_.resize(m * batch);
    inner.resize(3 * k);
  } catch (const std::bad_alloc&) {
    return fail(ErrorKind::out_of_memory, "no memory for the vectors of the verification");
  }
  Stream64 stream;
  double* x1 = result.vectors_.data();
  double *x2 = x1 + n, *ones = x2 + n;
  for (std::size_t j = 0; j < n; ++j) {
    x1[j] = stream.next();
    x2[j] = stream.next();
    ones[j] = 1;
  }

  double largest = 0;
  bool finite = true;
  for (std::size_t index = 0; index < batch; ++index) {
    const BatchOffsets offset = batch_offsets(gemm, static_cast<std::int64_t>(index));
    std::fill(inner.begin(), inner.end(), 0.0);
    double* bx1 = inner.data();
    double *bx2 = bx1 + k, *b_squares = bx2 + k;
    apply(gemm.b_type, {at(gemm.b, offset.b, gemm.b_type), gemm.k, gemm.n, gemm.b_row, gemm.b_col,
                        x1, x2, ones, bx1, bx2, b_squares});
    double* y1 = result.expected_.data() + index * 2 * m;
    double *y2 = y1 + m, *scale = result.scale_.data() + index * m;
    apply(gemm.a_type, {at(gemm.a, offset.a, gemm.a_type), gemm.m, gemm.k, gemm.a_row, gemm.a_col,
                        bx1, bx2, b_squares, y1, y2, scale});
    for (std::size_t i = 0; i < m; ++i) {
      y1[i] *= gemm.alpha;
      y2[i] *= gemm.alpha;
      scale[i] *= gemm.alpha * gemm.alpha;
    }
    if (gemm.beta != 0) {
      std::vector<double> c0(3 * m);
      apply(gemm.c_type, {at(gemm.c, offset.c, gemm.c_type), gemm.m, gemm.n, gemm.c_row, gemm.c_col,
                          x1, x2, ones, c0.data(), c0.data() + m, c0.data() + 2 * m});
      for (std::size_t i = 0; i < m; ++i) {
        y1[i] += gemm.beta * c0[i];
        y2[i] += gemm.beta * c0[m + i];
        scale[i] += gemm.beta * gemm.beta * c0[2 * m + i];
      }
    }
    for (std::size_t i = 0; i < m; ++i) {
      finite = finite && std::isfinite(y1[i]) && std::isfinite(y2[i]) && std::isfinite(scale[i]);
      largest = std::max(largest, scale[i]);
    }
  }

  const Limits limits = limits_of(gemm);
  const double size = std::sqrt(largest);  // of a row of sums of products
  const double terms = double(gemm.n) * double(gemm.k);
  // Rounding errors of up to 64 equal terms stay below the bound whichever way they go.
  constexpr std::int64_t kFewTerms = 64;
  const bool differ =
      gemm.k <= kFewTerms || (varied(gemm.a, gemm.m, gemm.k, gemm.a_row, gemm.a_col, gemm.a_type) &&
                              varied(gemm.b, gemm.k, gemm.n, gemm.b_row, gemm.b_col, gemm.b_type));
  // No partial sum of a row is larger than this (Cauchy and Schwarz).
  bool fits = size * std::sqrt(double(gemm.k)) < limits.largest / 16;
  // Nor can so few products of bytes be, whatever they are.
  if (gemm.family == TypeFamily::int8) fits = fits || gemm.k <= 32768;
  result.conclusive_ =
      finite && differ && fits && size / std::sqrt(terms) > limits.smallest / limits.epsilon;
  return result;
}

double ProductCheck::error_bound(const GemmArgs& gemm) {
  double roots = std::sqrt(double(gemm.k));
  // This check rounds as well.
  const bool in_f64 = gemm.family == TypeFamily::f64 || gemm.family == TypeFamily::int8;
  if (in_f64) roots += std::sqrt(double(gemm.n));
  const Limits limits = limits_of(gemm);
  const double sums = 4 * limits.epsilon * (roots + 1) + 4 * limits.rounding;
  switch (gemm.precision) {
    case Precision::split:
      return 4 * sums;
    case Precision::high:
      return sums + 0x1p-15;
    case Precision::medium:
      return sums + 0x1p-7;
    case Precision::highest:
      break;
  }
  return sums;
}

Check ProductCheck::check(const GemmArgs& gemm) const {
  Check check;
  check.conclusive = conclusive_;
  check.error_bound = error_bound(gemm);
  const auto m = static_cast<std::size_t>(gemm.m), n = static_cast<std::size_t>(gemm.n);
  const double* x1 = vectors_.data();
  const double *x2 = x1 + n, *ones = x2 + n;
  // Below this a difference is that of subnormal numbers, which have no relative precision.
  const double floor = limits_of(gemm).smallest * double(gemm.n) * double(gemm.k);
  std::vector<double> product(3 * m);
  for (std::size_t index = 0; index < static_cast<std::size_t>(gemm.batch); ++index) {
    const BatchOffsets offset = batch_offsets(gemm, static_cast<std::int64_t>(index));
    std::fill(product.begin(), product.end(), 0.0);
    double* r1 = product.data();
    double *r2 = r1 + m, *squares = r2 + m;
    apply(gemm.c_type, {at(gemm.c, offset.c, gemm.c_type), gemm.m, gemm.n, gemm.c_row, gemm.c_col,
                        x1, x2, ones, r1, r2, squares});
    const double* y1 = expected_.data() + index * 2 * m;
    const double *y2 = y1 + m, *scale = scale_.data() + index * m;
    for (std::size_t i = 0; i < m; ++i) {
      const double size = std::sqrt(scale[i] + squares[i]) + floor;
      const double off = std::max(std::abs(r1[i] - y1[i]), std::abs(r2[i] - y2[i])) / size;
      // A NaN compares false with everything: it is as wrong as can be.
      check.error =
          std::isfinite(off) ? std::max(check.error, off) : std::numeric_limits<double>::infinity();
      if (std::isinf(check.error)) return check;
    }
  }
  return check;
}

}  // namespace rooftune
