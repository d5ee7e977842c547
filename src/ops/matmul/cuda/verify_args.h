// The arguments of the kernels that a trial and its check run: see trial_memory.h.
#ifndef ROOFTUNE_OPS_MATMUL_CUDA_VERIFY_ARGS_H_
#define ROOFTUNE_OPS_MATMUL_CUDA_VERIFY_ARGS_H_

namespace rooftune {

inline constexpr int kVerifyThreads = 256;  // of every block of these kernels

// Where the elements of some matrices of a batch lie (MatrixBatch).
struct VerifyMatrices {
  const void* base;
  long long rows, cols, row_stride, col_stride;  // strides count elements
  long long batch_extent[6], batch_stride[6];
  int batch_rank;
  long long first, count;
};

// verify_apply.cu: out1 += M in1, out2 += M in2, squares += (M .* M) weights.
struct VerifyApplyArgs {
  VerifyMatrices matrices;
  const double* in;
  double* out;
  long long in_step, out_step;
  // The work of a warp: a block of rows, and so many of its columns.
  long long row_blocks, chunks, chunk_cols;
  int lanes_along_rows;  // neighbouring lanes take neighbouring rows of a column
};
// Rows of a block. Those that lie along the lanes of a warp are 32 for each of these.
inline constexpr int kVerifyRows = 8, kVerifyLaneRows = 4;

// verify_compare.cu, over triples of vectors.
struct VerifyCompareArgs {
  double* y;
  const double* other;  // what y is compared with, or C0's when y is to be finished, or null
  long long rows, count;
  double alpha, beta, floor;
  int finish;
  // As bits: numbers that are not negative are ordered as these are. 0 before the launch.
  unsigned long long* largest;
  unsigned long long* not_finite;
  unsigned long long* compared;  // rows that were looked at
};

// verify_count.cu: how many elements have exactly these bits.
struct VerifyCountArgs {
  const void* memory;
  long long elements;
  int element_bytes;  // 2, 4 or 8
  unsigned long long wanted;
  unsigned long long* count;  // 0 before the launch
};

// verify_random.cu: writes random numbers to all elements.
struct VerifyRandomArgs {
  VerifyMatrices matrices;
  unsigned long long seed;
  float shrink;  // of bytes
};

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CUDA_VERIFY_ARGS_H_
