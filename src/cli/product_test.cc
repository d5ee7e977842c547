#include "cli/product.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rooftune::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Product, Square) {
  const auto product = parse_product("1024");
  ASSERT_TRUE(product) << product.error().text;
  EXPECT_EQ(product->batch, 1);
  EXPECT_EQ(product->m, 1024);
  EXPECT_EQ(product->n, 1024);
  EXPECT_EQ(product->k, 1024);
  EXPECT_FALSE(product->lhs_transposed);
  EXPECT_FALSE(product->rhs_transposed);
  EXPECT_TRUE(product->square());
  EXPECT_EQ(product_text(*product), "1024x1024x1024");
}

TEST(Product, AllForms) {
  const auto product = parse_product("t8x64x4096x3T");
  ASSERT_TRUE(product) << product.error().text;
  EXPECT_EQ(product->batch, 8);
  EXPECT_EQ(product->m, 64);
  EXPECT_EQ(product->n, 4096);
  EXPECT_EQ(product->k, 3);
  EXPECT_TRUE(product->lhs_transposed);
  EXPECT_TRUE(product->rhs_transposed);
  EXPECT_EQ(product->text, "t8x64x4096x3T");
  EXPECT_EQ(product_text(*product), "t8x64x4096x3T");
}

TEST(Product, TextIsReadBack) {
  for (const std::string text : {"1x2x3", "t1x2x3", "1x2x3T", "7x1x2x3T", "0x0x0", "0x1x2x3"}) {
    const auto product = parse_product(text);
    ASSERT_TRUE(product) << product.error().text;
    EXPECT_EQ(product_text(*product), text);
  }
}

TEST(Product, LargestNumber) {
  EXPECT_TRUE(parse_product("9223372036854775807"));
  const auto product = parse_product("9223372036854775808");
  ASSERT_FALSE(product);
  EXPECT_THAT(product.error().text, HasSubstr("64 bits"));
}

struct Bad {
  std::string text, what;
};

class BadProduct : public testing::TestWithParam<Bad> {};

TEST_P(BadProduct, IsNamedWithItsPosition) {
  const auto product = parse_product(GetParam().text);
  ASSERT_FALSE(product);
  EXPECT_EQ(product.error().kind, ErrorKind::invalid_argument);
  EXPECT_THAT(product.error().text, HasSubstr(GetParam().what));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadProduct,
    testing::Values(Bad{"", "position 1"}, Bad{"t", "missing at position 2"},
                    Bad{"T", "position 1"}, Bad{"x", "position 1"}, Bad{"12x", "position 4"},
                    Bad{"12x34", "two numbers"}, Bad{"1x2x3x4x5", "fifth number at position 9"},
                    Bad{"-5", "position 1"}, Bad{"+5", "position 1"}, Bad{"1x-2x3", "position 3"},
                    Bad{" 5", "position 1"}, Bad{"5 ", "position 2"}, Bad{"5t", "position 2"},
                    Bad{"5TT", "position 3"}, Bad{"1x2x3.5", "position 6"},
                    Bad{"1e3", "position 2"}, Bad{"4O", "position 2"}, Bad{"1X2X3", "position 2"},
                    Bad{"1xx2x3", "position 3"}, Bad{"nan", "position 1"},
                    Bad{std::string("5\0", 2), "position 2"}, Bad{"\xff", "position 1"}));

TEST(Product, NoControlCharacterGetsIntoTheMessage) {
  const auto product = parse_product("5\x1b[31m");
  ASSERT_FALSE(product);
  EXPECT_EQ(product.error().text.find('\x1b'), std::string::npos);
}

TEST(Views, AreTransposedViews) {
  const auto views = views_of(parse_product("t2x3x4T").value());
  ASSERT_TRUE(views) << views.error().text;
  EXPECT_THAT(views->lhs.layout.shape(), ElementsAre(2, 4));
  EXPECT_EQ(views->lhs.layout.strides[0], 1);
  EXPECT_EQ(views->lhs.layout.strides[1], 2);
  EXPECT_THAT(views->rhs.layout.shape(), ElementsAre(4, 3));
  EXPECT_EQ(views->rhs.layout.strides[0], 1);
  EXPECT_EQ(views->rhs.layout.strides[1], 4);
  EXPECT_THAT(views->out.layout.shape(), ElementsAre(2, 3));
  EXPECT_EQ(views->out.layout.strides[1], 1);
}

TEST(Views, ABatchIsAnAxis) {
  const auto views = views_of(parse_product("5x2x3x4").value());
  ASSERT_TRUE(views) << views.error().text;
  EXPECT_THAT(views->lhs.layout.shape(), ElementsAre(5, 2, 4));
  EXPECT_THAT(views->out.layout.shape(), ElementsAre(5, 2, 3));
  EXPECT_THAT(views_of(parse_product("1x2x3x4").value())->lhs.layout.shape(), ElementsAre(2, 4));
}

TEST(Views, TooLargeForAnyMemory) {
  const auto views = views_of(parse_product("9223372036854775807").value());
  ASSERT_FALSE(views);
  EXPECT_EQ(views.error().kind, ErrorKind::invalid_argument);
  EXPECT_THAT(views.error().text, HasSubstr("too large"));
}

}  // namespace
}  // namespace rooftune::cli
