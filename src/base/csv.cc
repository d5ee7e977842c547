#include "base/csv.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"

namespace rooftune {

CsvReader::CsvReader(std::string_view text) : text_(text) {
  if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;
}

bool CsvReader::at_line_end() const {
  return at_ >= text_.size() || text_[at_] == '\n' || text_.substr(at_, 2) == "\r\n";
}

void CsvReader::skip_line_end() {
  if (at_ >= text_.size()) return;
  at_ += text_[at_] == '\r' ? 2 : 1;
  ++line_;
}

void CsvReader::skip_line() {
  at_ = std::min(text_.find('\n', at_), text_.size());
  skip_line_end();
}

std::unexpected<Error> CsvReader::refuse(std::size_t line, std::string_view what) const {
  return fail(ErrorKind::invalid_argument, fmt::format("line {}: {}", line, what));
}

std::optional<Result<CsvRow>> CsvReader::next() {
  while (at_ < text_.size() && at_line_end()) skip_line_end();
  if (at_ >= text_.size()) return std::nullopt;
  row_line_ = line_;
  CsvRow row;
  row.line = line_;
  for (;;) {
    std::string field;
    if (at_ < text_.size() && text_[at_] == '"') {
      const std::size_t open_at = at_, open_line = line_;
      ++at_;
      for (;;) {
        const std::size_t quote = text_.find('"', at_);
        if (quote == std::string_view::npos) {
          // The quote swallowed the rest of the text; the caller may still want the other lines.
          at_ = open_at;
          row_line_ = line_ = open_line;
          skip_line();
          return refuse(open_line, "a quoted field is not closed");
        }
        const std::string_view piece = text_.substr(at_, quote - at_);
        line_ += std::size_t(std::count(piece.begin(), piece.end(), '\n'));
        field += piece;
        at_ = quote + 1;
        if (at_ >= text_.size() || text_[at_] != '"') break;
        field += '"';
        ++at_;
      }
      if (!at_line_end() && text_[at_] != ',') {
        const std::size_t bad_line = row_line_ = line_;
        skip_line();
        return refuse(bad_line, "text after the closing quote of a field");
      }
    } else {
      const std::size_t end = std::min(text_.find_first_of(",\"\r\n", at_), text_.size());
      field = text_.substr(at_, end - at_);
      at_ = end;
      if (!at_line_end() && text_[at_] != ',') {
        const bool is_quote = text_[at_] == '"';
        const std::size_t bad_line = row_line_ = line_;
        skip_line();
        return refuse(bad_line,
                      is_quote ? "a quote inside a field that does not start with one"
                               : "a carriage return that does not end the line with a line feed");
      }
    }
    row.fields.push_back(std::move(field));
    if (at_line_end()) break;
    ++at_;  // the comma
  }
  skip_line_end();
  return row;
}

Result<std::vector<CsvRow>> parse_csv(std::string_view text) {
  std::vector<CsvRow> rows;
  CsvReader reader(text);
  while (std::optional<Result<CsvRow>> row = reader.next()) {
    if (!*row) return std::unexpected(std::move(*row).error());
    rows.push_back(std::move(**row));
  }
  return rows;
}

}  // namespace rooftune
