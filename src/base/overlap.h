// Whether two views share memory.
#ifndef ROOFTUNE_BASE_OVERLAP_H_
#define ROOFTUNE_BASE_OVERLAP_H_

#include "rooftune/tensor.h"

namespace rooftune {

// True when some element of `a` and some element of `b` have a byte in common. Exact for views
// that interleave, such as the columns of one matrix; for a few pathological sets of strides, where
// finding out would take too long, the answer is true. The layouts must have passed check().
bool may_overlap(const ConstView& a, const ConstView& b);

}  // namespace rooftune

#endif  // ROOFTUNE_BASE_OVERLAP_H_
