// Problems by their shapes, for tests.
#ifndef ROOFTUNE_OPS_MATMUL_PROBLEM_FOR_TEST_H_
#define ROOFTUNE_OPS_MATMUL_PROBLEM_FOR_TEST_H_

#include <initializer_list>

#include "ops/matmul/problem.h"

namespace rooftune {

// A layout by extents and strides.
inline Layout strided(std::initializer_list<std::int64_t> extents,
                      std::initializer_list<std::int64_t> strides) {
  Layout layout;
  for (const std::int64_t extent : extents) {
    layout.extents[static_cast<std::size_t>(layout.rank++)] = extent;
  }
  std::size_t axis = 0;
  for (const std::int64_t stride : strides) layout.strides[axis++] = stride;
  return layout;
}

inline Layout dense(std::initializer_list<std::int64_t> extents) {
  return *Layout::contiguous(std::span(extents.begin(), extents.size()));
}

// The problem of these layouts without memory, or the error.
inline Result<MatmulProblem> problem_of(const Layout& lhs, const Layout& rhs, const Layout& out,
                                        DType dtype = DType::f32,
                                        const MatmulOptions& options = {}) {
  MatmulProblem problem;
  Status made = make_matmul_problem({nullptr, dtype, lhs}, {nullptr, dtype, rhs},
                                    {nullptr, dtype, out}, options, problem);
  if (!made) return std::unexpected(made.error());
  return problem;
}

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_PROBLEM_FOR_TEST_H_
