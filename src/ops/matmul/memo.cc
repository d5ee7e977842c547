#include "ops/matmul/memo.h"

namespace rooftune {
namespace {

// A model's layers, or the blocks of a sparse code, use a handful of shapes in turn.
constexpr std::size_t kSlots = 16;
thread_local std::array<MatmulMemo, kSlots> memos;

bool same_layout(const Layout& a, const Layout& b) {
  if (a.rank != b.rank) return false;
  for (int i = 0; i < a.rank; ++i) {
    const auto axis = static_cast<std::size_t>(i);
    if (a.extents[axis] != b.extents[axis] || a.strides[axis] != b.strides[axis]) return false;
  }
  return true;
}

std::uint64_t summary(const Layout& layout) {
  if (layout.rank <= 0 || layout.rank > kMaxRank) return 0;
  const auto last = static_cast<std::size_t>(layout.rank - 1);
  return static_cast<std::uint64_t>(layout.extents[0]) * 3 +
         static_cast<std::uint64_t>(layout.extents[last]) * 5 +
         static_cast<std::uint64_t>(layout.strides[last]) * 7;
}

}  // namespace

MatmulMemo& MatmulMemo::of(const ConstView& lhs, const ConstView& rhs, const View& out) {
  const std::uint64_t mixed =
      (summary(lhs.layout) * 31 + summary(rhs.layout) * 37 + summary(out.layout)) *
      0x9e3779b97f4a7c15ull;
  return memos[mixed >> 60];
}

MatmulMemo::Reach MatmulMemo::reach_of(const ConstView& view) {
  const auto [lowest, highest] = view.layout.reach();
  const std::int64_t bytes = size_of(view.dtype);
  return {lowest * bytes, (highest + 1) * bytes};
}

bool MatmulMemo::serves(std::uint64_t context, const MatmulTuner& tuner, const ConstView& lhs,
                        const ConstView& rhs, const View& out, const MatmulOptions& options) const {
  if (context_ != context || version_ != tuner.version() || running_) return false;
  if (lhs.dtype != args_.a_type || rhs.dtype != args_.b_type || out.dtype != args_.c_type ||
      options.strategy != Strategy::autotune || options.precision != precision_ ||
      accumulate_ != (scalar_in(args_.family, options.beta) != 0) ||
      scalar_in(args_.family, options.alpha) == 0) {
    return false;
  }
  // Those of integers have rules of their own; the ones of the product that is kept obeyed them.
  if (args_.family == TypeFamily::int8 &&
      (options.alpha != args_.alpha || options.beta != args_.beta)) {
    return false;
  }
  if (!same_layout(lhs.layout, lhs_) || !same_layout(rhs.layout, rhs_) ||
      !same_layout(out.layout, out_)) {
    return false;
  }
  if (lhs.data == nullptr || rhs.data == nullptr || out.data == nullptr) return false;
  // Whether both are one matrix decides what may run.
  if (gram_shaped_ && (lhs.data == rhs.data) != args_.gram) return false;
  const auto apart = [&](const void* in, const Reach& reach) {
    const auto begin = reinterpret_cast<std::intptr_t>(in);
    const auto out_begin = reinterpret_cast<std::intptr_t>(out.data);
    return begin + reach.end <= out_begin + out_reach_.begin ||
           out_begin + out_reach_.end <= begin + reach.begin;
  };
  return apart(lhs.data, lhs_reach_) && apart(rhs.data, rhs_reach_);
}

Status MatmulMemo::run(MatmulTuner& tuner, const ConstView& lhs, const ConstView& rhs,
                       const View& out, const MatmulOptions& options) {
  args_.a = lhs.data;
  args_.b = rhs.data;
  args_.c = out.data;
  args_.alpha = scalar_in(args_.family, options.alpha);
  args_.beta = scalar_in(args_.family, options.beta);
  running_ = true;
  Status done = tuner.hit(*entry_, args_, options.stream, options.report);
  running_ = false;
  return done;
}

void MatmulMemo::keep(std::uint64_t context, std::uint64_t version,
                      const detail::Entry<MatmulKey>& entry, const MatmulProblem& problem,
                      const ConstView& lhs, const ConstView& rhs, const View& out,
                      Precision precision) {
  if (running_) return;
  context_ = context;
  version_ = version;
  entry_ = &entry;
  args_ = problem.gemm;
  lhs_ = lhs.layout;
  rhs_ = rhs.layout;
  out_ = out.layout;
  lhs_reach_ = reach_of(lhs);
  rhs_reach_ = reach_of(rhs);
  out_reach_ = reach_of(out);
  gram_shaped_ = is_gram_shaped(problem.gemm);
  accumulate_ = problem.gemm.beta != 0;
  precision_ = precision;
}

}  // namespace rooftune
