// Comma-separated values as RFC 4180 has them, read strictly: fields in double quotes may hold
// commas, line breaks and doubled quotes; lines end with LF or CRLF, the last one need not; a byte
// order mark is skipped, and so are empty lines. Blanks belong to the field. How many fields a row
// has is for the caller to check.
#ifndef ROOFTUNE_BASE_CSV_H_
#define ROOFTUNE_BASE_CSV_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rooftune/error.h"

namespace rooftune {

struct CsvRow {
  std::size_t line = 0;  // of its first character, counted from 1
  std::vector<std::string> fields;
};

// Row by row, so that a caller can go on after a bad one. The text must outlive the reader.
class CsvReader {
 public:
  explicit CsvReader(std::string_view text);

  // The next row; nothing at the end.
  // Errors: invalid_argument, "line 7: ...". The next call goes on with the line after the one that
  // is named.
  std::optional<Result<CsvRow>> next();

  // Of the row that next() gave last, good or bad; 0 before the first.
  std::size_t line() const { return row_line_; }

 private:
  bool at_line_end() const;
  void skip_line_end();
  void skip_line();
  std::unexpected<Error> refuse(std::size_t line, std::string_view what) const;

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;  // of text_[at_]
  std::size_t row_line_ = 0;
};

// All rows, or the error of the first bad one.
Result<std::vector<CsvRow>> parse_csv(std::string_view text);

}  // namespace rooftune

#endif  // ROOFTUNE_BASE_CSV_H_
