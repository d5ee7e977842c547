// The passes that a check makes over matrices, wherever those lie: with them, ProductCheck
// (verify.h) is one text for every device.
#ifndef ROOFTUNE_OPS_MATMUL_MATRIX_PASSES_H_
#define ROOFTUNE_OPS_MATMUL_MATRIX_PASSES_H_

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "ops/matmul/gemm_args.h"
#include "rooftune/device.h"
#include "rooftune/error.h"

namespace rooftune {

// Some matrices of one operand: `count` of a batch, from `first` on (counted with the last axis
// fastest). Strides count elements.
struct MatrixBatch {
  DType dtype = DType::f32;
  const void* base = nullptr;
  std::int64_t rows = 1, cols = 1, row_stride = 0, col_stride = 0;
  int batch_rank = 0;
  std::array<std::int64_t, kMaxBatchAxes> batch_extent{}, batch_stride{};
  std::int64_t first = 0, count = 1;

  std::int64_t offset(std::int64_t index) const;  // of matrix `index` of the batch, in elements
};

// All matrices of an operand.
MatrixBatch a_matrices(const GemmArgs& gemm);
MatrixBatch b_matrices(const GemmArgs& gemm);
MatrixBatch c_matrices(const GemmArgs& gemm);

// Vectors are in f64 and come in threes, one behind the other: x1, x2 and the weights w of an
// input; M x1, M x2 and (M .* M) w of an output. Those of neighbouring matrices of a batch lie
// `step` numbers apart; a step of 0 gives all of them the same input.
//
// One object serves one check. All functions leave their results to later calls; read(), finish()
// and largest_error() wait for what came before.
class MatrixPasses {
 public:
  virtual ~MatrixPasses() = default;
  // How many of `count` matrices should be done at a time, each with so many numbers between A and
  // B.
  virtual std::int64_t group(std::int64_t count, std::int64_t numbers) const = 0;
  // Memory for so many numbers, zeros; freed with this object. Errors: out_of_memory.
  virtual Result<double*> make(std::int64_t numbers) = 0;
  virtual Status clear(double* numbers, std::int64_t count) = 0;
  virtual Status write(double* to, std::span<const double> from) = 0;
  virtual Status read(std::span<double> to, const double* from) = 0;
  // out += M in, for the three vectors of each matrix.
  virtual Status apply(const MatrixBatch& matrices, const double* in, std::int64_t in_step,
                       double* out, std::int64_t out_step) = 0;

  // What finish() found in the vectors that it made.
  struct Extremes {
    bool finite = true;  // all numbers
    double largest = 0;  // of the third vectors
  };
  // y = alpha y + beta c for the first two vectors of each of `count` triples of `rows` numbers,
  // y = alpha^2 y + beta^2 c for the third. c is null where beta is 0.
  virtual Result<Extremes> finish(double* y, const double* c, std::int64_t rows, std::int64_t count,
                                  double alpha, double beta) = 0;
  // The largest max(|r1 - y1|, |r2 - y2|) / (sqrt(y3 + r3) + floor); infinite where one is not
  // finite.
  virtual Result<double> largest_error(const double* y, const double* r, std::int64_t rows,
                                       std::int64_t count, double floor) = 0;
  // Device memory held.
  virtual std::uint64_t device_bytes() const = 0;
};

// For memory that the host can read. Where the client is a CPU its threads take part.
std::unique_ptr<MatrixPasses> host_matrix_passes(Client* client = nullptr);

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_MATRIX_PASSES_H_
