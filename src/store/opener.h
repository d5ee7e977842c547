// Finds a way to use a database file, whatever state it is in: as it is, in a slower mode, only for
// reading, or a fresh one after the broken one was put aside.
#ifndef ROOFTUNE_STORE_OPENER_H_
#define ROOFTUNE_STORE_OPENER_H_

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "store/database.h"

namespace rooftune {

struct Opened {
  std::unique_ptr<Database> database;
  std::string why;  // why it is not open for writing, or not with a write-ahead log; else empty
};

// Not thread-safe; its owner locks.
class Opener {
 public:
  // `warn(kind, text)` is called for everything worth a warning, each time; the owner keeps
  // repetitions of one kind back, except for "damaged", which is a new event each time.
  Opener(const std::filesystem::path& path, std::string vfs, std::chrono::milliseconds patience,
         std::function<void(std::string_view kind, std::string text)> warn);

  // The file that is used: absolute, and the target where the path is a link to a file.
  const std::filesystem::path& path() const { return path_; }

  // One attempt. Fault::moved: the file under the name became another one, look again at once.
  // Fault::busy: look again later. Any other fault is final.
  Outcome<Opened> open();

  // Writing turned out to be impossible: from now on the file is only read.
  void only_read() { only_read_ = true; }

  // Puts the file of `database` aside, for a damage that opening does not show, unless another
  // process has done so. After success, open() again.
  Outcome<void> repair(std::unique_ptr<Database> database, const std::string& why);

 private:
  Outcome<Opened> create();
  Outcome<Opened> open_damaged();
  Outcome<Opened> write(Access access);
  Outcome<Opened> read(const std::string& why);
  Outcome<void> move_aside(const std::string& why);

  std::filesystem::path path_;
  std::string vfs_;
  std::chrono::milliseconds patience_;
  std::function<void(std::string_view, std::string)> warn_;
  bool no_log_ = false;
  bool only_read_ = false;
  int repairs_ = 0;
};

}  // namespace rooftune

#endif  // ROOFTUNE_STORE_OPENER_H_
