// Results go to standard output, everything else (warnings, notes, progress) to standard error.
#ifndef ROOFTUNE_CLI_OUTPUT_H_
#define ROOFTUNE_CLI_OUTPUT_H_

#include <filesystem>
#include <string>
#include <string_view>

#include "base/json.h"

namespace rooftune::cli {

// One line of the result. Lines are flushed one by one, so that a reader of a pipe sees each when
// it is there and an interrupted command loses none.
void print_line(std::string_view line);
inline void print_json(const Json& value) { print_line(write_json(value)); }

// "rooftune: TEXT" on standard error.
void note(std::string_view text);

// The same for a result that could not be kept: the command will not end as done.
void note_lost_output(std::string_view text);

// Replaces the file; false when not all of it could be written.
bool write_file(const std::filesystem::path& file, std::string_view text);
// Whether write_file has a chance. Leaves a file that is there as it is, and makes none.
bool can_write(const std::filesystem::path& file);

// Text of unknown origin, with control characters replaced: they could move the cursor, or worse.
std::string printable(std::string_view text);

// False when something that was printed could not be written (a full disk, a closed pipe).
bool output_is_whole();

// What standard error, or standard input, is connected to.
bool errors_go_to_terminal();
bool input_is_terminal();

}  // namespace rooftune::cli

#endif  // ROOFTUNE_CLI_OUTPUT_H_
