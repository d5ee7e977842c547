#include "ops/matmul/rivals/library.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <system_error>
#include <utility>

#include "fmt/format.h"

namespace rooftune::rivals {
namespace {

namespace fs = std::filesystem;

// From a virtual environment, lib/python3.11/site-packages/<package>/lib is 5 deep; a link or a
// folder of the system given by mistake must not lead on for ever.
constexpr int kDeepest = 7;

bool is_named(std::string_view name, std::span<const std::string_view> stems) {
  return name.find(".so") != std::string_view::npos &&
         std::any_of(stems.begin(), stems.end(),
                     [&](std::string_view stem) { return name.starts_with(stem); });
}

// Files below `folder` (or the file that it is) whose name `accepts` takes.
template <class Accepts>
std::vector<fs::path> files_below(const fs::path& folder, Accepts accepts) {
  std::vector<fs::path> found;
  std::error_code error;
  if (fs::is_regular_file(folder, error)) {
    if (accepts(folder.filename().string())) found.push_back(fs::absolute(folder, error));
    return found;
  }
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    if (at.depth() >= kDeepest) at.disable_recursion_pending();
    std::error_code unreadable;
    if (accepts(at->path().filename().string()) && at->is_regular_file(unreadable)) {
      found.push_back(fs::absolute(at->path(), unreadable));
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

// ASan and TSan refuse to load anything that looks at its own functions first.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kOwnFunctionsFirst = 0;
#else
// MKL shows its functions to the whole process; a BLIS that is loaded later would call them.
constexpr int kOwnFunctionsFirst = RTLD_DEEPBIND;
#endif

// The name of the library that the loader did not find: "libtbb.so.12: cannot open shared ...".
std::string missing_library(std::string_view loader_text) {
  const std::size_t end = loader_text.find(": cannot open shared object file");
  if (end == std::string_view::npos) return "";
  const std::string_view name = loader_text.substr(0, end);
  return name.find('/') == std::string_view::npos ? std::string(name) : "";
}

// Loads `file`; what it needs and the loader does not know is loaded from a path before, which
// satisfies the loader because it goes by names. `tried` keeps circles from going on for ever.
void* load_with_needs(const std::string& file, Folders folders, std::set<std::string>& tried,
                      std::string& reason) {
  for (;;) {
    if (void* handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | kOwnFunctionsFirst)) {
      return handle;
    }
    const char* text = ::dlerror();
    reason = text == nullptr ? "the loader gives no reason" : text;
    const std::string missing = missing_library(reason);
    if (missing.empty() || missing == file || !tried.insert(missing).second) return nullptr;
    const auto is_it = [&](const std::string& name) { return name == missing; };
    std::vector<fs::path> places;
    std::error_code error;
    const fs::path beside = fs::path(file).parent_path() / missing;
    if (file.find('/') != std::string::npos && fs::exists(beside, error)) places.push_back(beside);
    for (const fs::path& folder : folders) {
      for (fs::path& found : files_below(folder, is_it)) places.push_back(std::move(found));
    }
    const bool loaded = std::any_of(places.begin(), places.end(), [&](const fs::path& place) {
      std::string why;
      return load_with_needs(place.string(), folders, tried, why) != nullptr;
    });
    if (!loaded) return nullptr;
  }
}

}  // namespace

std::vector<std::string> files_of(const FileNames& names, Folders folders) {
  std::vector<std::string> files;
  std::set<fs::path> known;
  const auto add = [&](const fs::path& file) {
    std::error_code error;
    const fs::path real = fs::canonical(file, error);
    if (!error && known.insert(real).second) files.push_back(file.string());
  };
  for (const fs::path& folder : folders) {
    const auto accepts = [&](const std::string& name) { return is_named(name, names.stems); };
    for (const fs::path& file : files_below(folder, accepts)) add(file);
  }
  for (const std::string_view place : names.places) {
    if (place.find('/') != std::string_view::npos) {
      add(fs::path(place));
    } else {
      files.emplace_back(place);
    }
  }
  return files;
}

Result<Library> Library::load(const std::string& file, Folders folders) {
  std::set<std::string> tried;
  std::string reason;
  if (void* handle = load_with_needs(file, folders, tried, reason)) return Library(handle, file);
  return fail(ErrorKind::not_found, reason.starts_with(file) ? reason : file + ": " + reason);
}

fs::path Library::real_file() const {
  std::error_code error;
  fs::path real = fs::canonical(file_, error);
  return error ? fs::path(file_) : real;
}

Version version_in(std::string_view text) {
  const auto is_digit = [&](std::size_t at) {
    return at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0;
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!is_digit(at)) continue;
    Version version;
    std::size_t count = 0;
    for (;; ++at) {
      int number = 0;
      for (; is_digit(at); ++at) number = std::min(number * 10 + (text[at] - '0'), 100'000'000);
      version.numbers[count++] = number;
      if (count == version.numbers.size() || at >= text.size() || text[at] != '.' ||
          !is_digit(at + 1)) {
        break;
      }
    }
    if (count > 1) return version;
  }
  return {};
}

}  // namespace rooftune::rivals
