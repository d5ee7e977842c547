#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <type_traits>
#include <vector>

#include "ops/matmul/matrix_passes.h"
#include "rooftune/float16.h"
#include "rooftune/float8.h"

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
  if constexpr (std::is_class_v<T>) {
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
void apply_f8e4m3(const Apply& job) { apply_columns<Float8E4M3>(job); }
void apply_f8e5m2(const Apply& job) { apply_columns<Float8E5M2>(job); }

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
    case DType::f8e4m3:
      return apply_f8e4m3(job);
    case DType::f8e5m2:
      return apply_f8e5m2(job);
    case DType::f32:
      return apply_f32(job);
  }
}

class HostMatrixPasses final : public MatrixPasses {
 public:
  // One by one: what lies between A and B stays in the cache.
  std::int64_t group(std::int64_t, std::int64_t) const override { return 1; }

  Result<double*> make(std::int64_t numbers) override {
    try {
      return memory_.emplace_back(static_cast<std::size_t>(numbers)).data();
    } catch (const std::bad_alloc&) {
      return fail(ErrorKind::out_of_memory, "no memory for the vectors of the verification");
    }
  }
  Status clear(double* numbers, std::int64_t count) override {
    std::fill_n(numbers, count, 0.0);
    return {};
  }
  Status write(double* to, std::span<const double> from) override {
    std::copy(from.begin(), from.end(), to);
    return {};
  }
  Status read(std::span<double> to, const double* from) override {
    std::copy_n(from, to.size(), to.begin());
    return {};
  }

  Status apply(const MatrixBatch& matrices, const double* in, std::int64_t in_step, double* out,
               std::int64_t out_step) override {
    const std::int64_t rows = matrices.rows, cols = matrices.cols;
    for (std::int64_t i = 0; i < matrices.count; ++i, in += in_step, out += out_step) {
      const auto* matrix = static_cast<const std::byte*>(matrices.base) +
                           matrices.offset(matrices.first + i) * size_of(matrices.dtype);
      rooftune::apply(matrices.dtype,
                      {matrix, rows, cols, matrices.row_stride, matrices.col_stride, in, in + cols,
                       in + 2 * cols, out, out + rows, out + 2 * rows});
    }
    return {};
  }

  Result<Extremes> finish(double* y, const double* c, std::int64_t rows, std::int64_t count,
                          double alpha, double beta) override {
    Extremes extremes;
    for (std::int64_t part = 0; part < 3 * count; ++part, y += rows, c += c != nullptr ? rows : 0) {
      const bool squares = part % 3 == 2;
      const double y_factor = squares ? alpha * alpha : alpha;
      const double c_factor = squares ? beta * beta : beta;
      for (std::int64_t i = 0; i < rows; ++i) {
        y[i] *= y_factor;
        if (c != nullptr) y[i] += c_factor * c[i];
        extremes.finite = extremes.finite && std::isfinite(y[i]);
        if (squares) extremes.largest = std::max(extremes.largest, y[i]);
      }
    }
    return extremes;
  }

  Result<double> largest_error(const double* y, const double* r, std::int64_t rows,
                               std::int64_t count, double floor) override {
    double error = 0;
    for (std::int64_t i = 0; i < count; ++i, y += 3 * rows, r += 3 * rows) {
      for (std::int64_t j = 0; j < rows; ++j) {
        const double size = std::sqrt(y[2 * rows + j] + r[2 * rows + j]) + floor;
        const double off =
            std::max(std::abs(r[j] - y[j]), std::abs(r[rows + j] - y[rows + j])) / size;
        // A NaN compares false with everything: it is as wrong as can be. Either of the two shows
        // here: one that std::max loses is in the sum of squares as well.
        if (!std::isfinite(off)) return std::numeric_limits<double>::infinity();
        error = std::max(error, off);
      }
    }
    return error;
  }

  std::uint64_t device_bytes() const override { return 0; }

 private:
  std::vector<std::vector<double>> memory_;
};

MatrixBatch matrices(const GemmArgs& gemm,
                     const std::array<std::int64_t, kMaxBatchAxes>& batch_stride) {
  MatrixBatch batch;
  batch.batch_rank = gemm.batch_rank;
  batch.batch_extent = gemm.batch_extent;
  batch.batch_stride = batch_stride;
  batch.count = gemm.batch;
  return batch;
}

}  // namespace

std::int64_t MatrixBatch::offset(std::int64_t index) const {
  std::int64_t offset = 0;
  for (int axis = batch_rank - 1; axis >= 0; --axis) {
    const auto at = static_cast<std::size_t>(axis);
    offset += index % batch_extent[at] * batch_stride[at];
    index /= batch_extent[at];
  }
  return offset;
}

MatrixBatch a_matrices(const GemmArgs& gemm) {
  MatrixBatch a = matrices(gemm, gemm.a_batch);
  a.dtype = gemm.a_type;
  a.base = gemm.a;
  a.rows = gemm.m;
  a.cols = gemm.k;
  a.row_stride = gemm.a_row;
  a.col_stride = gemm.a_col;
  return a;
}

MatrixBatch b_matrices(const GemmArgs& gemm) {
  MatrixBatch b = matrices(gemm, gemm.b_batch);
  b.dtype = gemm.b_type;
  b.base = gemm.b;
  b.rows = gemm.k;
  b.cols = gemm.n;
  b.row_stride = gemm.b_row;
  b.col_stride = gemm.b_col;
  return b;
}

MatrixBatch c_matrices(const GemmArgs& gemm) {
  MatrixBatch c = matrices(gemm, gemm.c_batch);
  c.dtype = gemm.c_type;
  c.base = gemm.c;
  c.rows = gemm.m;
  c.cols = gemm.n;
  c.row_stride = gemm.c_row;
  c.col_stride = gemm.c_col;
  return c;
}

std::unique_ptr<MatrixPasses> host_matrix_passes() { return std::make_unique<HostMatrixPasses>(); }

}  // namespace rooftune
