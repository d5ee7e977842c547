// The fallback: a thread makes one element of C from whatever the strides say. 32 columns by 8 rows
// a block; blocks take tiles in turn, so that no count of tiles or batches is too large for a grid.
#include "ops/matmul/cuda/scalar.cuh"
#include "ops/matmul/cuda/strided.h"

using rooftune::StridedArgs;

// A sum of k terms in f32 has an error of up to k rounding errors; sums of this many terms that are
// then added up have far fewer.
constexpr int64 kTermsOfPart = 256;

extern "C" __global__ void __launch_bounds__(256)
    rooftune_kernel(const __grid_constant__ StridedArgs args) {
  const int64 tiles_n = (args.n + 31) / 32;
  const int64 tiles_m = (args.m + 7) / 8;
  const int64 tiles = tiles_n * tiles_m;
  const Sum alpha = scalar<Sum>(args.alpha);
  const Sum beta = scalar<Sum>(args.beta);

  for (int64 t = blockIdx.x; t < tiles * args.batch; t += gridDim.x) {
    const int64 batch = t / tiles;
    const int64 tile = t - batch * tiles;
    const int64 i = tile / tiles_n * 8 + threadIdx.x / 32;
    const int64 j = tile % tiles_n * 32 + threadIdx.x % 32;
    if (i >= args.m || j >= args.n) continue;

    const rooftune::BatchPlace place = batch_place(args, batch);
    const A* a = static_cast<const A*>(args.a) + place.a + i * args.a_row;
    const B* b = static_cast<const B*>(args.b) + place.b + j * args.b_col;
    Sum total = 0;
    for (int64 begin = 0; begin < args.k; begin += kTermsOfPart) {
      const int terms = int(args.k - begin < kTermsOfPart ? args.k - begin : kTermsOfPart);
      Sum part = 0;
#pragma unroll 4
      for (int p = 0; p < terms; ++p) {
        part = multiply_add(widen<Sum>(load(a)), widen<Sum>(load(b)), part);
        a += args.a_col;
        b += args.b_row;
      }
      total = plus(total, part);
    }
    update(static_cast<C*>(args.c) + place.c + i * args.c_row + j * args.c_col, total, alpha, beta);
  }
}
