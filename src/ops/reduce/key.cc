#include "ops/reduce/key.h"

#include <algorithm>
#include <bit>

namespace rooftune {
namespace {

// Beyond 1 KiB more zero bits change nothing that a kernel could notice (SYSTEM section 3).
constexpr int kMostZeroBits = 10;

int zero_bits(std::int64_t stride, std::int64_t bytes) {
  return std::countr_zero(static_cast<std::uint64_t>(stride) * static_cast<std::uint64_t>(bytes));
}

}  // namespace

std::string_view to_string(SumLayout layout) {
  switch (layout) {
    case SumLayout::contiguous_reduce:
      return "ContiguousReduce";
    case SumLayout::contiguous_keep:
      return "ContiguousKeep";
    case SumLayout::strided:
      return "Strided";
  }
  return "?";
}

SumLayout sum_layout(const SumArgs& args) {
  if (term_step(args) == 1) return SumLayout::contiguous_reduce;
  if (output_step(args) == 1) return SumLayout::contiguous_keep;
  return SumLayout::strided;
}

SumKey make_sum_key(const SumArgs& args, Level level, int threads) {
  SumKey key;
  key.outputs = args.outputs;
  key.terms = args.terms;
  key.threads = threads;
  key.layout = sum_layout(args);
  key.keep_axes = static_cast<std::uint8_t>(args.keep_rank);
  key.reduce_axes = static_cast<std::uint8_t>(args.reduce_rank);
  key.dtype = args.dtype;
  const bool reduce_is_close =
      key.layout != SumLayout::contiguous_keep &&
      (args.keep_rank == 0 || (args.reduce_rank > 0 && term_step(args) <= output_step(args)));
  key.run = reduce_is_close || key.layout == SumLayout::contiguous_reduce ? term_run(args)
                                                                          : output_run(args);
  const std::int64_t bytes = size_of(args.dtype);
  int fewest = kMostZeroBits;
  for (int at = 0; at < args.keep_rank; ++at) {
    if (args.in_keep[at] != 1) fewest = std::min(fewest, zero_bits(args.in_keep[at], bytes));
  }
  for (int at = 0; at < args.reduce_rank; ++at) {
    if (args.in_reduce[at] != 1) fewest = std::min(fewest, zero_bits(args.in_reduce[at], bytes));
  }
  key.stride = static_cast<std::uint8_t>(fewest);
  return anchored_key(key, level);
}

}  // namespace rooftune
