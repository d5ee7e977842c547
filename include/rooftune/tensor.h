// Tensors as Rooftune sees them: a pointer, a type, and for each axis an extent and a stride.
#ifndef ROOFTUNE_TENSOR_H_
#define ROOFTUNE_TENSOR_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "rooftune/dtype.h"
#include "rooftune/error.h"

namespace rooftune {

inline constexpr int kMaxRank = 8;

// Extents and strides of up to kMaxRank axes, outermost first. Strides count elements, may be
// zero (broadcast) or negative (reversed). A plain value: no allocation. Anybody may fill one with
// anything, so every call that takes a layout passes it through check() first; the members below
// never read outside the struct and never overflow, whatever is in it.
struct Layout {
  int rank = 0;  // negative: a layout that could not be made; check() says why
  std::array<std::int64_t, kMaxRank> extents{};
  std::array<std::int64_t, kMaxRank> strides{};

  std::span<const std::int64_t> shape() const {
    return {extents.data(), std::size_t(rank < 0 ? 0 : rank > kMaxRank ? kMaxRank : rank)};
  }
  // Product of the extents; 1 for rank 0. 0 for an invalid rank or extent.
  std::int64_t elements() const;

  // Row-major and dense: the last axis has stride 1.
  // Errors: invalid_argument for more than kMaxRank axes, a negative extent, or more elements
  // than a 64-bit count of bytes can hold (of the widest type; an extent of 0 counts as 1 here, so
  // that the strides fit as well).
  static Result<Layout> contiguous(std::span<const std::int64_t> extents);

  // Number of elements below and above the first one that the layout reaches: {lowest, highest}
  // offset. {0, -1} when there is no element.
  std::pair<std::int64_t, std::int64_t> reach() const;

  // True when two different index tuples reach the same element (e.g. a stride of 0). Exact for
  // layouts whose axes nest; layouts that interleave in a stranger way are reported as true.
  bool self_overlaps() const;

  std::string to_string() const;  // "[2, 3, 4] strides [12, 4, 1]"
  bool operator==(const Layout&) const = default;
};

// Success: the rank is 0..kMaxRank, no extent is negative, and elements(), reach() and every
// stride, counted in bytes of any type, fit in 64 bits.
// Errors: invalid_argument, with what is wrong; also for the result of view(), permuted() and
// sliced() when their arguments were.
Status check(const Layout& layout);

// A view of memory that somebody else owns and keeps alive for the duration of a call. On a
// device other than the CPU `data` is an address of that device. The pointer need not be aligned,
// not even to the element size.
struct View {
  void* data = nullptr;
  DType dtype = DType::f32;
  Layout layout;

  View transposed() const;  // swaps the last two axes; rank 0 and 1: unchanged
  // axes[i] = old axis. Not a permutation of the axes: a view that check() refuses.
  View permuted(std::span<const int> axes) const;
  // Every step-th element of [begin, end) on one axis, as in Python: step may be negative, then
  // begin is the first element taken and end is exclusive on the other side. Positions past either
  // end of the axis are cut off; none counts from the end, so (axis, n - 1, -1, -1) reverses n
  // elements. A step of 0 or an axis that is not there: a view that check() refuses.
  View sliced(int axis, std::int64_t begin, std::int64_t end, std::int64_t step = 1) const;
  std::string to_string() const;  // "f32 [2, 3] strides [3, 1]"
};

// The same for an input: nothing is written through it. A View converts to it.
struct ConstView {
  const void* data = nullptr;
  DType dtype = DType::f32;
  Layout layout;

  ConstView() = default;
  ConstView(const void* memory, DType type, const Layout& shape_and_strides)
      : data(memory), dtype(type), layout(shape_and_strides) {}
  ConstView(const View& view)  // NOLINT(google-explicit-constructor): an input may be a View
      : data(view.data), dtype(view.dtype), layout(view.layout) {}

  ConstView transposed() const;
  std::string to_string() const;
};

// A dense row-major view of `data`; the extents must be valid (see Layout::contiguous), which the
// call that uses the view checks again.
template <class T>
View view(T* data, std::initializer_list<std::int64_t> extents);
template <class T>
ConstView view(const T* data, std::initializer_list<std::int64_t> extents);

// Memory on the CPU that is owned: 64-byte aligned, not initialised. Movable, not copyable. A
// default or moved-from Tensor has no data, the shape [0] and no elements.
class Tensor {
 public:
  Tensor() { view_.layout.rank = 1; }
  Tensor(Tensor&& other) noexcept : Tensor() { swap(other); }
  Tensor& operator=(Tensor&& other) noexcept {
    Tensor(std::move(other)).swap(*this);
    return *this;
  }
  // Errors: those of Layout::contiguous; out_of_memory.
  static Result<Tensor> make(DType dtype, std::span<const std::int64_t> extents);
  static Result<Tensor> make(DType dtype, std::initializer_list<std::int64_t> extents) {
    return make(dtype, std::span<const std::int64_t>(extents.begin(), extents.size()));
  }

  rooftune::View view() const { return view_; }
  operator rooftune::View() const { return view_; }        // NOLINT(google-explicit-constructor)
  operator ConstView() const { return ConstView(view_); }  // NOLINT(google-explicit-constructor)
  void* data() const { return view_.data; }
  template <class T>
  T* as() const {
    return static_cast<T*>(view_.data);
  }
  std::int64_t elements() const { return view_.layout.elements(); }
  std::int64_t bytes() const { return elements() * size_of(view_.dtype); }

 private:
  struct Free {
    void operator()(void* memory) const;
  };
  void swap(Tensor& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(view_, other.view_);
  }
  std::unique_ptr<void, Free> memory_;
  rooftune::View view_;
};

namespace detail {
Layout layout_or_invalid(std::initializer_list<std::int64_t> extents);
}

template <class T>
View view(T* data, std::initializer_list<std::int64_t> extents) {
  return {data, dtype_of<T>, detail::layout_or_invalid(extents)};
}
template <class T>
ConstView view(const T* data, std::initializer_list<std::int64_t> extents) {
  return {data, dtype_of<T>, detail::layout_or_invalid(extents)};
}

}  // namespace rooftune

#endif  // ROOFTUNE_TENSOR_H_
