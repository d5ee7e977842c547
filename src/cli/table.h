// Tables for people: aligned columns, numbers to the right, a rule under the head.
#ifndef ROOFTUNE_CLI_TABLE_H_
#define ROOFTUNE_CLI_TABLE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rooftune::cli {

enum class Align { left, right };

struct Column {
  std::string title;
  Align align = Align::left;
  std::size_t width = 0;  // at least; matters for rows that are printed before the last is known
};

class Table {
 public:
  explicit Table(std::vector<Column> columns);

  // A row has at most as many cells as there are columns; absent ones are empty.
  void add(std::vector<std::string> row);
  bool empty() const { return rows_.empty(); }

  // Head, rule and all rows; each line ends without blanks. No line break at the very end.
  std::string text() const;

  // The same in pieces, for rows that appear one by one: as wide as the columns were declared, and
  // a cell that is wider pushes the rest of its line.
  std::string head() const;
  std::string line(const std::vector<std::string>& row) const;

 private:
  std::string head(const std::vector<std::size_t>& widths) const;
  std::string line(const std::vector<std::string>& row,
                   const std::vector<std::size_t>& widths) const;
  std::vector<std::size_t> declared_widths() const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Columns that a terminal needs for UTF-8 text, counting one for each character.
std::size_t display_width(std::string_view text);

}  // namespace rooftune::cli

#endif  // ROOFTUNE_CLI_TABLE_H_
