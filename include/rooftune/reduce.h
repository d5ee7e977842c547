// Sums over any set of axes: options and errors. The call is Session::sum, or rooftune::sum.
//
// in has any rank, strides and alignment. `axes` names the axes to sum over (negative counts from
// the end; each at most once; none: out = in). out has the remaining axes in order, or also the
// summed ones with extent 1; it must not overlap the input or itself. A sum over no elements is 0.
// Types: f32 and f64, equal for in and out. Sums run in blocks of bounded length, so that long
// ones do not stall; the order depends on layout, candidate and thread count only. A sum starts
// from +0, NaN and Inf follow IEEE rules, and whether a sum overflows on its way to a finite result
// depends on the candidate.
#ifndef ROOFTUNE_REDUCE_H_
#define ROOFTUNE_REDUCE_H_

#include "rooftune/matmul.h"

namespace rooftune {

struct SumOptions {
  Strategy strategy = Strategy::autotune;
  std::string_view candidate = {};
  Stream stream = {};
  CallReport* report = nullptr;
};

}  // namespace rooftune

#endif  // ROOFTUNE_REDUCE_H_
