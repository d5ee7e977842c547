#include "ops/reduce/problem.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>

#include "base/overlap.h"

namespace rooftune {
namespace {

static_assert(kMaxSumAxes == kMaxRank);

// One axis of the problem; `out` means nothing for a reduced one.
struct Axis {
  std::int64_t extent, in, out;
};

// The axes of one kind while they are brought into normal form.
class Axes {
 public:
  // Ordered by the stride of the input, the largest first, then by that of the output.
  void insert(Axis axis) {
    int at = size_++;
    for (; at > 0 && comes_before(axis, axes_[index(at - 1)]); --at) {
      axes_[index(at)] = axes_[index(at - 1)];
    }
    axes_[index(at)] = axis;
  }

  // Makes neighbours one axis where every step over the inner one's end is a step of the outer.
  void merge() {
    int merged = 0;
    for (int at = 0; at < size_; ++at) {
      const Axis inner = axes_[index(at)];
      if (merged > 0) {
        Axis& outer = axes_[index(merged - 1)];
        if (continues(outer.in, inner.in, inner.extent) &&
            continues(outer.out, inner.out, inner.extent)) {
          outer = {outer.extent * inner.extent, inner.in, inner.out};
          continue;
        }
      }
      axes_[index(merged++)] = inner;
    }
    size_ = merged;
  }

  int size() const { return size_; }
  const Axis& operator[](int at) const { return axes_[index(at)]; }

 private:
  static std::size_t index(int at) { return static_cast<std::size_t>(at); }
  static std::int64_t magnitude(std::int64_t x) { return x < 0 ? -x : x; }
  static bool comes_before(const Axis& a, const Axis& b) {
    return a.in != b.in ? a.in > b.in : magnitude(a.out) > magnitude(b.out);
  }
  static bool continues(std::int64_t outer, std::int64_t inner, std::int64_t extent) {
    std::int64_t end = 0;
    return !__builtin_mul_overflow(inner, extent, &end) && outer == end;
  }

  std::array<Axis, kMaxRank> axes_{};
  int size_ = 0;
};

std::string shape_text(const Layout& layout) {
  return fmt::format("[{}]", fmt::join(layout.shape(), ", "));
}

// The reduced axes of `in` as flags.
Result<std::array<bool, kMaxRank>> resolve(const Layout& in, std::span<const int> axes) {
  std::array<bool, kMaxRank> reduced{};
  for (const int axis : axes) {
    if (axis < -in.rank || axis >= in.rank) {
      return fail(ErrorKind::invalid_argument,
                  in.rank == 0 ? fmt::format("sum over axis {} of a scalar, which has none", axis)
                               : fmt::format("sum over axis {} of {}: axes are {} to {}", axis,
                                             shape_text(in), -in.rank, in.rank - 1));
    }
    bool& flag = reduced[static_cast<std::size_t>(axis < 0 ? axis + in.rank : axis)];
    if (flag) {
      return fail(ErrorKind::invalid_argument,
                  fmt::format("sum over axes ({}) of {}: axis {} is named twice",
                              fmt::join(axes, ", "), shape_text(in), axis));
    }
    flag = true;
  }
  return reduced;
}

Status check_types(const ConstView& in, const View& out) {
  if (in.dtype != out.dtype || (in.dtype != DType::f32 && in.dtype != DType::f64)) {
    return fail(
        ErrorKind::unsupported,
        fmt::format("sum of {} {} into {} {}: both must be f32, or both f64", to_string(in.dtype),
                    shape_text(in.layout), to_string(out.dtype), shape_text(out.layout)));
  }
  return {};
}

Status mismatch(const Layout& in, const Layout& out, std::span<const int> axes,
                const std::array<bool, kMaxRank>& reduced) {
  std::string kept, ones;
  for (int axis = 0; axis < in.rank; ++axis) {
    const auto at = static_cast<std::size_t>(axis);
    fmt::format_to(std::back_inserter(ones), "{}{}", ones.empty() ? "" : ", ",
                   reduced[at] ? 1 : in.extents[at]);
    if (!reduced[at]) {
      fmt::format_to(std::back_inserter(kept), "{}{}", kept.empty() ? "" : ", ", in.extents[at]);
    }
  }
  return fail(ErrorKind::shape_mismatch,
              fmt::format("sum over axes ({}) of {} gives [{}] or, with the summed axes kept, "
                          "[{}]; the output is {}",
                          fmt::join(axes, ", "), shape_text(in), kept, ones, shape_text(out)));
}

}  // namespace

Result<SumArgs> make_sum_args(const ConstView& in, const View& out, std::span<const int> axes) {
  if (Status good = check(in.layout); !good) {
    return fail(good.error().kind, "sum, input: " + good.error().text);
  }
  if (Status good = check(out.layout); !good) {
    return fail(good.error().kind, "sum, output: " + good.error().text);
  }
  if (Status good = check_types(in, out); !good) return std::unexpected(good.error());
  const auto reduced = resolve(in.layout, axes);
  if (!reduced) return std::unexpected(reduced.error());

  const int kept_rank = in.layout.rank - static_cast<int>(axes.size());
  const bool with_ones = out.layout.rank == in.layout.rank;
  bool fits = with_ones || out.layout.rank == kept_rank;
  // Without elements nothing limits the strides, so nothing is added up.
  const bool empty = in.layout.elements() == 0;
  Axes keep, reduce;
  SumArgs args;
  args.dtype = in.dtype;
  std::int64_t in_offset = 0, out_offset = 0;
  for (int axis = 0, out_axis = 0; fits && axis < in.layout.rank; ++axis) {
    const auto at = static_cast<std::size_t>(axis);
    const auto out_at = static_cast<std::size_t>(out_axis);
    Axis step{in.layout.extents[at], in.layout.strides[at], 0};
    if ((*reduced)[at]) {
      if (with_ones) {
        fits = out.layout.extents[out_at] == 1;
        ++out_axis;
      }
      args.terms = step.extent == 0 ? 0 : args.terms * step.extent;
    } else {
      fits = out.layout.extents[out_at] == step.extent;
      step.out = out.layout.strides[out_at];
      ++out_axis;
      args.outputs = step.extent == 0 ? 0 : args.outputs * step.extent;
    }
    if (step.extent <= 1) continue;
    // The order of additions is ours to choose, and so is that of the outputs: walking an axis
    // from its other end leaves the kernels without negative strides.
    if (step.in < 0 && !empty) {
      in_offset += (step.extent - 1) * step.in;
      out_offset += (step.extent - 1) * step.out;
      step.in = -step.in;
      step.out = -step.out;
    }
    ((*reduced)[at] ? reduce : keep).insert(step);
  }
  if (!fits) {
    Status wrong = mismatch(in.layout, out.layout, axes, *reduced);
    return std::unexpected(std::move(wrong.error()));
  }

  if (args.outputs > 0 && out.data == nullptr) {
    return fail(ErrorKind::invalid_argument,
                "sum: the output " + shape_text(out.layout) + " has no data");
  }
  if (args.outputs > 0 && args.terms > 0 && in.data == nullptr) {
    return fail(ErrorKind::invalid_argument,
                "sum: the input " + shape_text(in.layout) + " has no data");
  }
  if (out.layout.self_overlaps()) {
    return fail(ErrorKind::overlap, "sum: elements of the output share memory: " + out.to_string());
  }
  if (may_overlap(in, ConstView(out))) {
    return fail(ErrorKind::overlap,
                fmt::format("sum: the output {} shares memory with the input {}", out.to_string(),
                            in.to_string()));
  }

  keep.merge();
  reduce.merge();
  args.keep_rank = keep.size();
  for (int at = 0; at < keep.size(); ++at) {
    args.keep_extent[at] = keep[at].extent;
    args.in_keep[at] = keep[at].in;
    args.out_keep[at] = keep[at].out;
  }
  args.reduce_rank = reduce.size();
  for (int at = 0; at < reduce.size(); ++at) {
    args.reduce_extent[at] = reduce[at].extent;
    args.in_reduce[at] = reduce[at].in;
  }
  // With nothing to read or write the pointers may be null, and nobody will use them.
  if (args.outputs > 0) {
    args.out = static_cast<std::byte*>(out.data) + out_offset * size_of(out.dtype);
    if (args.terms > 0) {
      args.in = static_cast<const std::byte*>(in.data) + in_offset * size_of(in.dtype);
    }
  }
  return args;
}

double sum_inputs(const SumArgs& args) {
  double distinct = 1;
  for (int at = 0; at < args.keep_rank; ++at) {
    if (args.in_keep[at] != 0) distinct *= static_cast<double>(args.keep_extent[at]);
  }
  for (int at = 0; at < args.reduce_rank; ++at) {
    if (args.in_reduce[at] != 0) distinct *= static_cast<double>(args.reduce_extent[at]);
  }
  return distinct;
}

double sum_ops(const SumArgs& args) {
  return static_cast<double>(args.outputs) * static_cast<double>(args.terms);
}

double sum_bytes(const SumArgs& args) {
  return (sum_inputs(args) + static_cast<double>(args.outputs)) *
         static_cast<double>(size_of(args.dtype));
}

double sum_error_bound(const SumArgs& args) {
  // A block has at most 128 additions in a row, then a tree of at most 16 levels; what follows is
  // pairwise, in f64.
  const double block = 128 + 16 + 1;
  const double unit_f64 = std::numeric_limits<double>::epsilon() / 2;
  const double unit =
      args.dtype == DType::f32 ? double{std::numeric_limits<float>::epsilon()} / 2 : unit_f64;
  const double pairs = std::bit_width(static_cast<std::uint64_t>(args.terms));
  return block * unit + (pairs + 16) * unit_f64;
}

}  // namespace rooftune
