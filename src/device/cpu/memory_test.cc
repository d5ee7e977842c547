#include "device/cpu/memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

namespace rooftune {
namespace {

bool is_aligned(const AlignedMemory& memory, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(memory.get()) % alignment == 0;
}

TEST(MemoryTest, EverySizeAndAlignmentIsWritableToTheLastByte) {
  for (std::size_t alignment = 1; alignment <= kHugePageBytes; alignment *= 2) {
    for (std::size_t bytes : {std::size_t{1}, std::size_t{63}, std::size_t{4097}}) {
      auto memory = allocate_aligned(bytes, alignment);
      ASSERT_TRUE(memory) << memory.error().text;
      EXPECT_TRUE(is_aligned(*memory, alignment)) << bytes << " " << alignment;
      std::memset(memory->get(), 0x5a, bytes);
    }
  }
}

TEST(MemoryTest, SizeZeroGivesAPointerOfItsOwn) {
  auto first = allocate_aligned(0);
  auto second = allocate_aligned(0);
  ASSERT_TRUE(first && second);
  EXPECT_NE(first->get(), nullptr);
  EXPECT_NE(first->get(), second->get());
}

TEST(MemoryTest, HugePagesAreAlignedOnlyWhereTheyHelp) {
  const std::size_t bytes = 3 * kHugePageBytes + 5;
  auto large = allocate_aligned(bytes, kCacheLineBytes, HugePages::advised);
  ASSERT_TRUE(large);
  EXPECT_TRUE(is_aligned(*large, kHugePageBytes));
  std::memset(large->get(), 1, bytes);

  auto small = allocate_aligned(100, kPageBytes, HugePages::advised);
  ASSERT_TRUE(small);
  EXPECT_TRUE(is_aligned(*small, kPageBytes));
  std::memset(small->get(), 1, 100);
}

TEST(MemoryTest, AbsurdSizesAreAnErrorWithTheSizeInIt) {
  for (std::size_t bytes :
       {std::numeric_limits<std::size_t>::max(), std::numeric_limits<std::size_t>::max() - 4095,
        std::size_t{1} << 63, (std::size_t{1} << 62) + 1, std::size_t{1} << 47}) {
    for (HugePages huge_pages : {HugePages::no, HugePages::advised}) {
      auto memory = allocate_aligned(bytes, kPageBytes, huge_pages);
      ASSERT_FALSE(memory) << bytes;
      EXPECT_EQ(memory.error().kind, ErrorKind::out_of_memory);
      EXPECT_NE(memory.error().text.find(std::to_string(bytes)), std::string::npos);
    }
  }
}

TEST(MemoryTest, BadAlignmentsAreNamed) {
  for (std::size_t alignment : {std::size_t{0}, std::size_t{3}, std::size_t{96}, 2 * kHugePageBytes,
                                std::numeric_limits<std::size_t>::max()}) {
    auto memory = allocate_aligned(64, alignment);
    ASSERT_FALSE(memory) << alignment;
    EXPECT_EQ(memory.error().kind, ErrorKind::invalid_argument);
    EXPECT_NE(memory.error().text.find(std::to_string(alignment)), std::string::npos);
    EXPECT_EQ(try_allocate(64, alignment), nullptr);
  }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// A sanitizer's own address space does not fit under the limit.
TEST(MemoryTest, ARefusalOfTheSystemIsAnError) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const rlimit limit = {std::size_t{1} << 30, std::size_t{1} << 30};
    if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(2);
    auto large = allocate_aligned(std::size_t{1} << 31);
    auto small = allocate_aligned(1 << 16);
    const bool right =
        !large && large.error().kind == ErrorKind::out_of_memory && small.has_value();
    _exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}
#endif

}  // namespace
}  // namespace rooftune
