// What two sums must share to share a winner.
#ifndef ROOFTUNE_OPS_REDUCE_KEY_H_
#define ROOFTUNE_OPS_REDUCE_KEY_H_

#include <array>
#include <cstdint>
#include <string_view>

#include "ops/reduce/sum_args.h"
#include "rooftune/dtype.h"
#include "rooftune/key.h"
#include "rooftune/settings.h"

namespace rooftune {

// Which elements lie side by side in the input.
enum class SumLayout : std::uint8_t {
  contiguous_reduce,  // terms of one output
  contiguous_keep,    // terms of neighbouring outputs
  strided,            // neither
};
std::string_view to_string(SumLayout layout);  // "ContiguousReduce", ...

struct SumKey {
  std::int64_t outputs = 1;  // anchored; product of the kept extents
  std::int64_t terms = 1;    // anchored; product of the reduced extents
  std::int64_t run = 1;      // anchored; extent of the axis with the smallest stride
  std::int32_t threads = 1;  // the device may use; 1 where it has none
  SumLayout layout = SumLayout::strided;
  std::uint8_t keep_axes = 0, reduce_axes = 0;  // in normal form
  std::uint8_t stride = 0;  // trailing zero bits, 0..10, of the strides in bytes but the unit one
  DType dtype = DType::f32;
  std::array<std::uint8_t, 7> reserved{};  // keeps the struct free of padding

  ROOFTUNE_KEY(anchored(outputs), anchored(terms), anchored(run), layout, keep_axes, reduce_axes,
               stride, dtype, threads)
};

// The layout class of a sum in normal form.
SumLayout sum_layout(const SumArgs& args);

// The key of a sum in normal form, with sizes rounded up. The pointers are not looked at.
SumKey make_sum_key(const SumArgs& args, Level level, int threads);

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_REDUCE_KEY_H_
