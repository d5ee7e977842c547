#include "cli/output.h"

#include <unistd.h>

#include <cstdio>
#include <system_error>

namespace rooftune::cli {
namespace {

bool write_failed = false;

}  // namespace

void print_line(std::string_view line) {
  const bool written = std::fwrite(line.data(), 1, line.size(), stdout) == line.size() &&
                       std::fputc('\n', stdout) != EOF && std::fflush(stdout) == 0;
  write_failed = write_failed || !written;
}

void note(std::string_view text) {
  // A progress bar may stand in the line.
  const char* clear = errors_go_to_terminal() ? "\r\x1b[K" : "";
  std::fprintf(stderr, "%srooftune: %.*s\n", clear, static_cast<int>(text.size()), text.data());
}

void note_lost_output(std::string_view text) {
  write_failed = true;
  note(text);
}

bool write_file(const std::filesystem::path& file, std::string_view text) {
  std::FILE* stream = std::fopen(file.c_str(), "wb");
  if (stream == nullptr) return false;
  const bool written = std::fwrite(text.data(), 1, text.size(), stream) == text.size();
  return std::fclose(stream) == 0 && written;
}

bool can_write(const std::filesystem::path& file) {
  std::error_code error;
  const bool existed = std::filesystem::exists(file, error);
  std::FILE* stream = std::fopen(file.c_str(), "ab");
  if (stream == nullptr) return false;
  std::fclose(stream);
  if (!existed) std::filesystem::remove(file, error);
  return true;
}

std::string printable(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return result;
}

bool output_is_whole() { return !write_failed; }

bool errors_go_to_terminal() { return ::isatty(STDERR_FILENO) == 1; }
bool input_is_terminal() { return ::isatty(STDIN_FILENO) == 1; }

}  // namespace rooftune::cli
