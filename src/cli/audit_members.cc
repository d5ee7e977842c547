#include "cli/audit_members.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "rooftune/key.h"

namespace rooftune::cli {
namespace {

struct Sizes {
  std::int64_t m, n, k;
  bool operator==(const Sizes&) const = default;
};

template <class Function>
Sizes each(const Product& product, Function function) {
  return {function(product.m), function(product.n), function(product.k)};
}

Product with(const Product& product, const Sizes& sizes) {
  Product other = product;
  other.m = sizes.m;
  other.n = sizes.n;
  other.k = sizes.k;
  other.text = product_text(other);
  return other;
}

// The smallest size with the anchor of x: anchors never fall as sizes grow.
std::int64_t lower_edge(std::int64_t x, Level level) {
  const std::int64_t top = anchor(x, level);
  std::int64_t below = 0, inside = x;
  while (inside - below > 1) {
    const std::int64_t middle = below + (inside - below) / 2;
    (anchor(middle, level) == top ? inside : below) = middle;
  }
  return inside;
}

// Strides are told apart by their trailing zero bits up to so many.
constexpr int kMostStride = 10;
int alignment(std::int64_t elements, std::int64_t element_bytes) {
  return std::min(std::countr_zero(static_cast<std::uint64_t>(elements * element_bytes)),
                  kMostStride);
}

// The least stride of at least `least` elements that is as aligned as one of `like` elements.
std::int64_t aligned_alike(std::int64_t least, std::int64_t like, std::int64_t element_bytes) {
  while (alignment(least, element_bytes) != alignment(like, element_bytes)) ++least;
  return least;
}

}  // namespace

std::vector<BucketMember> bucket_members(const Product& product, Level level) {
  const std::int64_t bytes = size_of(product.in);
  std::vector<BucketMember> members;
  const auto add = [&](const char* name, const Sizes& sizes) {
    Product member = with(product, sizes);
    const auto same = [&](const BucketMember& other) { return other.product.text == member.text; };
    if (member.text == product_text(product) || std::ranges::any_of(members, same)) return;
    const Sizes pitches = {aligned_alike(sizes.m, product.m, bytes),
                           aligned_alike(sizes.n, product.n, bytes),
                           aligned_alike(sizes.k, product.k, bytes)};
    members.push_back({name, std::move(member), with(product, pitches)});
  };
  const auto low = [&](std::int64_t x) { return lower_edge(x, level); };
  const auto high = [&](std::int64_t x) {
    const std::int64_t top = anchor(x, level);
    return top > low(x) ? top - 1 : top;
  };
  add("low", each(product, low));
  add("high", each(product, high));
  add("odd", each(product, [&](std::int64_t x) {
        // Some way up, so that it is neither edge.
        const std::int64_t middle = low(x) + (anchor(x, level) - low(x)) * 5 / 8;
        return middle % 2 != 0 || middle == low(x) ? middle : middle - 1;
      }));
  const Sizes pitches =
      each(product, [&](std::int64_t x) { return aligned_alike(x + 1, x, bytes); });
  members.push_back({"pitch", with(product, each(product, [](std::int64_t x) { return x; })),
                     with(product, pitches)});
  return members;
}

void narrow(Operands& operands, const Product& member) {
  const auto cut = [](auto& view, std::int64_t rows, std::int64_t columns) {
    const auto rank = static_cast<std::size_t>(view.layout.rank);
    view.layout.extents[rank - 2] = rows;
    view.layout.extents[rank - 1] = columns;
  };
  for (ProductViews& set : operands.sets) {
    cut(set.lhs, member.m, member.k);
    cut(set.rhs, member.k, member.n);
    cut(set.out, member.m, member.n);
  }
}

}  // namespace rooftune::cli
