// Very small products, as many as there are: the elements of C of all batches are numbered through,
// and K_LANES neighbouring lanes share one. Operands come straight from memory; neighbours want the
// same lines, which the first cache has. Specialised by A_TYPE, B_TYPE, K_LANES.
#include "device/cuda/types.cuh"
#include "ops/matmul/cuda/output.cuh"
#include "ops/matmul/cuda/tiny_args.h"

extern "C" __global__ void __launch_bounds__(256)
    rooftune_kernel(const __grid_constant__ rooftune::TinyArgs args) {
  using Sum = sum_of<A_TYPE>::type;
  const int lane_k = threadIdx.x % K_LANES;
  const uint32 cells = args.m * args.n;
  const int64 stride = int64(gridDim.x) * (blockDim.x / K_LANES);
  for (int64 unit = int64(blockIdx.x) * (blockDim.x / K_LANES) + threadIdx.x / K_LANES;
       unit < args.units; unit += stride) {
    // Fewer than 2^32 units are the rule, and 32-bit division is much the faster.
    const int64 batch = unit >> 32 ? unit / cells : int64(uint32(unit) / cells);
    const uint32 cell = uint32(unit - batch * cells);
    const uint32 i = cell / args.n, j = cell % args.n;
    const A_TYPE* a = static_cast<const A_TYPE*>(args.a) + batch * args.a_batch + i * args.a_row;
    const B_TYPE* b = static_cast<const B_TYPE*>(args.b) + batch * args.b_batch + j * args.b_col;
    Sum sum = 0;
#pragma unroll 8
    for (uint32 p = lane_k; p < args.k; p += K_LANES)
      sum += widen<Sum>(a[p * args.a_col]) * widen<Sum>(b[p * args.b_row]);
#if K_LANES > 1
    // All lanes of the group are here: they have the same unit.
    const uint32 group = K_LANES == 32
                             ? 0xffffffff
                             : ((1u << K_LANES % 32) - 1) << (threadIdx.x % 32 / K_LANES * K_LANES);
#pragma unroll
    for (int lanes = K_LANES / 2; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(group, sum, lanes);
    if (lane_k != 0) continue;
#endif
    store(args.out, args.c, batch * args.c_batch + i * args.c_row + j * args.c_col, sum);
  }
}
