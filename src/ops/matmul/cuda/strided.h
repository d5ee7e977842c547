// A product with any strides and batch, as kernels without copy descriptors take it.
#ifndef ROOFTUNE_OPS_MATMUL_CUDA_STRIDED_H_
#define ROOFTUNE_OPS_MATMUL_CUDA_STRIDED_H_

namespace rooftune {

// GemmArgs, member by member: strides count elements, and a kernel may not see std types.
struct StridedArgs {
  const void* a;
  const void* b;
  void* c;
  long long m, n, k;
  long long a_row, a_col, b_row, b_col, c_row, c_col;
  double alpha, beta;
  long long batch;
  int batch_rank;
  long long batch_extent[6], a_batch[6], b_batch[6], c_batch[6];
};

#ifdef __CUDACC_RTC__
// Where the operands of a batch begin, in elements.
struct BatchPlace {
  long long a, b, c;
};
__device__ __forceinline__ BatchPlace batch_place(const StridedArgs& args, long long batch) {
  // Most batches have one axis: no division for them.
  if (args.batch_rank <= 1) {
    return {batch * args.a_batch[0], batch * args.b_batch[0], batch * args.c_batch[0]};
  }
  BatchPlace place{0, 0, 0};
#pragma unroll 1
  for (int axis = args.batch_rank - 1; axis >= 0; --axis) {
    const long long rest = batch / args.batch_extent[axis];
    const long long index = batch - rest * args.batch_extent[axis];
    place.a += index * args.a_batch[axis];
    place.b += index * args.b_batch[axis];
    place.c += index * args.c_batch[axis];
    batch = rest;
  }
  return place;
}
#endif

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CUDA_STRIDED_H_
