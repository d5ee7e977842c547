#include "ops/matmul/parts.h"

#include <algorithm>
#include <bit>

#include "fmt/format.h"
#include "rooftune/key.h"

namespace rooftune {
namespace {

// Where the fields of a part lie: three alignments, then batch, k, n, m.
constexpr int kAlignmentBits = 2, kSizeBits = 10;
constexpr int kMostAlignment = 4;  // 16 bytes, as a power of 2

// 0 for 16 bytes and more, 1 for 8, 2 for 4, 3 for less. No pointer is aligned to everything.
std::uint64_t misalignment(const void* pointer) {
  const int aligned = std::countr_zero(reinterpret_cast<std::uintptr_t>(pointer));
  return static_cast<std::uint64_t>(std::clamp(kMostAlignment - aligned, 0, 3));
}

}  // namespace

std::uint64_t matmul_part(const GemmArgs& args, Level level) {
  std::uint64_t part = 0;
  for (const std::int64_t size : {args.m, args.n, args.k, args.batch}) {
    part = part << kSizeBits | static_cast<std::uint64_t>(anchor_step(size, level));
  }
  for (const void* pointer : {args.a, args.b, static_cast<const void*>(args.c)}) {
    part = part << kAlignmentBits | misalignment(pointer);
  }
  return part;
}

std::string matmul_part_text(std::uint64_t part, Level level) {
  const auto take = [&](int bits) {
    const std::uint64_t field = part & ((std::uint64_t{1} << bits) - 1);
    part >>= bits;
    return field;
  };
  const auto c = 16 >> take(kAlignmentBits), b = 16 >> take(kAlignmentBits),
             a = 16 >> take(kAlignmentBits);
  std::string sizes;
  for (const char* name : {"batch", "k", "n", "m"}) {
    const auto [first, last] = anchor_step_sizes(static_cast<int>(take(kSizeBits)), level);
    const std::string text = first == last ? fmt::format("{} {}", name, first)
                                           : fmt::format("{} {}..{}", name, first, last);
    if (level != Level::full) sizes = sizes.empty() ? text : text + ", " + sizes;
  }
  return fmt::format("{}{}pointers aligned to {}, {}, {} bytes", sizes, sizes.empty() ? "" : "; ",
                     a, b, c);
}

void add_matmul_parts(TunableSet<MatmulKey, GemmArgs>& set, Level level) {
  set.parts([level](const GemmArgs& args) { return matmul_part(args, level); },
            [level](std::uint64_t part) { return matmul_part_text(part, level); });
}

}  // namespace rooftune
