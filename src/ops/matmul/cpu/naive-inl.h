// The fallback: plain loops that accept every problem. Sums are made in f64 whatever the type is,
// so they neither stall nor lose more than the final rounding for f32.
#ifndef ROOFTUNE_OPS_MATMUL_CPU_NAIVE_INL_H_
#define ROOFTUNE_OPS_MATMUL_CPU_NAIVE_INL_H_

#include "ops/matmul/cpu/product.h"

namespace rooftune {
namespace {

// A few columns of one row: enough independent sums to hide the latency of an addition.
inline constexpr Index kNaiveColumns = 32;

// Partial sums of this many terms are added to the total, so that the error of a long f64 sum
// grows with the number of blocks and not with the number of terms.
inline constexpr Index kNaiveTerms = 1024;

template <class T>
void naive_columns(const Product<T>& p, Index i, Index j, Index cols) {
  double total[kNaiveColumns] = {};
  for (Index p0 = 0; p0 < p.k; p0 += kNaiveTerms) {
    double part[kNaiveColumns] = {};
    const Index p1 = lesser(p.k, p0 + kNaiveTerms);
    for (Index q = p0; q < p1; ++q) {
      const double a = load_one(p.a + i * p.a_row + q * p.a_col);
      const T* b = p.b + q * p.b_row + j * p.b_col;
      for (Index c = 0; c < cols; ++c) part[c] += a * double{load_one(b + c * p.b_col)};
    }
    for (Index c = 0; c < cols; ++c) total[c] += part[c];
  }
  for (Index c = 0; c < cols; ++c) {
    T* to = p.c + i * p.c_row + (j + c) * p.c_col;
    double value = double{p.alpha} * total[c];
    if (p.beta != T(0)) value += double{p.beta} * double{load_one(to)};
    store_one(to, static_cast<T>(value));
  }
}

template <class T>
KernelOutcome naive(const void* raw, CpuContext& context) {
  const GemmArgs& args = *static_cast<const GemmArgs*>(raw);
  const Index column_parts = ceil_div(args.n, kNaiveColumns);
  const Index parts = args.m * column_parts;
  team_for(work(args), context).run(args.batch * parts, [&](Index task, int) {
    const Index j = task % parts % column_parts * kNaiveColumns;
    naive_columns(product_of<T>(args, task / parts), task % parts / column_parts, j,
                  lesser(kNaiveColumns, args.n - j));
  });
  return KernelOutcome::done;
}

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CPU_NAIVE_INL_H_
