#include "base/embedded.h"

#include <algorithm>
#include <vector>

namespace rooftune {
namespace {

// The path of an include directive for a file of ours, or nothing.
std::string_view included_by(std::string_view line) {
  const auto blank = [](std::string_view& text) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  };
  blank(line);
  if (!line.starts_with('#')) return {};
  line.remove_prefix(1);
  blank(line);
  if (!line.starts_with("include")) return {};
  line.remove_prefix(7);
  blank(line);
  if (!line.starts_with('"')) return {};
  line.remove_prefix(1);
  return line.substr(0, line.find('"'));
}

const EmbeddedFile* find(std::span<const EmbeddedFile> files, std::string_view name) {
  const auto file = std::find_if(files.begin(), files.end(),
                                 [&](const EmbeddedFile& each) { return each.name == name; });
  return file != files.end() ? &*file : nullptr;
}

void append(std::span<const EmbeddedFile> files, const EmbeddedFile& file,
            std::vector<const EmbeddedFile*>& seen, std::string& text) {
  if (std::find(seen.begin(), seen.end(), &file) != seen.end()) return;
  seen.push_back(&file);
  for (std::string_view rest = file.text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size() - 1) + 1;
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end);
    if (const EmbeddedFile* included = find(files, included_by(line)); included != nullptr) {
      append(files, *included, seen, text);
    } else {
      text += line;
    }
  }
}

}  // namespace

Result<std::string> with_includes(std::span<const EmbeddedFile> files, std::string_view name) {
  const EmbeddedFile* file = find(files, name);
  if (file == nullptr) {
    return fail(ErrorKind::not_found, "no source " + std::string(name) + " in this program");
  }
  std::string text;
  std::vector<const EmbeddedFile*> seen;
  append(files, *file, seen, text);
  return text;
}

}  // namespace rooftune
