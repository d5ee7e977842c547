#include "store/location.h"

#include <algorithm>
#include <optional>
#include <string>
#include <system_error>

#include "fmt/format.h"

namespace rooftune {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFolder = ".rooftune";
constexpr std::string_view kMarkers[] = {"rooftune.toml", "CMakeLists.txt"};
constexpr std::size_t kLongestPart = 255;   // NAME_MAX of every file system in use
constexpr std::size_t kLongestPath = 4000;  // PATH_MAX less the file names that SQLite appends

std::string in_quotes(std::string_view name) {
  std::string text = "'";
  for (const char c : name.substr(0, 80)) {
    const auto byte = static_cast<unsigned char>(c);
    text += byte < 0x20 || byte == 0x7f ? fmt::format("\\x{:02x}", byte) : std::string(1, c);
  }
  return text + (name.size() > 80 ? "...'" : "'");
}

std::optional<std::string> fault_of(std::string_view name) {
  if (name.empty()) return "is empty";
  if (name.size() > kLongestPath) return fmt::format("has {} bytes", name.size());
  const bool control = std::ranges::any_of(name, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
  });
  if (control) return "holds a control character";
  for (std::size_t from = 0; from <= name.size();) {
    const std::size_t to = std::min(name.find('/', from), name.size());
    const std::string_view part = name.substr(from, to - from);
    if (part == "..") return "holds '..'";
    if (part == "~") return "holds '~', which only a shell replaces; write the folder in full";
    if (part.size() > kLongestPart) return fmt::format("has a part of {} bytes", part.size());
    from = to + 1;
  }
  if (name.find('/') == std::string_view::npos) {
    if (name.starts_with('.')) return "begins with a dot";
    // Such a folder would lie where "global" keeps its database and the copies put aside.
    if (name.starts_with(kEnvironmentFile)) return fmt::format("begins with {}", kEnvironmentFile);
  }
  return std::nullopt;
}

bool is_project_root(const fs::path& folder) {
  return std::ranges::any_of(kMarkers, [&](std::string_view marker) {
    std::error_code ignored;
    return fs::is_regular_file(folder / marker, ignored);
  });
}

std::optional<fs::path> outermost_project(const fs::path& start) {
  std::optional<fs::path> found;
  for (fs::path folder = start;; folder = folder.parent_path()) {
    if (is_project_root(folder)) found = folder;
    if (folder == folder.parent_path()) return found;
  }
}

}  // namespace

Result<fs::path> resolve_environment(std::string_view name, const fs::path& start_folder,
                                     const fs::path& user_cache_folder) {
  if (const auto fault = fault_of(name)) {
    return fail(ErrorKind::invalid_argument,
                fmt::format("The environment name {} {}; use project, local, global, a plain name "
                            "or a folder with a slash in it.",
                            in_quotes(name), *fault));
  }
  if (!start_folder.is_absolute()) {
    return fail(ErrorKind::invalid_argument,
                fmt::format("The folder {} to look from is not absolute.",
                            in_quotes(start_folder.native())));
  }
  const fs::path start = start_folder.lexically_normal();
  if (name.find('/') != std::string_view::npos) {
    return (start / fs::path(name)).lexically_normal() / kEnvironmentFile;
  }
  if (name == "local") return start / kFolder / kEnvironmentFile;
  if (name == "project") {
    if (const auto root = outermost_project(start)) return *root / kFolder / kEnvironmentFile;
  }
  if (!user_cache_folder.is_absolute()) {
    return fail(ErrorKind::not_found,
                fmt::format("The environment {} lies in the user's cache folder, and {}; set HOME "
                            "or XDG_CACHE_HOME, or name a folder.",
                            in_quotes(name),
                            user_cache_folder.empty()
                                ? std::string("there is none")
                                : in_quotes(user_cache_folder.native()) + " is not absolute"));
  }
  const fs::path cache = user_cache_folder.lexically_normal() / "rooftune";
  if (name == "project" || name == "global") return cache / kEnvironmentFile;
  return cache / fs::path(name) / kEnvironmentFile;
}

}  // namespace rooftune
