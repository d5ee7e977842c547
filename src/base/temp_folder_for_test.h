// A folder for one test.
#ifndef ROOFTUNE_BASE_TEMP_FOLDER_FOR_TEST_H_
#define ROOFTUNE_BASE_TEMP_FOLDER_FOR_TEST_H_

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace rooftune {

// A folder that is removed at the end.
class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "rooftune-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace rooftune

#endif  // ROOFTUNE_BASE_TEMP_FOLDER_FOR_TEST_H_
