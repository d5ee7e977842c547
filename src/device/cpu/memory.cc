#include "device/cpu/memory.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <string>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace rooftune {
namespace {

// User space ends at 2^47 on x86-64 and at 2^48 on the others. Asking an allocator for more than
// half of the smaller one is a mistake of the caller, and some (sanitizers) end the process for it.
constexpr std::size_t kAbsurdBytes =
    sizeof(void*) >= 8 ? std::size_t(1) << (sizeof(void*) * 8 - 18) : std::size_t(1) << 31;

bool is_valid_alignment(std::size_t alignment) {
  return std::has_single_bit(alignment) && alignment <= kHugePageBytes;
}

}  // namespace

void FreeAligned::operator()(std::byte* memory) const noexcept { std::free(memory); }

AlignedMemory try_allocate(std::size_t bytes, std::size_t alignment,
                           HugePages huge_pages) noexcept {
  if (!is_valid_alignment(alignment) || bytes > kAbsurdBytes) return nullptr;
  const bool huge = huge_pages == HugePages::advised && bytes >= kHugePageBytes;
  if (huge) alignment = kHugePageBytes;
  alignment = std::max(alignment, alignof(std::max_align_t));
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment, std::max<std::size_t>(bytes, 1)) != 0) return nullptr;
#ifdef MADV_HUGEPAGE
  // Whole huge pages only: the tail would take memory that nobody asked for.
  if (huge) madvise(memory, bytes / kHugePageBytes * kHugePageBytes, MADV_HUGEPAGE);
#endif
  return AlignedMemory(static_cast<std::byte*>(memory));
}

Result<AlignedMemory> allocate_aligned(std::size_t bytes, std::size_t alignment,
                                       HugePages huge_pages) {
  if (!is_valid_alignment(alignment)) {
    return fail(ErrorKind::invalid_argument, "alignment " + std::to_string(alignment) +
                                                 " is not a power of two from 1 to " +
                                                 std::to_string(kHugePageBytes));
  }
  AlignedMemory memory = try_allocate(bytes, alignment, huge_pages);
  if (memory == nullptr) {
    return fail(ErrorKind::out_of_memory,
                "the system has no " + std::to_string(bytes) + " bytes of memory to give");
  }
  return memory;
}

}  // namespace rooftune
