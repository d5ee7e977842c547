#include "cli/table.h"

#include <algorithm>
#include <utility>

namespace rooftune::cli {
namespace {

constexpr std::string_view kGap = "  ";

void drop_blanks_at_end(std::string& line) {
  while (!line.empty() && line.back() == ' ') line.pop_back();
}

}  // namespace

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

void Table::add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

std::vector<std::size_t> Table::declared_widths() const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) {
    widths.push_back(std::max(column.width, display_width(column.title)));
  }
  return widths;
}

std::string Table::line(const std::vector<std::string>& row,
                        const std::vector<std::size_t>& widths) const {
  std::string line;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const std::string_view cell = i < row.size() ? std::string_view(row[i]) : std::string_view();
    const std::size_t width = display_width(cell);
    const std::string padding(widths[i] > width ? widths[i] - width : 0, ' ');
    if (i > 0) line += kGap;
    if (columns_[i].align == Align::right) line += padding;
    line += cell;
    if (columns_[i].align == Align::left) line += padding;
  }
  drop_blanks_at_end(line);
  return line;
}

std::string Table::head(const std::vector<std::size_t>& widths) const {
  std::vector<std::string> titles, rules;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    titles.push_back(columns_[i].title);
    rules.emplace_back(widths[i], '-');
  }
  return line(titles, widths) + "\n" + line(rules, widths);
}

std::string Table::head() const { return head(declared_widths()); }

std::string Table::line(const std::vector<std::string>& row) const {
  return line(row, declared_widths());
}

std::string Table::text() const {
  std::vector<std::size_t> widths = declared_widths();
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < std::min(row.size(), widths.size()); ++i) {
      widths[i] = std::max(widths[i], display_width(row[i]));
    }
  }
  std::string text = head(widths);
  for (const auto& row : rows_) text += "\n" + line(row, widths);
  return text;
}

}  // namespace rooftune::cli
