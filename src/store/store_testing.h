// What the tests of this room share. Not part of the library.
#ifndef ROOFTUNE_STORE_STORE_TESTING_H_
#define ROOFTUNE_STORE_STORE_TESTING_H_

#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "rooftune/function_ref.h"
#include "store/environment.h"

namespace rooftune {

// A folder of its own, gone with the object. Others may enter it.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = std::filesystem::temp_directory_path() / "rooftune-test-XXXXXX";
    if (!mkdtemp(name.data())) std::abort();
    path_ = std::filesystem::canonical(name);
    chmod(path_.c_str(), 0755);
  }
  ~ScratchFolder() {
    if (pid_ != getpid()) return;
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  pid_t pid_ = getpid();
};

// The warnings of an environment, in order.
class Warnings {
 public:
  std::function<void(const std::string&)> sink() {
    return [this](const std::string& text) {
      const std::lock_guard lock(mutex_);
      texts_.push_back(text);
    };
  }
  std::vector<std::string> texts() const {
    const std::lock_guard lock(mutex_);
    return texts_;
  }
  std::size_t count() const { return texts().size(); }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> texts_;
};

inline void PrintTo(const Warnings& warnings, std::ostream* out) {
  for (const std::string& text : warnings.texts()) *out << "\n  " << text;
}

// Runs SQL on a file with a connection of its own; the rows, columns between '|'. Fails the test on
// an error.
inline std::vector<std::string> sql(const std::filesystem::path& file, const std::string& text) {
  sqlite3* handle = nullptr;
  std::vector<std::string> rows;
  const auto take = [](void* into, int columns, char** values, char**) {
    std::string row;
    for (int i = 0; i < columns; ++i) {
      row.append(i ? "|" : "").append(values[i] ? values[i] : "NULL");
    }
    static_cast<std::vector<std::string>*>(into)->push_back(row);
    return 0;
  };
  sqlite3_open(file.c_str(), &handle);
  sqlite3_busy_timeout(handle, 2000);
  char* error = nullptr;
  sqlite3_exec(handle, text.c_str(), take, &rows, &error);
  if (error) ADD_FAILURE() << text << ": " << error;
  sqlite3_free(error);
  sqlite3_close(handle);
  return rows;
}

inline std::string contents(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_file(const std::filesystem::path& file, std::string_view bytes) {
  std::ofstream(file, std::ios::binary | std::ios::trunc).write(bytes.data(), bytes.size());
}

// Files of the folder whose name holds `part`.
inline std::vector<std::filesystem::path> files_with(const std::filesystem::path& folder,
                                                     std::string_view part) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename().native().find(part) != std::string::npos) {
      found.push_back(entry.path());
    }
  }
  return found;
}

// Runs `work` in a child made by fork(); its failed expectations are printed and make the result
// false. With `as_nobody`, a test that runs as root gives its rights up first.
inline bool in_child(FunctionRef<void()> work, bool as_nobody = false) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    if (as_nobody && getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(3);
    work();
    std::fflush(nullptr);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

inline constexpr std::string_view kTestSpace = "autotune/v1/fake/matmul";

inline std::string json_of(std::string_view winner) {
  return R"({"winner":")" + std::string(winner) + R"("})";
}

// A file with `rows` entries "key0", "key1", ... of about 400 bytes, closed again.
inline void fill(const std::filesystem::path& file, int rows) {
  Environment environment({.path = file});
  for (int i = 0; i < rows; ++i) {
    const std::string value = json_of("w" + std::to_string(i) + std::string(400, 'x'));
    ASSERT_TRUE(environment.put(kTestSpace, "key" + std::to_string(i), value));
  }
}

}  // namespace rooftune

#endif  // ROOFTUNE_STORE_STORE_TESTING_H_
