#include "cli/environment_variables.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include "base/text.h"
#include "cli/output.h"
#include "fmt/format.h"

namespace rooftune::cli {
namespace {

constexpr std::string_view kPrefix = "ROOFTUNE_";
constexpr std::array<std::string_view, 6> kNames = {
    "ROOFTUNE_ENVIRONMENT", "ROOFTUNE_AUTOTUNE_CACHE", "ROOFTUNE_AUTOTUNE_LEVEL",
    "ROOFTUNE_DEVICE",      "ROOFTUNE_THREADS",        "ROOFTUNE_RIVALS"};

std::optional<std::string> get(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr) return std::nullopt;
  return std::string(value);
}

// A misspelt variable would otherwise be a setting that silently does nothing; but another program
// may have one of its own that begins like ours.
void warn_of_unknown_names() {
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    if (!text.starts_with(kPrefix)) continue;
    const std::string_view name = text.substr(0, text.find('='));
    bool known = false;
    for (const std::string_view candidate : kNames) known = known || candidate == name;
    if (!known) {
      note(fmt::format("the environment variable {} means nothing here{}", in_quotes(name),
                       did_you_mean(name, kNames)));
    }
  }
}

}  // namespace

Status apply_environment_variables(Settings& settings) {
  warn_of_unknown_names();
  return apply_environment(settings, get);
}

std::filesystem::path user_cache_folder() {
  if (const auto cache = get("XDG_CACHE_HOME"); cache && cache->starts_with('/')) return *cache;
  if (const auto home = get("HOME"); home && home->starts_with('/')) {
    return std::filesystem::path(*home) / ".cache";
  }
  return {};
}

std::filesystem::path virtual_environment_folder() {
  if (const auto folder = get("VIRTUAL_ENV"); folder && folder->starts_with('/')) {
    return std::filesystem::path(*folder) / "lib";
  }
  return {};
}

void set_variable_for_library(const char* name, const char* value) {
  static std::set<std::string> ours;
  if (value == nullptr) {
    if (ours.erase(name) != 0) ::unsetenv(name);
  } else if (!get(name)) {
    ::setenv(name, value, 1);
    ours.insert(name);
  }
}

}  // namespace rooftune::cli
