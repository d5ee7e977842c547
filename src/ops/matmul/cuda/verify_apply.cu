// out1 += M in1, out2 += M in2, squares += (M .* M) weights for every matrix of a batch, in f64:
// one pass over the memory of M, with lanes along its contiguous axis. ELEMENT is its type.
//
// Blocks of columns of one row are added up by atomic operations, so that few rows keep the device
// busy as well. Their order varies, by f64 roundings that no bound of the check notices.
#include "ops/matmul/cuda/verify_matrices.cuh"

using rooftune::kVerifyLaneRows;
using rooftune::kVerifyRows;
using rooftune::VerifyApplyArgs;
using Element = ELEMENT;

// A warp over the columns of kVerifyRows rows: what it reads of the vectors serves all of them.
__device__ void lanes_along_columns(const VerifyApplyArgs& args, const Element* matrix,
                                    const double* in, double* out, int64 first_row, int64 first_col,
                                    int64 end_col) {
  const int64 rows = args.matrices.rows, cols = args.matrices.cols;
  const int lane = threadIdx.x % 32;
  const Element* row[kVerifyRows];
  double sum[3][kVerifyRows];
#pragma unroll
  for (int r = 0; r < kVerifyRows; ++r) {
    // Rows behind the last one repeat it, and are not written.
    const int64 i = first_row + r < rows ? first_row + r : rows - 1;
    row[r] = matrix + i * args.matrices.row_stride;
    sum[0][r] = sum[1][r] = sum[2][r] = 0;
  }
#pragma unroll 1
  for (int64 j = first_col + lane; j < end_col; j += 32) {
    Element element[kVerifyRows];
#pragma unroll
    for (int r = 0; r < kVerifyRows; ++r) {
      element[r] = load_element(row[r] + j * args.matrices.col_stride);
    }
    const double x1 = in[j], x2 = in[cols + j], weight = in[2 * cols + j];
#pragma unroll
    for (int r = 0; r < kVerifyRows; ++r) {
      const double value = widen<double>(element[r]);
      sum[0][r] += value * x1;
      sum[1][r] += value * x2;
      sum[2][r] += value * value * weight;
    }
  }
  // Lane 8 * part + r keeps the sum of row r.
  double kept = 0;
#pragma unroll
  for (int part = 0; part < 3; ++part) {
#pragma unroll
    for (int r = 0; r < kVerifyRows; ++r) {
      double total = sum[part][r];
#pragma unroll
      for (int distance = 16; distance > 0; distance /= 2) {
        total += __shfl_xor_sync(0xffffffff, total, distance);
      }
      if (lane == part * kVerifyRows + r) kept = total;
    }
  }
  const int64 i = first_row + lane % kVerifyRows;
  if (lane < 3 * kVerifyRows && i < rows) atomicAdd(out + lane / kVerifyRows * rows + i, kept);
}

// A warp over 32 * kVerifyLaneRows rows, each lane with rows of its own.
__device__ void lanes_along_rows(const VerifyApplyArgs& args, const Element* matrix,
                                 const double* in, double* out, int64 first_row, int64 first_col,
                                 int64 end_col) {
  const int64 rows = args.matrices.rows, cols = args.matrices.cols;
  const int64 first = first_row + threadIdx.x % 32;
  const Element* row[kVerifyLaneRows];
  double sum[3][kVerifyLaneRows];
#pragma unroll
  for (int r = 0; r < kVerifyLaneRows; ++r) {
    row[r] = matrix + (first + 32 * r) * args.matrices.row_stride;
    sum[0][r] = sum[1][r] = sum[2][r] = 0;
  }
#pragma unroll 2
  for (int64 j = first_col; j < end_col; ++j) {
    const double x1 = in[j], x2 = in[cols + j], weight = in[2 * cols + j];
#pragma unroll
    for (int r = 0; r < kVerifyLaneRows; ++r) {
      if (first + 32 * r >= rows) continue;
      const double value = widen<double>(load_element(row[r] + j * args.matrices.col_stride));
      sum[0][r] += value * x1;
      sum[1][r] += value * x2;
      sum[2][r] += value * value * weight;
    }
  }
#pragma unroll
  for (int r = 0; r < kVerifyLaneRows; ++r) {
    const int64 i = first + 32 * r;
    if (i >= rows) continue;
    for (int part = 0; part < 3; ++part) atomicAdd(out + part * rows + i, sum[part][r]);
  }
}

extern "C" __global__ void __launch_bounds__(rooftune::kVerifyThreads, 2)
    rooftune_kernel(const __grid_constant__ VerifyApplyArgs args) {
  constexpr int kWarps = rooftune::kVerifyThreads / 32;
  const int64 tasks = args.matrices.count * args.row_blocks * args.chunks;
#pragma unroll 1
  for (int64 task = blockIdx.x * int64(kWarps) + threadIdx.x / 32; task < tasks;
       task += gridDim.x * int64(kWarps)) {
    // Neighbouring warps share columns, and with them the vectors.
    const int64 block = task % args.row_blocks;
    const int64 chunk = task / args.row_blocks % args.chunks;
    const int64 index = task / args.row_blocks / args.chunks;
    const auto* matrix =
        static_cast<const Element*>(args.matrices.base) + matrix_offset(args.matrices, index);
    const double* in = args.in + index * args.in_step;
    double* out = args.out + index * args.out_step;
    const int64 first_col = chunk * args.chunk_cols;
    int64 end_col = first_col + args.chunk_cols;
    if (end_col > args.matrices.cols) end_col = args.matrices.cols;
    if (args.lanes_along_rows) {
      lanes_along_rows(args, matrix, in, out, block * 32 * kVerifyLaneRows, first_col, end_col);
    } else {
      lanes_along_columns(args, matrix, in, out, block * kVerifyRows, first_col, end_col);
    }
  }
}
