#include "ops/matmul/cpu/batch.h"

namespace rooftune {

BatchOffsets batch_offsets(const GemmArgs& args, std::int64_t index) {
  BatchOffsets offsets;
  if (index == 0) return offsets;
  for (int axis = args.batch_rank - 1; axis >= 0; --axis) {
    const auto at = static_cast<std::size_t>(axis);
    // The outermost axis needs no division: most batches have one axis.
    const std::int64_t here = axis == 0 ? index : index % args.batch_extent[at];
    if (axis != 0) index /= args.batch_extent[at];
    offsets.a += here * args.a_batch[at];
    offsets.b += here * args.b_batch[at];
    offsets.c += here * args.c_batch[at];
  }
  return offsets;
}

}  // namespace rooftune
