#include "ops/matmul/parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>

namespace rooftune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

GemmArgs product(std::int64_t m, std::int64_t n, std::int64_t k) {
  GemmArgs args;
  args.m = m;
  args.n = n;
  args.k = k;
  return args;
}

TEST(MatmulParts, EverySizeIsOne) {
  for (const Level level : {Level::minimal, Level::balanced, Level::extensive}) {
    const auto here = matmul_part(product(100, 200, 300), level);
    EXPECT_EQ(matmul_part(product(100, 200, 300), level), here);
    EXPECT_NE(matmul_part(product(400, 200, 300), level), here);
    EXPECT_NE(matmul_part(product(100, 800, 300), level), here);
    EXPECT_NE(matmul_part(product(100, 200, 900), level), here);
    GemmArgs batched = product(100, 200, 300);
    batched.batch = 7;
    EXPECT_NE(matmul_part(batched, level), here);
  }
}

TEST(MatmulParts, ABucketHasFourOfEach) {
  std::set<std::uint64_t> parts;
  for (std::int64_t m = 513; m <= 1024; ++m) {
    parts.insert(matmul_part(product(m, 1024, 1024), Level::balanced));
  }
  EXPECT_EQ(parts.size(), 4u);
}

TEST(MatmulParts, AlignmentBelowSixteenBytesIsOne) {
  alignas(64) static std::array<std::byte, 128> memory{};
  const auto at = [&](std::size_t offset) {
    GemmArgs args = product(100, 200, 300);
    args.a = memory.data();
    args.b = memory.data() + offset;
    args.c = memory.data();
    return matmul_part(args, Level::balanced);
  };
  EXPECT_EQ(at(0), at(16));
  EXPECT_EQ(at(0), at(64));
  EXPECT_EQ(at(0), matmul_part(product(100, 200, 300), Level::balanced)) << "no memory";
  EXPECT_NE(at(0), at(8));
  EXPECT_NE(at(8), at(4));
  EXPECT_NE(at(4), at(2));
  EXPECT_EQ(at(4), at(12));
  EXPECT_EQ(at(2), at(1));
}

TEST(MatmulParts, AreTextForPeople) {
  GemmArgs args = product(1000, 1, 512);
  args.b = reinterpret_cast<const void*>(std::uintptr_t{4});
  const std::string text = matmul_part_text(matmul_part(args, Level::balanced), Level::balanced);
  EXPECT_EQ(text, "m 862..1024, n 1, k 431..512, batch 1; pointers aligned to 16, 4, 16 bytes");
  EXPECT_THAT(matmul_part_text(matmul_part(args, Level::full), Level::full), Not(HasSubstr("m ")));
}

}  // namespace
}  // namespace rooftune
