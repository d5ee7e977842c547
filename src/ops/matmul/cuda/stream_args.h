// The argument of stream_mma.cu and stream_fma.cu, seen from both sides.
#ifndef ROOFTUNE_OPS_MATMUL_CUDA_STREAM_ARGS_H_
#define ROOFTUNE_OPS_MATMUL_CUDA_STREAM_ARGS_H_

namespace rooftune {

// out(v, r) = alpha * sum over p of x(v, p) * w(r, p) + beta * out(v, r): a few vectors x against a
// matrix w with many rows. Strides count elements; one axis of w has a stride of 1.
struct StreamArgs {
  const void* w;
  const void* x;
  void* c;
  long long rows, k;
  long long w_pitch;  // of the axis of w that is not contiguous
  long long x_v, x_k;
  long long c_v, c_r;
  long long w_batch, x_batch, c_batch;
  double alpha, beta;
  unsigned tiles;  // blocks that the rows take; the grid has so many for each batch
  int vectors;
  int k_warps;  // warps of a block that share a tile of rows and divide k
  int c_bytes;  // of an element of C
  int c_half;   // a C of two bytes is f16, not bf16
};

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CUDA_STREAM_ARGS_H_
