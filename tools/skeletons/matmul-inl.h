// TECHNIQUE: say in a line what it does that no other kernel does.
//
// This skeleton is a right and simple kernel: each task makes one vector of C, from one row of A
// and the columns of B below it. Replace what is inside, keep what is said in comments.
#ifndef ROOFTUNE_OPS_MATMUL_CPU_GUARD_INL_H_
#define ROOFTUNE_OPS_MATMUL_CPU_GUARD_INL_H_

#include "ops/matmul/cpu/product.h"

namespace rooftune {
// Unnamed: the file is compiled once for each instruction set (see simd.h).
namespace {

// Sums of this many terms are added to the total, so that the error of a long sum grows with the
// number of blocks and not with the number of terms.
inline constexpr Index kCAMELTerms = 256;

// One vector of C at row i and columns [j, j + cols), 1 <= cols <= S::kWidth.
template <class S, class T>
void TECHNIQUE_vector(const Product<T>& p, Index i, Index j, Index cols) {
  // Loads and stores through a mask touch only the elements that are there.
  const auto mask = S::mask(cols);
  auto total = S::zero();
  for (Index q0 = 0; q0 < p.k; q0 += kCAMELTerms) {
    const Index q1 = lesser(p.k, q0 + kCAMELTerms);
    auto part = S::zero();
    for (Index q = q0; q < q1; ++q) {
      // Any stride is possible: where columns do not lie side by side they are gathered.
      const T* b = p.b + q * p.b_row + j * p.b_col;
      T gathered[S::kWidth];
      if (p.b_col != 1) {
        for (Index c = 0; c < cols; ++c) gathered[c] = load_one(b + c * p.b_col);
        b = gathered;
      }
      const auto a = S::broadcast(load_one(p.a + i * p.a_row + q * p.a_col));
      part = S::fma(a, S::load(b, mask), part);
    }
    total = S::add(total, part);
  }
  // alpha and beta in one place for all kernels; beta == 0 does not read C.
  alignas(64) T sums[S::kWidth];
  S::store(sums, total);
  update_block<S>(sums, S::kWidth, 1, cols, p.alpha, p.beta, p.c + i * p.c_row + j * p.c_col,
                  p.c_row, p.c_col);
}

template <class S>
KernelOutcome TECHNIQUE(const void* raw, CpuContext& context) {
  using T = typename S::Element;
  const GemmArgs& args = *static_cast<const GemmArgs*>(raw);
  const Index strips = ceil_div(args.n, Index{S::kWidth});
  const Index tasks = args.m * strips;
  // One thread where the product is too small for more.
  team_for(work(args), context).run(args.batch * tasks, [&](Index task, int) {
    const Product<T> p = product_of<T>(args, task / tasks);
    const Index j = task % strips * S::kWidth;
    TECHNIQUE_vector<S>(p, task % tasks / strips, j, lesser(p.n - j, S::kWidth));
  });
  return KernelOutcome::done;
}

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CPU_GUARD_INL_H_
