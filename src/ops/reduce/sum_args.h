// One sum as kernels see it: extents, element strides, pointers. The input is valid memory for
// exactly the elements that its strides reach, the output likewise; nothing beside them may be
// touched.
#ifndef ROOFTUNE_OPS_REDUCE_SUM_ARGS_H_
#define ROOFTUNE_OPS_REDUCE_SUM_ARGS_H_

#include <cstdint>

#include "rooftune/dtype.h"

namespace rooftune {

inline constexpr int kMaxSumAxes = 8;

// out[i] = sum over r of in[i, r], for every index i of the kept and r of the reduced axes.
//
// Normal form: no axis of extent 1; the strides of the input are not negative (those of the output
// may be); axes of one kind lie outermost first by the stride of the input, so that the last one
// is the closest in memory; neighbours that can be walked as one axis are one.
//
// Plain arrays and no inline functions: see ops/simd.h.
struct SumArgs {
  DType dtype = DType::f32;  // of both
  const void* in = nullptr;  // may be misaligned even to the element size
  void* out = nullptr;
  std::int64_t outputs = 1;  // product of keep_extent, at least 1
  std::int64_t terms = 1;    // product of reduce_extent, at least 1
  int keep_rank = 0, reduce_rank = 0;
  std::int64_t keep_extent[kMaxSumAxes] = {};
  std::int64_t in_keep[kMaxSumAxes] = {};
  std::int64_t out_keep[kMaxSumAxes] = {};
  std::int64_t reduce_extent[kMaxSumAxes] = {};
  std::int64_t in_reduce[kMaxSumAxes] = {};
};

// The step between neighbouring terms or outputs that are closest in memory; 0 without such axes.
std::int64_t term_step(const SumArgs& args);
std::int64_t output_step(const SumArgs& args);

// How many lie in a row at that step; 1 without such axes.
std::int64_t term_run(const SumArgs& args);
std::int64_t output_run(const SumArgs& args);

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_REDUCE_SUM_ARGS_H_
