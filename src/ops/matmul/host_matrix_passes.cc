#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <type_traits>
#include <vector>

#include "device/cpu/client.h"
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

// Three dot products of each of kRows neighbouring rows with a stretch of the vectors.
template <class T, int kRows>
[[gnu::always_inline]] inline void apply_stretch(const Apply& job, std::int64_t i,
                                                 std::int64_t first, std::int64_t last) {
  const std::byte* row[kRows];
  Vector sum1[kRows] = {}, sum2[kRows] = {}, sum3[kRows] = {};
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    row[r] = job.matrix + (i + r) * job.row_stride * std::int64_t{sizeof(T)};
  }
  std::int64_t j = first;
  for (; j + kLanes <= last; j += kLanes) {
    Vector x1, x2, weight;
    load_doubles(job.in1 + j, x1);
    load_doubles(job.in2 + j, x2);
    load_doubles(job.weights + j, weight);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      Vector value;
      load_lanes<T>(row[r] + j * std::int64_t{sizeof(T)}, value);
      sum1[r] += value * x1;
      sum2[r] += value * x2;
      sum3[r] += value * value * weight;
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    double rest1 = 0, rest2 = 0, rest3 = 0;
    for (std::int64_t at = j; at < last; ++at) {
      const double value = load_one<T>(row[r] + at * std::int64_t{sizeof(T)});
      rest1 += value * job.in1[at];
      rest2 += value * job.in2[at];
      rest3 += value * value * job.weights[at];
    }
    job.out1[i + r] += sum_lanes(sum1[r]) + rest1;
    job.out2[i + r] += sum_lanes(sum2[r]) + rest2;
    job.squares[i + r] += sum_lanes(sum3[r]) + rest3;
  }
}

// Rows that lie contiguously in memory, in stretches whose part of the three vectors stays in a
// cache. Four rows at a time share what is fetched of those, and hide the latency of additions.
template <class T>
[[gnu::always_inline]] inline void apply_rows(const Apply& job) {
  constexpr std::int64_t kStretch = 4096;
  for (std::int64_t first = 0; first < job.cols; first += kStretch) {
    const std::int64_t last = std::min(first + kStretch, job.cols);
    std::int64_t i = 0;
    for (; i + 4 <= job.rows; i += 4) apply_stretch<T, 4>(job, i, first, last);
    for (; i < job.rows; ++i) apply_stretch<T, 1>(job, i, first, last);
  }
}

// kColumns neighbouring columns of a band of rows, element by element.
template <class T, int kColumns>
[[gnu::always_inline]] inline void apply_elements(const Apply& job, std::int64_t j,
                                                  std::int64_t first, std::int64_t last) {
  for (int c = 0; c < kColumns; ++c) {
    const std::byte* column = job.matrix + (j + c) * job.col_stride * std::int64_t{sizeof(T)};
    const double x1 = job.in1[j + c], x2 = job.in2[j + c], weight = job.weights[j + c];
    for (std::int64_t i = first; i < last; ++i) {
      const double value = load_one<T>(column + i * job.row_stride * std::int64_t{sizeof(T)});
      job.out1[i] += value * x1;
      job.out2[i] += value * x2;
      job.squares[i] += value * value * weight;
    }
  }
}

// The same where the columns lie contiguously in memory: the sums are fetched once for all of them.
template <class T, int kColumns>
[[gnu::always_inline]] inline void apply_lanes(const Apply& job, std::int64_t j, std::int64_t first,
                                               std::int64_t last) {
  const std::byte* column = job.matrix + j * job.col_stride * std::int64_t{sizeof(T)};
  const std::int64_t step = job.col_stride * std::int64_t{sizeof(T)};
  std::int64_t i = first;
  for (; i + kLanes <= last; i += kLanes) {
    Vector sum1, sum2, sum3;
    load_doubles(job.out1 + i, sum1);
    load_doubles(job.out2 + i, sum2);
    load_doubles(job.squares + i, sum3);
#pragma GCC unroll 4
    for (int c = 0; c < kColumns; ++c) {
      Vector value;
      load_lanes<T>(column + c * step + i * std::int64_t{sizeof(T)}, value);
      sum1 += value * job.in1[j + c];
      sum2 += value * job.in2[j + c];
      sum3 += value * value * job.weights[j + c];
    }
    std::memcpy(job.out1 + i, &sum1, sizeof sum1);
    std::memcpy(job.out2 + i, &sum2, sizeof sum2);
    std::memcpy(job.squares + i, &sum3, sizeof sum3);
  }
  apply_elements<T, kColumns>(job, j, i, last);
}

// Any other strides: columns outside, in bands of rows whose sums stay in the first-level cache,
// so that a transposed matrix too is read along its memory.
template <class T>
[[gnu::always_inline]] inline void apply_columns(const Apply& job) {
  constexpr std::int64_t kBand = 512;
  for (std::int64_t first = 0; first < job.rows; first += kBand) {
    const std::int64_t last = std::min(first + kBand, job.rows);
    std::int64_t j = 0;
    if (job.row_stride == 1) {
      for (; j + 4 <= job.cols; j += 4) apply_lanes<T, 4>(job, j, first, last);
      for (; j < job.cols; ++j) apply_lanes<T, 1>(job, j, first, last);
    }
    for (; j < job.cols; ++j) apply_elements<T, 1>(job, j, first, last);
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
// Numbers of eight bits are widened one by one.
template <class T>
void apply_f8(const Apply& job) {
  for (std::int64_t j = 0; j < job.cols; ++j) apply_elements<T, 1>(job, j, 0, job.rows);
}

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
      return apply_f8<Float8E4M3>(job);
    case DType::f8e5m2:
      return apply_f8<Float8E5M2>(job);
    case DType::f32:
      return apply_f32(job);
  }
}

// Some rows of it: each is the same sum whoever makes it.
Apply rows_of(Apply job, DType dtype, std::int64_t first, std::int64_t count) {
  job.matrix += first * job.row_stride * size_of(dtype);
  job.rows = count;
  job.out1 += first;
  job.out2 += first;
  job.squares += first;
  return job;
}

class HostMatrixPasses final : public MatrixPasses {
 public:
  explicit HostMatrixPasses(CpuClient* threads) : threads_(threads) {}

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
      apply_shared(matrices.dtype, {matrix, rows, cols, matrices.row_stride, matrices.col_stride,
                                    in, in + cols, in + 2 * cols, out, out + rows, out + 2 * rows});
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
  // On several threads where each has enough to do: some microseconds.
  void apply_shared(DType dtype, const Apply& job) {
    constexpr std::int64_t kEnough = std::int64_t{1} << 15, kFewRows = 8;
    const std::int64_t rows = std::max(kFewRows, (kEnough + job.cols - 1) / job.cols);
    const std::int64_t pieces = (job.rows + rows - 1) / rows;
    if (threads_ == nullptr || pieces < 2) return rooftune::apply(dtype, job);
    threads_->share_out(pieces, [&](std::int64_t piece) {
      const std::int64_t first = piece * rows;
      rooftune::apply(dtype, rows_of(job, dtype, first, std::min(rows, job.rows - first)));
    });
  }

  CpuClient* const threads_;  // null: there are none
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

std::unique_ptr<MatrixPasses> host_matrix_passes(Client* client) {
  return std::make_unique<HostMatrixPasses>(dynamic_cast<CpuClient*>(client));
}

}  // namespace rooftune
