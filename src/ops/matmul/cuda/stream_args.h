// The argument of the stream kernels, seen from both sides.
#ifndef ROOFTUNE_OPS_MATMUL_CUDA_STREAM_ARGS_H_
#define ROOFTUNE_OPS_MATMUL_CUDA_STREAM_ARGS_H_

#include "ops/matmul/cuda/output.h"

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
  unsigned tiles;      // of rows, in each batch
  unsigned all_tiles;  // of all batches
  unsigned units;      // all tiles by those that a block has at once: block b takes unit b,
                       // b + gridDim.x, ...
  Output out;
  int vectors;
  int k_warps;  // warps of a block that share a tile of rows and divide k
};

// The argument of stream_arrange.cu, which makes x contiguous along k and aligned.
struct StreamArrangeArgs {
  const void* x;
  void* arranged;  // [batch][vector][pitch]
  long long k, pitch;
  long long x_v, x_k, x_batch;
  int vectors, batch;
};

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CUDA_STREAM_ARGS_H_
