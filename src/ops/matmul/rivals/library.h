// Finding and loading the files of other libraries.
#ifndef ROOFTUNE_OPS_MATMUL_RIVALS_LIBRARY_H_
#define ROOFTUNE_OPS_MATMUL_RIVALS_LIBRARY_H_

#include <dlfcn.h>

#include <array>
#include <compare>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rooftune/error.h"

namespace rooftune::rivals {

using Folders = std::span<const std::filesystem::path>;

// How files of one library are called, and where a system has them.
struct FileNames {
  std::vector<std::string_view> stems;  // "libopenblas": how a name begins; ".so" follows somewhere
  std::vector<std::string_view> places;  // full paths, and names that the loader may know
};

// Files that may be the library: those below `folders` first, in order of their paths, then
// `places`. A file that several names lead to comes once.
std::vector<std::string> files_of(const FileNames& names, Folders folders);

// Never unloaded: such libraries own threads, and some of them crash when their code goes away.
class Library {
 public:
  // A library that this one needs and that the loader does not find is looked for beside it and
  // below `folders`.
  // Errors: not_found, with what the loader says.
  static Result<Library> load(const std::string& file, Folders folders);

  // The path, where one is known. With links followed, whose target often tells the version.
  const std::string& file() const { return file_; }
  std::filesystem::path real_file() const;

  // Whether it is the same one, found under another name.
  bool operator==(const Library& other) const { return handle_ == other.handle_; }

  // Also finds functions of the libraries that this one needs. Null: not there.
  template <class F>
  F find(const std::string& symbol) const {
    return reinterpret_cast<F>(::dlsym(handle_, symbol.c_str()));
  }

 private:
  Library(void* handle, std::string file) : handle_(handle), file_(std::move(file)) {}
  void* handle_;
  std::string file_;
};

// Numbers of a version, to be compared.
struct Version {
  std::array<int, 3> numbers{};
  auto operator<=>(const Version&) const = default;
};
// The first number of `text` that has a point in it: 0.3.21 of "libopenblasp-r0.3.21.so".
// 0.0.0: none.
Version version_in(std::string_view text);

}  // namespace rooftune::rivals

#endif  // ROOFTUNE_OPS_MATMUL_RIVALS_LIBRARY_H_
