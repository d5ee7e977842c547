// The memory of a fake device: host memory with a limit, and with marks around every piece that
// show when something wrote outside of it.
#ifndef ROOFTUNE_DEVICE_FAKE_HEAP_H_
#define ROOFTUNE_DEVICE_FAKE_HEAP_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "rooftune/error.h"

namespace rooftune {

// Thread-safe. Held by a shared pointer, since what it gives out may outlive the device.
class FakeHeap : public std::enable_shared_from_this<FakeHeap> {
 public:
  // 64-byte aligned, content undefined. `limit` bounds the sum of all pieces; 0: no limit.
  // Errors: out_of_memory.
  Result<std::shared_ptr<void>> allocate(std::uint64_t bytes, std::uint64_t limit);

  std::uint64_t allocated_bytes() const;

  // Whether [address, address + bytes) may be touched: a range that begins in a piece must end in
  // it. Anything else is taken for memory of the caller, which cannot be judged.
  Status check(const void* address, std::uint64_t bytes) const;

  // Pieces, living or freed, around which something was written.
  std::uint64_t broken_guards() const;

 private:
  void free(std::byte* piece);

  mutable std::mutex mutex_;
  std::map<const std::byte*, std::uint64_t> pieces_;  // address and bytes
  std::uint64_t allocated_ = 0;
  std::uint64_t broken_when_freed_ = 0;
};

}  // namespace rooftune

#endif  // ROOFTUNE_DEVICE_FAKE_HEAP_H_
