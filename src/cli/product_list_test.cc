#include "cli/product_list.h"

#include <string>

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rooftune::cli {
namespace {

using testing::HasSubstr;

constexpr const char* kHeader = "id,batch,m,n,k,in,out,layout,precision,source\n";

TEST(ProductList, ReadsEveryField) {
  const auto list =
      parse_product_list(std::string(kHeader) +
                         "1,1,1024,1024,1024,f32,f32,NN,highest,square ladder\r\n"
                         "49,12,10,11,64,bf16,f32,TN,medium,\"odd, edge \"\"masks\"\"\"\n");
  ASSERT_TRUE(list) << list.error().text;
  EXPECT_TRUE(list->bad.empty());
  ASSERT_EQ(list->products.size(), 2u);
  const ListedProduct& second = list->products[1];
  EXPECT_EQ(second.line, 3u);
  EXPECT_EQ(second.id, "49");
  EXPECT_EQ(second.source, "odd, edge \"masks\"");
  EXPECT_EQ(second.product.text, "t12x10x11x64");
  EXPECT_EQ(second.product.in, DType::bf16);
  EXPECT_EQ(second.product.out, DType::f32);
  EXPECT_EQ(second.product.precision, Precision::medium);
  EXPECT_TRUE(second.product.lhs_transposed);
  EXPECT_FALSE(second.product.rhs_transposed);
}

TEST(ProductList, ColumnsInAnyOrder) {
  const auto list = parse_product_list(
      "source,precision,layout,out,in,k,n,m,batch,id\nx,highest,NT,f64,f64,3,2,1,4,9\n");
  ASSERT_TRUE(list) << list.error().text;
  ASSERT_EQ(list->products.size(), 1u);
  EXPECT_EQ(list->products[0].product.text, "4x1x2x3T");
  EXPECT_EQ(list->products[0].id, "9");
}

TEST(ProductList, NoProductsIsNoFault) {
  const auto list = parse_product_list(kHeader);
  ASSERT_TRUE(list) << list.error().text;
  EXPECT_TRUE(list->products.empty());
}

TEST(ProductList, BadHeaders) {
  const auto message = [](const std::string& text) {
    const auto list = parse_product_list(text);
    return list ? std::string("accepted") : list.error().text;
  };
  EXPECT_THAT(message(""), HasSubstr("empty"));
  EXPECT_THAT(message("1,1,8,8,8,f32,f32,NN,highest,x\n"), HasSubstr("unknown column \"1\""));
  EXPECT_THAT(message("id,batch,m,n,k,in,out,layout,precision\n"),
              HasSubstr("column \"source\" is missing"));
  EXPECT_THAT(message("id,batch,m,n,k,in,out,layout,precison,source\n"),
              HasSubstr("did you mean \"precision\""));
  EXPECT_THAT(message("id,id,batch,m,n,k,in,out,layout,precision,source\n"),
              HasSubstr("\"id\" twice"));
  EXPECT_THAT(message("\"id,batch\n"), HasSubstr("line 1"));
}

struct Bad {
  std::string row, what;
};

class BadRow : public testing::TestWithParam<Bad> {};

TEST_P(BadRow, IsNamedAndTheOthersSurvive) {
  const std::string good = "1,1,8,8,8,f32,f32,NN,highest,x\n";
  const auto list = parse_product_list(kHeader + good + GetParam().row + "\n" + good);
  ASSERT_TRUE(list) << list.error().text;
  ASSERT_EQ(list->bad.size(), 1u);
  EXPECT_EQ(list->bad[0].line, 3u);
  EXPECT_THAT(list->bad[0].text, HasSubstr("line 3"));
  EXPECT_THAT(list->bad[0].text, HasSubstr(GetParam().what));
  EXPECT_EQ(list->products.size(), 2u);
}

INSTANTIATE_TEST_SUITE_P(
    All, BadRow,
    testing::Values(Bad{"1,1,8,8", "4 fields where 10"},
                    Bad{"1,1,8,8,8,f32,f32,NN,highest,x,y", "11 fields"},
                    Bad{"1,1,-8,8,8,f32,f32,NN,highest,x", "column \"m\" is \"-8\""},
                    Bad{"1,1,8,8 ,8,f32,f32,NN,highest,x", "column \"n\" is \"8 \""},
                    Bad{"1,1,8,8,4O,f32,f32,NN,highest,x", "column \"k\" is \"4O\""},
                    Bad{"1,,8,8,8,f32,f32,NN,highest,x", "column \"batch\" is \"\""},
                    Bad{"1,1,1e3,8,8,f32,f32,NN,highest,x", "column \"m\" is \"1e3\""},
                    Bad{"1,1,9223372036854775808,8,8,f32,f32,NN,highest,x", "column \"m\""},
                    Bad{"1,1,9223372036854775807,8,8,f32,f32,NN,highest,x", "too large"},
                    Bad{"1,1,8,8,8,fp32,f32,NN,highest,x", "did you mean \"f32\""},
                    Bad{"1,1,8,8,8,f32,F32,NN,highest,x", "column \"out\""},
                    Bad{"1,1,8,8,8,f32,f32,nn,highest,x", "column \"layout\""},
                    Bad{"1,1,8,8,8,f32,f32,N,highest,x", "column \"layout\""},
                    Bad{"1,1,8,8,8,f32,f32,NN,hihgest,x", "did you mean \"highest\""}));

TEST(ProductList, AnUnterminatedQuoteIsOneBadLine) {
  const auto list = parse_product_list(std::string(kHeader) +
                                       "1,1,8,8,8,f32,f32,NN,highest,\"x\n"
                                       "1,1,8,8,8,f32,f32,NN,highest,x\n");
  ASSERT_TRUE(list) << list.error().text;
  ASSERT_FALSE(list->bad.empty());
  EXPECT_EQ(list->bad[0].line, 2u);
}

TEST(ProductList, MissingFile) {
  const auto list = read_product_list("/nonexistent/list.csv");
  ASSERT_FALSE(list);
  EXPECT_EQ(list.error().kind, ErrorKind::io);
  EXPECT_THAT(list.error().text, HasSubstr("/nonexistent/list.csv"));
  EXPECT_FALSE(read_product_list("/"));
}

}  // namespace
}  // namespace rooftune::cli
