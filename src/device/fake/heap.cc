#include "device/fake/heap.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

namespace rooftune {
namespace {

// Room for the 16 bytes that FakeOutput::outside writes, and a multiple of the alignment.
constexpr std::uint64_t kGuard = 64;
constexpr std::align_val_t kAlignment{64};
constexpr std::byte kMark{0xC5};

bool intact(const std::byte* piece, std::uint64_t bytes) {
  const auto marked = [](const std::byte* from) {
    return std::all_of(from, from + kGuard, [](std::byte b) { return b == kMark; });
  };
  return marked(piece - kGuard) && marked(piece + bytes);
}

}  // namespace

Result<std::shared_ptr<void>> FakeHeap::allocate(std::uint64_t bytes, std::uint64_t limit) {
  const std::lock_guard lock(mutex_);
  if (limit != 0 && (bytes > limit || allocated_ > limit - bytes)) {
    return fail(ErrorKind::out_of_memory,
                fmt::format("{} of {} bytes are in use", allocated_, limit));
  }
  if (bytes > std::numeric_limits<std::ptrdiff_t>::max() - 2 * kGuard) {
    return fail(ErrorKind::out_of_memory, "more than an address can tell");
  }
  auto* const whole =
      static_cast<std::byte*>(::operator new(bytes + 2 * kGuard, kAlignment, std::nothrow));
  if (whole == nullptr) return fail(ErrorKind::out_of_memory, "the host has no memory left");
  std::byte* const piece = whole + kGuard;
  std::memset(whole, static_cast<int>(kMark), kGuard);
  std::memset(piece + bytes, static_cast<int>(kMark), kGuard);
  pieces_.emplace(piece, bytes);
  allocated_ += bytes;
  return std::shared_ptr<void>(piece, [heap = shared_from_this()](void* address) {
    heap->free(static_cast<std::byte*>(address));
  });
}

void FakeHeap::free(std::byte* piece) {
  const std::lock_guard lock(mutex_);
  const auto found = pieces_.find(piece);
  if (!intact(piece, found->second)) ++broken_when_freed_;
  allocated_ -= found->second;
  pieces_.erase(found);
  ::operator delete(piece - kGuard, kAlignment);
}

std::uint64_t FakeHeap::allocated_bytes() const {
  const std::lock_guard lock(mutex_);
  return allocated_;
}

Status FakeHeap::check(const void* address, std::uint64_t bytes) const {
  if (bytes == 0) return {};
  if (address == nullptr) {
    return fail(ErrorKind::invalid_argument, fmt::format("{} bytes at a null address", bytes));
  }
  const std::lock_guard lock(mutex_);
  const auto* const begin = static_cast<const std::byte*>(address);
  const auto after = pieces_.upper_bound(begin);
  if (after != pieces_.end()) {
    const auto before = static_cast<std::uint64_t>(after->first - begin);
    if (bytes + kGuard > before) {
      return fail(ErrorKind::invalid_argument,
                  fmt::format("{} bytes from {} before a buffer run into it", bytes, before));
    }
  }
  if (after == pieces_.begin()) return {};
  const auto& [piece, size] = *std::prev(after);
  const auto offset = static_cast<std::uint64_t>(begin - piece);
  if (offset >= size + kGuard) return {};
  if (offset <= size && bytes <= size - offset) return {};
  return fail(ErrorKind::invalid_argument,
              fmt::format("bytes {} to {} of a buffer of {} bytes", offset, offset + bytes, size));
}

std::uint64_t FakeHeap::broken_guards() const {
  const std::lock_guard lock(mutex_);
  const auto broken = std::count_if(pieces_.begin(), pieces_.end(), [](const auto& piece) {
    return !intact(piece.first, piece.second);
  });
  return broken_when_freed_ + static_cast<std::uint64_t>(broken);
}

}  // namespace rooftune
