#include "ops/matmul/cuda/priority.h"

#include <algorithm>
#include <cmath>

#include "ops/matmul/problem.h"

namespace rooftune {
namespace {

// How many are measured for a key. A compiler takes some tenths of a second for each on one core,
// and machines with such devices have a dozen cores or more.
constexpr std::size_t kMostGuesses = 14;
// A candidate predicted to take so many times as long as the best is not worth its compilation: the
// predictions are better than that.
constexpr double kHopeless = 2.5;

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

GemmArgs product_of(const MatmulKey& key) {
  GemmArgs args;
  const auto family = type_family(key.elem_lhs, key.elem_rhs, key.elem_out);
  args.family = family.value_or(TypeFamily::f32);
  args.a_type = key.elem_lhs;
  args.b_type = key.elem_rhs;
  args.c_type = key.elem_out;
  args.precision = key.precision;
  args.m = key.m;
  args.n = key.n;
  args.k = key.k;
  // Pitches as aligned as those of the key: an odd one is an odd number of elements longer.
  const auto lay = [](const MatrixLayout& layout, int stride_bits, std::int64_t rows,
                      std::int64_t cols, DType type, std::int64_t& row, std::int64_t& col) {
    const bool transposed = layout.form == LayoutClass::mildly_permuted && layout.transposed;
    const std::int64_t unit =
        std::max<std::int64_t>(1, (std::int64_t{1} << stride_bits) / size_of(type));
    const std::int64_t inner = transposed ? rows : cols;
    std::int64_t pitch = (inner + unit - 1) / unit * unit;
    if (pitch / unit % 2 == 0 && stride_bits < 10) pitch += unit;
    row = transposed ? 1 : pitch;
    col = transposed ? pitch : 1;
    if (layout.form == LayoutClass::highly_permuted) row = col = 2;
  };
  lay(key.layout_lhs, key.lhs_stride, key.m, key.k, key.elem_lhs, args.a_row, args.a_col);
  lay(key.layout_rhs, key.rhs_stride, key.k, key.n, key.elem_rhs, args.b_row, args.b_col);
  lay(key.layout_out, 10, key.m, key.n, key.elem_out, args.c_row, args.c_col);
  args.beta = key.accumulate ? 1 : 0;
  args.batch = key.batch;
  if (key.batch > 1) {
    args.batch_rank = 1;
    args.batch_extent[0] = key.batch;
    args.a_batch[0] = std::max(args.a_row * args.m, args.a_col * args.k);
    args.b_batch[0] = std::max(args.b_row * args.k, args.b_col * args.n);
    args.c_batch[0] = std::max(args.c_row * args.m, args.c_col * args.n);
  }
  return args;
}

std::vector<std::size_t> BestGuesses::choose(std::span<const CudaCandidate* const> candidates,
                                             const MatmulKey& key, const CudaMachine& machine) {
  const GemmArgs args = product_of(key);
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (candidates[i]->needs() == CudaNeeds::hopper && machine.capability != 90) continue;
    if (candidates[i]->illegal_because(args, machine) != nullptr) continue;
    const double seconds = candidates[i]->predicted_s(args, machine);
    if (seconds > 0 && std::isfinite(seconds)) order.emplace_back(seconds, i);
  }
  std::sort(order.begin(), order.end());
  std::vector<std::size_t> chosen;
  for (const auto& [seconds, i] : order) {
    if (chosen.size() == kMostGuesses || seconds > kHopeless * order.front().first) break;
    chosen.push_back(i);
  }
  return chosen;
}

bool BestGuesses::contains(const MatmulKey& key, std::size_t i, const CudaMachine& machine) {
  const std::lock_guard lock(mutex_);
  if (!known_ || !(key_ == key)) {
    chosen_.assign(candidates_.size(), false);
    for (const std::size_t best : choose(candidates_, key, machine)) chosen_[best] = true;
    key_ = key;
    known_ = true;
  }
  return chosen_[i];
}

}  // namespace rooftune
