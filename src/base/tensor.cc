#include "rooftune/tensor.h"

#include <algorithm>
#include <limits>
#include <new>

#include "fmt/format.h"
#include "fmt/ranges.h"

namespace rooftune {
namespace {

__extension__ typedef __int128 Wide;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
// So that a count of elements is also a count of bytes, whatever the type.
constexpr std::int64_t kMostElements = kMost / 8;

// Why a layout could not be made, kept in its rank.
enum Mark : int { bad_extents = -1, bad_permutation = -2, bad_slice = -3 };

// Far above any valid offset, far below what a sum of kMaxRank of them could overflow.
constexpr Wide kClamp = Wide(1) << 80;

Wide clamped(Wide value) { return std::clamp<Wide>(value, -kClamp, kClamp); }

std::int64_t saturated(Wide value) {
  return std::int64_t(std::clamp<Wide>(value, std::numeric_limits<std::int64_t>::min(), kMost));
}

Wide magnitude(std::int64_t stride) { return stride < 0 ? -Wide(stride) : Wide(stride); }

bool is_rank(int rank) { return rank >= 0 && rank <= kMaxRank; }

// {lowest, highest} offset of a layout with elements.
std::pair<Wide, Wide> wide_reach(const Layout& layout) {
  Wide lowest = 0, highest = 0;
  for (int axis = 0; axis < layout.rank; ++axis) {
    const Wide last = clamped(Wide(layout.extents[axis] - 1) * layout.strides[axis]);
    (last < 0 ? lowest : highest) += last;
  }
  return {lowest, highest};
}

Status check_extents(std::span<const std::int64_t> extents) {
  if (extents.size() > std::size_t(kMaxRank)) {
    return fail(ErrorKind::invalid_argument,
                fmt::format("{} axes; at most {} are supported", extents.size(), kMaxRank));
  }
  std::int64_t product = 1;
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    if (extents[axis] < 0) {
      return fail(ErrorKind::invalid_argument,
                  fmt::format("axis {} of [{}] has the negative extent {}", axis,
                              fmt::join(extents, ", "), extents[axis]));
    }
    const std::int64_t extent = std::max<std::int64_t>(extents[axis], 1);
    if (__builtin_mul_overflow(product, extent, &product) || product > kMostElements) {
      return fail(ErrorKind::invalid_argument,
                  fmt::format("[{}] has more than {} elements, the most that can be addressed",
                              fmt::join(extents, ", "), kMostElements));
    }
  }
  return {};
}

Layout invalid(Mark mark) {
  Layout layout;
  layout.rank = mark;
  return layout;
}

template <class AnyView>
AnyView transposed_view(AnyView view) {
  Layout& layout = view.layout;
  if (is_rank(layout.rank) && layout.rank >= 2) {
    std::swap(layout.extents[layout.rank - 1], layout.extents[layout.rank - 2]);
    std::swap(layout.strides[layout.rank - 1], layout.strides[layout.rank - 2]);
  }
  return view;
}

std::string view_text(DType dtype, const Layout& layout) {
  return fmt::format("{} {}", to_string(dtype), layout.to_string());
}

}  // namespace

std::int64_t Layout::elements() const {
  if (!is_rank(rank)) return 0;
  std::int64_t product = 1;
  bool overflow = false;
  for (int axis = 0; axis < rank; ++axis) {
    if (extents[axis] <= 0) return 0;
    overflow |= __builtin_mul_overflow(product, extents[axis], &product);
  }
  return overflow ? kMost : product;
}

Result<Layout> Layout::contiguous(std::span<const std::int64_t> extents) {
  if (Status status = check_extents(extents); !status) return std::unexpected(status.error());
  Layout layout;
  layout.rank = int(extents.size());
  std::int64_t stride = 1;
  for (int axis = layout.rank - 1; axis >= 0; --axis) {
    layout.extents[axis] = extents[axis];
    layout.strides[axis] = stride;
    stride *= std::max<std::int64_t>(extents[axis], 1);
  }
  return layout;
}

std::pair<std::int64_t, std::int64_t> Layout::reach() const {
  if (elements() == 0) return {0, -1};
  const auto [lowest, highest] = wide_reach(*this);
  return {saturated(lowest), saturated(highest)};
}

bool Layout::self_overlaps() const {
  if (!is_rank(rank)) return true;
  if (elements() == 0) return false;
  // Axes by ascending stride, inserted one by one: std::sort on a part of 8 elements sets off a
  // false array-bounds warning in GCC 12.
  std::array<int, kMaxRank> order;
  int count = 0;
  for (int axis = 0; axis < rank; ++axis) {
    if (extents[axis] == 1) continue;
    int at = count++;
    for (; at > 0 && magnitude(strides[order[at - 1]]) > magnitude(strides[axis]); --at) {
      order[at] = order[at - 1];
    }
    order[at] = axis;
  }
  Wide inner_span = 0;  // offset of the last element that the axes so far reach
  for (int i = 0; i < count; ++i) {
    const Wide stride = magnitude(strides[order[i]]);
    if (stride <= inner_span) return true;
    inner_span += clamped(Wide(extents[order[i]] - 1) * stride);
  }
  return false;
}

std::string Layout::to_string() const {
  if (!is_rank(rank)) return fmt::format("(invalid: {})", check(*this).error().text);
  return fmt::format("[{}] strides [{}]", fmt::join(shape(), ", "),
                     fmt::join(strides.begin(), strides.begin() + rank, ", "));
}

Status check(const Layout& layout) {
  switch (layout.rank) {
    case bad_extents: {
      const std::int64_t axes = layout.strides[0];
      if (axes >= 0 && axes <= kMaxRank) {
        Status status = check_extents({layout.extents.data(), std::size_t(axes)});
        if (!status) return status;
      }
      return fail(ErrorKind::invalid_argument,
                  fmt::format("{} axes; at most {} are supported", axes, kMaxRank));
    }
    case bad_permutation:
      return fail(ErrorKind::invalid_argument,
                  "the axes given to permuted() are not a permutation of those of the view");
    case bad_slice:
      return fail(ErrorKind::invalid_argument,
                  "sliced() was given a step of 0 or an axis that the view does not have");
    default:
      break;
  }
  if (!is_rank(layout.rank)) {
    return fail(ErrorKind::invalid_argument,
                fmt::format("rank {}; it must be 0 to {}", layout.rank, kMaxRank));
  }
  if (Status status = check_extents(layout.shape()); !status) return status;
  for (int axis = 0; axis < layout.rank; ++axis) {
    if (magnitude(layout.strides[axis]) > kMostElements) {
      return fail(ErrorKind::invalid_argument,
                  fmt::format("axis {} has the stride {}, which is more than can be addressed",
                              axis, layout.strides[axis]));
    }
  }
  if (layout.elements() > 0) {
    const auto [lowest, highest] = wide_reach(layout);
    if (highest - lowest > kMostElements) {
      return fail(ErrorKind::invalid_argument,
                  layout.to_string() + " reaches further than can be addressed");
    }
  }
  return {};
}

View View::transposed() const { return transposed_view(*this); }
ConstView ConstView::transposed() const { return transposed_view(*this); }

View View::permuted(std::span<const int> axes) const {
  if (!is_rank(layout.rank)) return *this;
  View result = *this;
  unsigned seen = 0;
  bool fits = axes.size() == std::size_t(layout.rank);
  for (std::size_t i = 0; fits && i < axes.size(); ++i) {
    const int axis = axes[i];
    fits = axis >= 0 && axis < layout.rank && !(seen >> axis & 1);
    if (!fits) break;
    seen |= 1u << axis;
    result.layout.extents[i] = layout.extents[axis];
    result.layout.strides[i] = layout.strides[axis];
  }
  if (!fits) result.layout = invalid(bad_permutation);
  return result;
}

View View::sliced(int axis, std::int64_t begin, std::int64_t end, std::int64_t step) const {
  if (!is_rank(layout.rank)) return *this;
  View result = *this;
  if (axis < 0 || axis >= layout.rank || step == 0) {
    result.layout = invalid(bad_slice);
    return result;
  }
  const std::int64_t extent = std::max<std::int64_t>(layout.extents[axis], 0);
  const std::int64_t least = step > 0 ? 0 : -1;
  begin = std::clamp(begin, least, extent + least);
  end = std::clamp(end, least, extent + least);
  const Wide distance = step > 0 ? Wide(end) - begin : Wide(begin) - end;
  const Wide stride_of_step = magnitude(step);
  const Wide count = distance <= 0 ? 0 : (distance + stride_of_step - 1) / stride_of_step;
  result.layout.extents[axis] = std::int64_t(count);
  // The stride of an axis with one element or none means nothing and could overflow.
  if (count > 1) result.layout.strides[axis] = saturated(Wide(layout.strides[axis]) * step);
  if (count > 0 && begin != 0 && data != nullptr) {
    const Wide offset = Wide(begin) * layout.strides[axis] * size_of(dtype);
    result.data = static_cast<char*>(data) + saturated(offset);
  }
  return result;
}

std::string View::to_string() const { return view_text(dtype, layout); }
std::string ConstView::to_string() const { return view_text(dtype, layout); }

namespace detail {

Layout layout_or_invalid(std::initializer_list<std::int64_t> extents) {
  const std::span<const std::int64_t> all(extents.begin(), extents.size());
  if (Result<Layout> layout = Layout::contiguous(all)) return *layout;
  Layout layout = invalid(bad_extents);
  layout.strides[0] = std::int64_t(extents.size());
  std::copy_n(extents.begin(), std::min<std::size_t>(extents.size(), kMaxRank),
              layout.extents.begin());
  return layout;
}

}  // namespace detail

namespace {
constexpr std::align_val_t kAlignment{64};
}

void Tensor::Free::operator()(void* memory) const { ::operator delete(memory, kAlignment); }

Result<Tensor> Tensor::make(DType dtype, std::span<const std::int64_t> extents) {
  Result<Layout> layout = Layout::contiguous(extents);
  if (!layout) return std::unexpected(std::move(layout).error());
  if (size_of(dtype) == 0) {
    return fail(ErrorKind::invalid_argument,
                fmt::format("element type {} does not exist", int(dtype)));
  }
  const std::int64_t bytes = layout->elements() * size_of(dtype);
  Tensor tensor;
  // At least one byte, so that an empty tensor has an address of its own.
  tensor.memory_.reset(
      ::operator new(std::size_t(std::max<std::int64_t>(bytes, 1)), kAlignment, std::nothrow));
  if (!tensor.memory_) {
    return fail(ErrorKind::out_of_memory,
                fmt::format("no memory for {} ({} bytes)", view_text(dtype, *layout), bytes));
  }
  tensor.view_ = {tensor.memory_.get(), dtype, *layout};
  return tensor;
}

}  // namespace rooftune
