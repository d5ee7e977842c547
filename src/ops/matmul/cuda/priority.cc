#include "ops/matmul/cuda/priority.h"

#include <algorithm>

namespace rooftune {
namespace {

int accelerated_priority(const MatmulKey& key) {
  switch (key.kind) {
    case MatmulKind::general:
      return key.scale == MatmulScale::large ? 3 : 2;
    case MatmulKind::mat_vec:
    case MatmulKind::vec_mat:
      return 3;
    default:
      return 1;
  }
}

int unit_priority(const MatmulKey& key) {
  return key.kind == MatmulKind::general && key.scale != MatmulScale::small ? 1 : 2;
}

int tma_priority(const MatmulKey& key) {
  // lhs_stride counts trailing zero bits of bytes: 4 is a multiple of 16 bytes.
  if (key.lhs_stride < 4 || key.rhs_stride < 4) return -1;
  const auto [least, most] = std::minmax({key.m, key.n, key.k});
  const bool large = key.kind == MatmulKind::general && key.scale == MatmulScale::large;
  return large && most < 4 * least ? 3 : 2;
}

int gemv_priority(const MatmulKey& key) {
  const auto transposed = [](const MatrixLayout& layout) {
    return layout.form == LayoutClass::mildly_permuted && layout.transposed;
  };
  if (key.kind == MatmulKind::mat_vec) return transposed(key.layout_lhs) ? 2 : 3;
  if (key.kind == MatmulKind::vec_mat) return transposed(key.layout_rhs) ? 3 : 2;
  return -1;
}

}  // namespace

std::vector<std::pair<std::string_view, std::function<int(const MatmulKey&)>>>
cuda_group_priorities() {
  return {{"accelerated", accelerated_priority},
          {"unit", unit_priority},
          {"tma", tma_priority},
          {"gemv", gemv_priority},
          {"hopper", [](const MatmulKey&) { return 3; }},
          {"stream", [](const MatmulKey&) { return 3; }},
          {"tiny", [](const MatmulKey&) { return 3; }},
          {"f64", [](const MatmulKey&) { return 3; }},
          {"best_guesses", [](const MatmulKey&) { return 4; }}};
}

}  // namespace rooftune
