#include "cli/operands.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

#include "cli/hidden_memory_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rooftune::cli {
namespace {

Product product(std::int64_t m, std::int64_t n, std::int64_t k, DType in = DType::f32) {
  Product product;
  product.m = m, product.n = n, product.k = k;
  product.in = in, product.out = result_type(in);
  product.text = product_text(product);
  return product;
}

template <class T>
std::vector<T> elements_of(Client& client, const ConstView& view) {
  std::vector<T> elements(static_cast<std::size_t>(view.layout.elements()));
  EXPECT_TRUE(client.read(Stream{}, elements.data(), view.data, elements.size() * sizeof(T)));
  return elements;
}

TEST(Operands, AreWrittenThroughTheClient) {
  HiddenMemoryClient client;
  const auto made = make_operands(client, product(30, 20, 10), 1);
  ASSERT_TRUE(made) << made.error().text;
  ASSERT_EQ(made->sets.size(), 1u);
  double squares = 0;
  const auto lhs = elements_of<float>(client, made->views().lhs);
  for (const float x : lhs) {
    EXPECT_NE(x, 0);
    squares += double(x) * double(x);
  }
  EXPECT_NEAR(squares / static_cast<double>(lhs.size()), 1, 0.3);
  EXPECT_NE(lhs[0], elements_of<float>(client, made->views().rhs)[0]);
  for (const float x : elements_of<float>(client, made->views().out)) EXPECT_TRUE(std::isnan(x));

  const auto same = make_operands(client, product(30, 20, 10), 1);
  const auto other = make_operands(client, product(30, 20, 10), 2);
  ASSERT_TRUE(same && other);
  EXPECT_EQ(elements_of<float>(client, same->views().lhs), lhs);
  EXPECT_NE(elements_of<float>(client, other->views().lhs), lhs);
}

TEST(Operands, OfSeveralSetsLieApartAndDiffer) {
  HiddenMemoryClient client;
  const auto made = make_operands(client, product(33, 17, 5, DType::bf16), 1, 3);
  ASSERT_TRUE(made) << made.error().text;
  ASSERT_EQ(made->sets.size(), 3u);
  std::set<std::vector<std::uint16_t>> contents;
  for (const ProductViews& set : made->sets) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(set.lhs.data) % 256, 0u);
    contents.insert(elements_of<std::uint16_t>(client, set.lhs));
  }
  const auto distance = static_cast<const std::byte*>(made->sets[1].lhs.data) -
                        static_cast<const std::byte*>(made->sets[0].lhs.data);
  EXPECT_EQ(distance, 512);  // 330 bytes, and up to where kernels find their alignment
}

TEST(Operands, LargeOnesRepeatThemselvesOutOfStep) {
  HiddenMemoryClient client;
  const auto made = make_operands(client, product(1500, 1, 1024), 1);
  ASSERT_TRUE(made) << made.error().text;
  const auto lhs = elements_of<float>(client, made->views().lhs);
  const std::size_t period = 1'048'573;
  EXPECT_EQ(lhs[period], lhs[0]);
  EXPECT_EQ(lhs.back(), lhs[lhs.size() - 1 - period]);
  EXPECT_NE(lhs[std::size_t{1024} * 1024], lhs[0]) << "a whole number of rows further";
}

TEST(Operands, OfEightBitsAreNumbersOfEverySize) {
  HiddenMemoryClient client;
  for (const auto& [type, most] : {std::pair{DType::f8e4m3, 0x47}, {DType::f8e5m2, 0x43}}) {
    const auto made = make_operands(client, product(64, 64, 64, type), 1);
    ASSERT_TRUE(made) << made.error().text;
    EXPECT_EQ(made->views().out.dtype, DType::bf16);
    std::set<int> seen;
    for (const std::uint8_t bits : elements_of<std::uint8_t>(client, made->views().lhs)) {
      EXPECT_GE(bits & 0x7f, 0x20);  // no zero, nothing tiny
      EXPECT_LE(bits & 0x7f, most);  // far from Inf and NaN
      seen.insert(bits);
    }
    EXPECT_EQ(seen.size(), type == DType::f8e4m3 ? 64u : 32u);
  }
  const auto bytes = make_operands(client, product(64, 64, 64, DType::i8), 1);
  ASSERT_TRUE(bytes) << bytes.error().text;
  EXPECT_EQ(bytes->views().out.dtype, DType::i32);
}

TEST(Operands, ThatDoNotFitAreRefusedBeforeAnythingIsAllocated) {
  HiddenMemoryClient client;  // of 4 GiB
  const auto made = make_operands(client, product(40000, 40000, 40000), 1);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().kind, ErrorKind::out_of_memory);
  EXPECT_THAT(made.error().text, testing::HasSubstr("hidden:0 has only"));
  EXPECT_EQ(client.allocated_bytes(), 0u);
}

TEST(Operands, SetsGoBeyondTheCacheWithinBounds) {
  const HiddenMemoryClient client;  // of 1 MiB of cache
  ASSERT_EQ(client.capabilities().last_level_cache_bytes, 1u << 20);
  EXPECT_EQ(sets_beyond_cache(client, product(1024, 1024, 1024)), 1);
  EXPECT_EQ(sets_beyond_cache(client, product(256, 256, 256)), 3);  // of 768 KiB
  EXPECT_EQ(sets_beyond_cache(client, product(4, 4, 4)), kMostSets);
  EXPECT_EQ(sets_beyond_cache(client, product(0, 4, 4)), kMostSets);
}

}  // namespace
}  // namespace rooftune::cli
