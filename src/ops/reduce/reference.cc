#include "ops/reduce/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <new>

#include "ops/reduce/cuda/kernels.h"
#include "ops/reduce/problem.h"

namespace rooftune {
namespace {

// One axis of the whole input, reduced or kept.
struct Axis {
  std::int64_t extent;
  std::int64_t step;     // in the input
  std::int64_t outputs;  // how far the number of the output moves; 0 for a reduced axis
};

// All axes of the input, those with the smallest steps last, so that memory is read in order.
struct Axes {
  std::array<Axis, 2 * kMaxSumAxes> axis;
  int rank = 0;

  explicit Axes(const SumArgs& args) {
    std::int64_t outputs = 1;
    for (int at = args.keep_rank - 1; at >= 0; --at) {
      insert({args.keep_extent[at], args.in_keep[at], outputs});
      outputs *= args.keep_extent[at];
    }
    for (int at = 0; at < args.reduce_rank; ++at) {
      insert({args.reduce_extent[at], args.in_reduce[at], 0});
    }
  }
  void insert(Axis added) {
    int at = rank++;
    for (; at > 0 && (*this)[at - 1].step < added.step; --at) (*this)[at] = (*this)[at - 1];
    (*this)[at] = added;
  }
  Axis& operator[](int at) { return axis[static_cast<std::size_t>(at)]; }
};

// Elements that are fetched at a time.
constexpr std::int64_t kWindow = 8192;

}  // namespace

Result<SumReference> SumReference::make(Client& client, const SumArgs& args, Stream stream) {
  SumReference reference;
  reference.count_ = args.outputs;
  reference.sums_.reset(new (std::nothrow) Sum[static_cast<std::size_t>(args.outputs)]);
  if (reference.sums_ == nullptr) {
    return fail(ErrorKind::out_of_memory,
                fmt::format("no memory on the host to check {} sums", args.outputs));
  }
  reference.varied_ = sum_inputs(args) == 1;
  Status done = !client.capabilities().host_memory
                    ? reference.add_all_on_device(client, args, stream)
                : args.dtype == DType::f32 ? reference.add_all<float>(client, args, stream)
                                           : reference.add_all<double>(client, args, stream);
  if (!done) return std::unexpected(std::move(done.error()));
  std::int64_t usable = 0;
  for (std::int64_t i = 0; i < reference.count_; ++i) {
    Sum& sum = reference.sums_[i];
    if (std::isfinite(sum.value)) sum.value += sum.low;
    usable += sum.magnitude > 0 && sum.magnitude < largest_safe(args.dtype) ? 1 : 0;
  }
  reference.conclusive_ = reference.varied_ && 2 * usable > reference.count_;
  return reference;
}

template <class T>
Status SumReference::add_all(Client& client, const SumArgs& args, Stream stream) {
  const std::unique_ptr<T[]> window(new (std::nothrow) T[kWindow]);
  if (window == nullptr) return fail(ErrorKind::out_of_memory, "no memory to check a sum");
  Axes axes(args);
  if (axes.rank == 0) axes.insert({1, 1, 0});
  const Axis inner = axes[axes.rank - 1];
  // Innermost axes that lie in memory without a gap are read ahead through, as one block.
  std::int64_t block = 1;
  int block_axis = axes.rank;
  while (block_axis > 0 && axes[block_axis - 1].step == block) block *= axes[--block_axis].extent;

  const auto* const in = static_cast<const T*>(args.in);
  std::array<std::int64_t, 2 * kMaxSumAxes> at{};
  std::int64_t offset = 0, output = 0, block_end = block, window_begin = 0, window_end = 0;
  T first{};
  bool any = false;
  for (bool more = true; more;) {
    for (std::int64_t begin = 0; begin < inner.extent;) {
      const std::int64_t start = offset + begin * inner.step;
      if (start < window_begin || start >= window_end) {
        window_begin = start;
        window_end = inner.step == 1 ? std::min(start + kWindow, block_end) : start + 1;
        Status done = client.read(stream, window.get(), in + start,
                                  static_cast<std::uint64_t>(window_end - start) * sizeof(T));
        if (!done) return done;
      }
      const T* const values = window.get() + (start - window_begin);
      const std::int64_t count =
          inner.step == 1 ? std::min(window_end - start, inner.extent - begin) : 1;
      if (!any) first = values[0];
      any = true;
      for (std::int64_t i = 0; i < count; ++i) {
        varied_ |= values[i] != first;
        sums_[output + (begin + i) * inner.outputs].add(double{values[i]});
      }
      begin += count;
    }
    more = false;
    for (int axis = axes.rank - 2; axis >= 0 && !more; --axis) {
      const Axis& step = axes[axis];
      std::int64_t& position = at[static_cast<std::size_t>(axis)];
      offset += step.step;
      output += step.outputs;
      more = ++position < step.extent;
      if (!more) {
        offset -= step.extent * step.step;
        output -= step.extent * step.outputs;
        position = 0;
      } else if (axis < block_axis) {
        block_end = offset + block;
      }
    }
  }
  return {};
}

Status SumReference::add_all_on_device(Client& client, const SumArgs& args, Stream stream) {
  return check_sums_on_device(client, stream, args,
                              [this](std::int64_t output, const CheckedSumPart& part) {
                                Sum& sum = sums_[output];
                                // add() would count the size of the part, not of its terms.
                                const double magnitude = sum.magnitude + part.magnitude;
                                sum.add(part.value);
                                sum.low += part.low;
                                sum.magnitude = magnitude;
                                varied_ |= part.differs > 0;
                              });
}

void SumReference::Sum::add(double x) {
  // What an addition loses to rounding is a number of the type, and this is it.
  const double total = value + x;
  const double taken = total - value;
  low += (value - (total - taken)) + (x - taken);
  value = total;
  magnitude += std::isfinite(x) ? std::abs(x) : std::numeric_limits<double>::quiet_NaN();
}

double largest_safe(DType dtype) {
  return (dtype == DType::f32 ? double{std::numeric_limits<float>::max()}
                              : std::numeric_limits<double>::max()) /
         4;
}

}  // namespace rooftune
