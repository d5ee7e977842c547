// Where an environment of a given name lies. Looks at folders; creates nothing, reads no
// environment variable.
#ifndef ROOFTUNE_STORE_LOCATION_H_
#define ROOFTUNE_STORE_LOCATION_H_

#include <filesystem>
#include <string_view>

#include "rooftune/error.h"

namespace rooftune {

inline constexpr std::string_view kEnvironmentFile = "default.db";

// The database file of environment `name`:
//
//   "project"      .rooftune/default.db beside the rooftune.toml or CMakeLists.txt of the outermost
//                  folder that has one, of `start_folder` and the folders above it; where none
//                  has, as "global"
//   "local"        start_folder/.rooftune/default.db
//   "global"       user_cache_folder/rooftune/default.db
//   with a slash   a folder, taken from start_folder when it is relative: FOLDER/default.db
//   anything else  user_cache_folder/rooftune/NAME/default.db
//
// `start_folder` is absolute; `user_cache_folder` (~/.cache or what stands for it) is absolute, or
// empty when the user has none, which is an error only for names that need it. Names that are
// empty, longer than a file name may be, that hold control characters or a part ".." or "~", and
// plain names that begin with a dot or could be taken for a database, are invalid_argument.
Result<std::filesystem::path> resolve_environment(std::string_view name,
                                                  const std::filesystem::path& start_folder,
                                                  const std::filesystem::path& user_cache_folder);

}  // namespace rooftune

#endif  // ROOFTUNE_STORE_LOCATION_H_
