#include "ops/reduce/comparison.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "ops/reduce/problem.h"

namespace rooftune {
namespace {

constexpr auto kPoison32 = std::bit_cast<std::array<std::byte, 4>>(std::uint32_t{0x7fe5a3c7});
constexpr auto kPoison64 =
    std::bit_cast<std::array<std::byte, 8>>(std::uint64_t{0x7ffa5c3e1b2d4f69});

constexpr double kWrong = std::numeric_limits<double>::infinity();

double error_of(double got, double want, double magnitude, DType dtype) {
  if (std::isnan(magnitude)) {
    return std::isnan(want) == std::isnan(got) && (std::isnan(want) || got == want) ? 0 : kWrong;
  }
  // Some order of additions may overflow.
  if (magnitude >= largest_safe(dtype)) return 0;
  const double distance = std::abs(got - want);
  const double error = distance == 0 ? 0 : distance / magnitude;
  return std::isnan(error) ? kWrong : error;
}

}  // namespace

std::span<const std::byte> sum_poison(DType dtype) {
  if (dtype == DType::f32) return kPoison32;
  return kPoison64;
}

std::int64_t count_sum_poison(DType dtype, const std::byte* elements, std::int64_t count) {
  const auto poison = sum_poison(dtype);
  std::int64_t found = 0;
  for (std::int64_t i = 0; i < count; ++i, elements += poison.size()) {
    found += std::memcmp(elements, poison.data(), poison.size()) == 0;
  }
  return found;
}

SumComparison compare_sums(const SumArgs& args, const SumReference& reference,
                           const std::byte* out) {
  SumComparison comparison;
  Check& check = comparison.check;
  check.conclusive = reference.conclusive();
  check.error_bound = sum_error_bound(args);
  const auto compare = [&]<class T>(T got) {
    for_each_output(args, [&](std::int64_t index, std::int64_t offset) {
      const std::byte* at = out + offset * std::int64_t{sizeof(T)};
      if (count_sum_poison(args.dtype, at, 1) != 0) {
        check.complete = false;
        return;
      }
      ++comparison.written;
      std::memcpy(&got, at, sizeof got);
      check.error = std::max(check.error, error_of(double{got}, reference.sum(index),
                                                   reference.magnitude(index), args.dtype));
    });
  };
  args.dtype == DType::f32 ? compare(0.0f) : compare(0.0);
  return comparison;
}

}  // namespace rooftune
