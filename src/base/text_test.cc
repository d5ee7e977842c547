#include "base/text.h"

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace rooftune {
namespace {

using namespace std::string_view_literals;

TEST(EditDistance, CountsEditsAndSwaps) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("level", "levle"), 1u);
  EXPECT_EQ(edit_distance("level", "levl"), 1u);
  EXPECT_EQ(edit_distance("ab", "ba"), 1u);
  EXPECT_EQ(edit_distance("abc", "cba"), 2u);
}

TEST(EditDistance, IsSymmetricAndBounded) {
  std::mt19937 random(3);
  for (int round = 0; round < 500; ++round) {
    std::string a, b;
    for (unsigned i = random() % 8; i > 0; --i) a += char('a' + random() % 3);
    for (unsigned i = random() % 8; i > 0; --i) b += char('a' + random() % 3);
    const std::size_t distance = edit_distance(a, b);
    EXPECT_EQ(distance, edit_distance(b, a));
    EXPECT_LE(distance, std::max(a.size(), b.size()));
    EXPECT_GE(distance, std::max(a.size(), b.size()) - std::min(a.size(), b.size()));
    EXPECT_EQ(distance == 0, a == b);
  }
}

TEST(Nearest, FindsSlipsOnly) {
  const std::vector<std::string_view> names = {"minimal", "balanced", "extensive", "full"};
  EXPECT_EQ(nearest("balancd", names), "balanced");
  EXPECT_EQ(nearest("FULL", names), "full");
  EXPECT_EQ(nearest("ful", names), "full");
  EXPECT_EQ(nearest("thorough", names), std::nullopt);
  EXPECT_EQ(nearest("", names), std::nullopt);
  EXPECT_EQ(nearest("x", {}), std::nullopt);
  EXPECT_EQ(nearest(std::string(10'000'000, 'x'), names), std::nullopt);
  EXPECT_EQ(did_you_mean("minimum", names), "; did you mean \"minimal\"?");
  EXPECT_EQ(did_you_mean("zzz", names), "");
}

TEST(InQuotes, IsAlwaysPrintableUtf8) {
  EXPECT_EQ(in_quotes("abc"), "\"abc\"");
  EXPECT_EQ(in_quotes("a\"b\\c"), R"("a\"b\\c")");
  EXPECT_EQ(in_quotes("a\x07\x1b[31m\n"), R"("a\x07\x1b[31m\n")");
  EXPECT_EQ(in_quotes("gr\xc3\xbc\xc3\x9f"), "\"gr\xc3\xbc\xc3\x9f\"");
  EXPECT_EQ(in_quotes("\xff\xc3"), R"("\xff\xc3")");
  EXPECT_EQ(in_quotes("\xc2\x9b"), R"("\xc2\x9b")");
  EXPECT_EQ(in_quotes("a\0b"sv), R"("a\x00b")");
  EXPECT_EQ(in_quotes("abcdef", 3), "\"abc...\"");
  EXPECT_EQ(in_quotes("ab\xc3\xbc", 3), "\"ab\xc3\xbc\"");
  EXPECT_LT(in_quotes(std::string(1'000'000, '\xff')).size(), 300u);
}

TEST(ListInQuotes, JoinsWithCommas) {
  EXPECT_EQ(list_in_quotes(std::vector<std::string_view>{"a", "b"}), R"("a", "b")");
  EXPECT_EQ(list_in_quotes({}), "");
}

TEST(ParseInteger, TakesTheWholeTextOrNothing) {
  EXPECT_EQ(parse_integer("40"), 40);
  EXPECT_EQ(parse_integer("-1"), -1);
  EXPECT_EQ(parse_integer("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  for (std::string_view text : {"", "abc", "40 ", " 40", "4O", "+4", "1e3", "1gib", "0x10", "4.0",
                                "18446744073709551616", "9223372036854775808", "--1", "1,000"}) {
    EXPECT_EQ(parse_integer(text), std::nullopt) << text;
  }
  EXPECT_EQ(parse_integer("4\0"sv), std::nullopt);
}

TEST(ParseNumber, IsFiniteAndUsesThePoint) {
  EXPECT_EQ(parse_number("0.5"), 0.5);
  EXPECT_EQ(parse_number("3"), 3.0);
  EXPECT_EQ(parse_number("1e-3"), 1e-3);
  for (std::string_view text : {"", "nan", "NaN", "inf", "-inf", "infinity", "1e999", "0,5", "0.5 ",
                                "0.5s", "+0.5", ".", "0x1p3"}) {
    EXPECT_EQ(parse_number(text), std::nullopt) << text;
  }
}

TEST(Utf8Length, AcceptsOnlyWellFormedCharacters) {
  EXPECT_EQ(utf8_length("a", 0), 1u);
  EXPECT_EQ(utf8_length("\xc3\xbc", 0), 2u);
  EXPECT_EQ(utf8_length("\xe2\x82\xac", 0), 3u);
  EXPECT_EQ(utf8_length("\xf0\x9f\x98\x80", 0), 4u);
  EXPECT_EQ(utf8_length("a", 1), 0u);
  for (std::string_view text : {"\x80"sv, "\xc0\x80"sv, "\xc3"sv, "\xe2\x82"sv, "\xed\xa0\x80"sv,
                                "\xf4\x90\x80\x80"sv, "\xf8\x88\x80\x80\x80"sv, "\xe0\x80\x80"sv}) {
    EXPECT_EQ(utf8_length(text, 0), 0u);
  }
}

}  // namespace
}  // namespace rooftune
