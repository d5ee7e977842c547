#include "cli/table.h"

#include "gtest/gtest.h"

namespace rooftune::cli {
namespace {

TEST(Table, AlignsAndRules) {
  Table table({{"product", Align::left}, {"min", Align::right}, {"note", Align::left}});
  table.add({"8", "12.3 us", "ok"});
  table.add({"1024x1024", "4 ms"});
  EXPECT_EQ(table.text(),
            "product        min  note\n"
            "---------  -------  ----\n"
            "8          12.3 us  ok\n"
            "1024x1024     4 ms");
}

TEST(Table, CountsCharactersNotBytes) {
  Table table({{"source"}, {"n", Align::right}});
  table.add({"4×128", "1"});
  table.add({"4x1280", "22"});
  EXPECT_EQ(table.text(),
            "source   n\n"
            "------  --\n"
            "4×128    1\n"
            "4x1280  22");
}

TEST(Table, StreamsWithDeclaredWidths) {
  const Table table({{"a", Align::left, 4}, {"b", Align::right, 3}});
  EXPECT_EQ(table.head(), "a       b\n----  ---");
  EXPECT_EQ(table.line({"x", "1"}), "x       1");
  EXPECT_EQ(table.line({"longer", "1"}), "longer    1");
}

TEST(Table, NoRowsIsOnlyTheHead) { EXPECT_EQ(Table({{"a"}}).text(), "a\n-"); }

}  // namespace
}  // namespace rooftune::cli
