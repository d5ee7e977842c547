#include "base/csv.h"

#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rooftune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> only_row(std::string_view text) {
  const auto rows = parse_csv(text);
  EXPECT_TRUE(rows.has_value()) << rows.error().text;
  if (!rows || rows->size() != 1) return {"(not one row)"};
  return rows->front().fields;
}

std::string error_of(std::string_view text) {
  const auto rows = parse_csv(text);
  return rows ? "no error" : rows.error().text;
}

TEST(Csv, PlainRowsWithTheirLines) {
  const auto rows = parse_csv("id,m,n\n\na,1,2\r\n\r\nb,3,4");
  ASSERT_TRUE(rows.has_value());
  ASSERT_EQ(rows->size(), 3u);
  EXPECT_THAT((*rows)[0].fields, ElementsAre("id", "m", "n"));
  EXPECT_THAT((*rows)[1].fields, ElementsAre("a", "1", "2"));
  EXPECT_THAT((*rows)[2].fields, ElementsAre("b", "3", "4"));
  EXPECT_EQ((*rows)[0].line, 1u);
  EXPECT_EQ((*rows)[1].line, 3u);
  EXPECT_EQ((*rows)[2].line, 5u);
}

TEST(Csv, QuotesHoldCommasQuotesAndLineBreaks) {
  EXPECT_THAT(only_row(R"("a,b","say ""hi""",c)"), ElementsAre("a,b", "say \"hi\"", "c"));
  EXPECT_THAT(only_row("\"a\nb\r\nc\",d\n"), ElementsAre("a\nb\r\nc", "d"));
  EXPECT_THAT(only_row("\"\",\"\"\"\""), ElementsAre("", "\""));
  const auto rows = parse_csv("\"1\n2\"\nthird\n");
  ASSERT_TRUE(rows.has_value());
  EXPECT_EQ((*rows)[1].line, 3u);
}

TEST(Csv, EmptyFieldsBlanksAndMarks) {
  EXPECT_THAT(only_row(",a,,"), ElementsAre("", "a", "", ""));
  EXPECT_THAT(only_row(" a , b"), ElementsAre(" a ", " b"));
  EXPECT_THAT(only_row("\xef\xbb\xbf"
                       "id,x\r\n"),
              ElementsAre("id", "x"));
  EXPECT_THAT(only_row("\"\""), ElementsAre(""));
  for (const char* text : {"", "\n", "\r\n\n\r\n", "\xef\xbb\xbf", "\xef\xbb\xbf\n"}) {
    EXPECT_TRUE(parse_csv(text)->empty());
  }
  EXPECT_THAT(only_row(std::string_view("a\0b,\xff", 5)),
              ElementsAre(std::string("a\0b", 3), "\xff"));
}

TEST(Csv, FaultsNameTheirLine) {
  EXPECT_THAT(error_of("a\nb,\"c\nd\ne\n"), HasSubstr("line 2: a quoted field is not closed"));
  EXPECT_THAT(error_of("\"a\n\",\"b"), HasSubstr("line 2: a quoted field is not closed"));
  EXPECT_THAT(error_of("a\n\"b\"c\n"), HasSubstr("line 2: text after the closing quote"));
  EXPECT_THAT(error_of("a\nb\"c\n"), HasSubstr("line 2: a quote inside"));
  EXPECT_THAT(error_of("a\rb\r"), HasSubstr("line 1: a carriage return"));
  EXPECT_THAT(error_of("\""), HasSubstr("line 1: a quoted field is not closed"));
}

TEST(Csv, ReaderGoesOnAfterABadLine) {
  CsvReader reader("good,1\nbad\"line,2\n\"x\"y\nalso,3\nopen,\"\nlast,4\n");
  std::vector<std::string> seen;
  std::vector<std::size_t> lines;
  EXPECT_EQ(reader.line(), 0u);
  while (auto row = reader.next()) {
    seen.push_back(*row ? (*row)->fields[0] : row->error().text.substr(0, 7));
    lines.push_back(reader.line());
  }
  EXPECT_THAT(seen, ElementsAre("good", "line 2:", "line 3:", "also", "line 5:", "last"));
  EXPECT_THAT(lines, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_FALSE(reader.next().has_value());
}

std::string written(const std::vector<std::vector<std::string>>& rows, std::mt19937& random) {
  std::string text;
  for (const auto& fields : rows) {
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (i > 0) text += ',';
      text += '"';
      for (char c : fields[i]) text += c == '"' ? std::string("\"\"") : std::string(1, c);
      text += '"';
    }
    text += random() % 2 ? "\n" : "\r\n";
  }
  return text;
}

TEST(Csv, WhatIsQuotedComesBack) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::vector<std::string>> rows(1 + random() % 4);
    for (auto& fields : rows) {
      fields.resize(1 + random() % 4);
      for (auto& field : fields) {
        for (unsigned i = random() % 6; i > 0; --i) field += "a,\"\n\r\0 "[random() % 7];
      }
    }
    const auto parsed = parse_csv(written(rows, random));
    ASSERT_TRUE(parsed.has_value());
    ASSERT_EQ(parsed->size(), rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ((*parsed)[i].fields, rows[i]);
  }
}

// Whatever the bytes: every line is either read or named, lines go up, and it ends.
TEST(Csv, RandomBytesNeitherCrashNorLoop) {
  std::mt19937 random(5);
  for (int round = 0; round < 5000; ++round) {
    std::string text;
    for (unsigned i = random() % 40; i > 0; --i)
      text += "ab,\"\"\n\n\r\0\xef\xbb\xbf"[random() % 12];
    CsvReader reader(text);
    std::size_t last = 0, rows = 0;
    while (auto row = reader.next()) {
      EXPECT_GT(reader.line(), last);
      last = reader.line();
      if (*row) {
        EXPECT_FALSE((*row)->fields.empty());
      }
      ASSERT_LE(++rows, text.size());
    }
  }
}

TEST(Csv, ManyOpenQuotesTakeLinearTime) {
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += "a,\"\n";
  std::size_t rows = 0;
  CsvReader reader(text);
  while (reader.next()) ++rows;
  EXPECT_GT(rows, 0u);
}

}  // namespace
}  // namespace rooftune
