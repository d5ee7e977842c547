// Aligned memory on the CPU. Nothing here throws or aborts, whatever size is asked for.
#ifndef ROOFTUNE_DEVICE_CPU_MEMORY_H_
#define ROOFTUNE_DEVICE_CPU_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "rooftune/error.h"

namespace rooftune {

inline constexpr std::size_t kCacheLineBytes = 64;
inline constexpr std::size_t kPageBytes = 4096;
inline constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

struct FreeAligned {
  void operator()(std::byte* memory) const noexcept;
};
using AlignedMemory = std::unique_ptr<std::byte[], FreeAligned>;

enum class HugePages : std::uint8_t {
  no,
  // From kHugePageBytes on, align to a huge page and advise the kernel to use them. Only advice:
  // where it is refused the memory is as good as without.
  advised,
};

// `bytes` of memory with undefined content; 0 gives a pointer of its own, as malloc may.
// `alignment` is a power of two. Null when there is not enough memory or the size is absurd.
AlignedMemory try_allocate(std::size_t bytes, std::size_t alignment = kCacheLineBytes,
                           HugePages huge_pages = HugePages::no) noexcept;

// The same with the reason in words.
// Errors: invalid_argument for an alignment that is not a power of two up to kHugePageBytes;
// out_of_memory.
Result<AlignedMemory> allocate_aligned(std::size_t bytes, std::size_t alignment = kCacheLineBytes,
                                       HugePages huge_pages = HugePages::no);

}  // namespace rooftune

#endif  // ROOFTUNE_DEVICE_CPU_MEMORY_H_
