#include "base/json.h"

#include <limits>
#include <random>

#include "base/locale_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rooftune {
namespace {

using testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Json, KeepsOrderAndValues) {
  const std::string text = R"({"z":1,"a":[true,null,"x"],"m":-0.5,"big":18446744073709551615})";
  const auto value = parse_json(text);
  ASSERT_TRUE(value.has_value());
  EXPECT_EQ(write_json(*value), text);
}

TEST(Json, NumbersComeBackExactly) {
  for (double number : {0.1, 1e-300, 3.626e-6, 300281e-9, 1.7976931348623157e308, 5e-324, -0.0}) {
    Json value;
    value["x"] = number;
    EXPECT_EQ(*number_member(*parse_json(write_json(value)), "x"), number);
  }
}

TEST(Json, WhatIsNotFiniteBecomesNull) {
  Json value;
  value["a"] = std::numeric_limits<double>::quiet_NaN();
  value["b"] = kInfinity;
  value["c"] = -kInfinity;
  EXPECT_EQ(write_json(value), R"({"a":null,"b":null,"c":null})");
  EXPECT_EQ(number_member(value, "b"), std::nullopt);
}

TEST(Json, OddTextIsEscapedOrReplaced) {
  EXPECT_EQ(json_string("a\"b\\c\n\x01"), R"("a\"b\\c\n\u0001")");
  EXPECT_EQ(json_string("gr\xc3\xbc"), "\"gr\xc3\xbc\"");
  EXPECT_EQ(json_string("a\xff"), "\"a\xef\xbf\xbd\"");
  Json value;
  value["na\xffme"] = "\xc3";
  EXPECT_TRUE(parse_json(write_json(value)).has_value());
}

TEST(Json, FaultsAreErrorsWithTheirPlace) {
  for (std::string_view text :
       {"", " ", "{", "{]", "[1,]", "{\"a\":}", "nul", "1 2", "NaN", "[1e999]", "'a'", "\"\xff\"",
        "{\"a\" 1}", "0,5", "// x\n1", "\"\\ud800\""}) {
    const auto value = parse_json(text);
    ASSERT_FALSE(value.has_value()) << text;
    EXPECT_EQ(value.error().kind, ErrorKind::invalid_argument);
    EXPECT_THAT(value.error().text, HasSubstr("not valid JSON: "));
    EXPECT_THAT(value.error().text, testing::Not(HasSubstr("exception")));
  }
  EXPECT_THAT(parse_json("{\n\"a\": x}").error().text, HasSubstr("line 2"));
}

TEST(Json, DepthIsBounded) {
  const auto nested = [](int depth) {
    return std::string(std::size_t(depth), '[') + std::string(std::size_t(depth), ']');
  };
  EXPECT_TRUE(parse_json(nested(100)).has_value());
  EXPECT_THAT(parse_json(nested(101)).error().text, HasSubstr("100 deep"));
  EXPECT_FALSE(parse_json(std::string(10'000'000, '[')).has_value());
  EXPECT_TRUE(parse_json("\"" + std::string(1000, '[') + "\\\"" + "[\"").has_value());
}

TEST(Json, MembersOfTheWrongTypeAreNotThere) {
  const Json value =
      *parse_json(R"({"s":"x","n":1.5,"i":-3,"big":18446744073709551615,"b":true,"z":null})");
  EXPECT_EQ(string_member(value, "s"), "x");
  EXPECT_EQ(number_member(value, "n"), 1.5);
  EXPECT_EQ(number_member(value, "i"), -3.0);
  EXPECT_EQ(integer_member(value, "i"), -3);
  EXPECT_EQ(bool_member(value, "b"), true);
  EXPECT_EQ(integer_member(value, "n"), std::nullopt);
  EXPECT_EQ(integer_member(value, "big"), std::nullopt);
  EXPECT_EQ(integer_member(value, "b"), std::nullopt);
  EXPECT_EQ(string_member(value, "n"), std::nullopt);
  EXPECT_EQ(number_member(value, "s"), std::nullopt);
  EXPECT_EQ(bool_member(value, "i"), std::nullopt);
  EXPECT_EQ(string_member(value, "z"), std::nullopt);
  EXPECT_EQ(find_member(value, "absent"), nullptr);
  EXPECT_EQ(find_member(Json::array({1}), "0"), nullptr);
  EXPECT_EQ(find_member(Json(), "a"), nullptr);
}

TEST(Json, DoesNotDependOnTheLocale) {
  const DecimalComma comma;
  Json value;
  value["x"] = 4.97;
  value["n"] = 1234567;
  EXPECT_EQ(write_json(value), R"({"x":4.97,"n":1234567})");
  EXPECT_EQ(number_member(*parse_json(R"({"x":0.5})"), "x"), 0.5);
}

TEST(Json, RandomDamageNeverThrows) {
  const std::string valid = R"({"key":{"m":1024,"t":[1.5e-6,2]},"name":"gemm \"x\"","ok":true})";
  std::mt19937 random(9);
  for (int round = 0; round < 5000; ++round) {
    std::string text = valid;
    for (unsigned i = 1 + random() % 4; i > 0; --i) text[random() % text.size()] = char(random());
    if (const auto value = parse_json(text)) {
      EXPECT_TRUE(parse_json(write_json(*value)).has_value());
    }
  }
}

}  // namespace
}  // namespace rooftune
