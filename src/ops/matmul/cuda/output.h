// How sums become elements of C, seen from host and device.
#ifndef ROOFTUNE_OPS_MATMUL_CUDA_OUTPUT_H_
#define ROOFTUNE_OPS_MATMUL_CUDA_OUTPUT_H_

namespace rooftune {

struct Output {
  double alpha, beta;
  int c_bytes;  // of an element of C
  int c_half;   // a C of two bytes is f16, not bf16
};

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CUDA_OUTPUT_H_
