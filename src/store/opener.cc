#include "store/opener.h"

#include <system_error>
#include <utility>

#include "fmt/format.h"
#include "store/files.h"

namespace rooftune {
namespace {

namespace fs = std::filesystem;

// A file that breaks again and again (a failing disk) must not fill the folder with copies.
constexpr int kMostRepairs = 4;

// Stays the same file when the process changes its folder. SQLite keeps its log beside the target
// of a link to a file; any other link is put aside itself, never what it points to.
fs::path fixed(const fs::path& path) {
  if (path.empty()) return path;
  std::error_code error;
  if (fs::is_regular_file(path, error)) {
    fs::path target = fs::canonical(path, error);
    if (!error) return target;
  }
  fs::path absolute = fs::absolute(path, error);
  return error ? path : absolute;
}

std::unexpected<Faulted> look_again(std::string why) {
  return std::unexpected(Faulted{Fault::moved, std::move(why)});
}

}  // namespace

Opener::Opener(const fs::path& path, std::string vfs, std::chrono::milliseconds patience,
               std::function<void(std::string_view, std::string)> warn)
    : path_(fixed(path)), vfs_(std::move(vfs)), patience_(patience), warn_(std::move(warn)) {}

Outcome<Opened> Opener::open() {
  const FileStatus status = file_status(path_);
  if (status == FileStatus::absent) return create();
  if (status == FileStatus::not_a_file) {
    const FolderLock lock(path_.parent_path(), FolderLock::alone, patience_);
    if (file_status(path_) == FileStatus::not_a_file) {
      if (auto aside = move_aside("it is not a file"); !aside) {
        return std::unexpected(aside.error());
      }
    }
    return look_again("it was not a file");
  }
  if (status == FileStatus::read_only || only_read_) {
    return read("the file or its folder cannot be written");
  }
  auto opened = [&] {
    const FolderLock lock(path_.parent_path(), FolderLock::shared, patience_);
    return write(Access::existing);
  }();
  if (opened) return opened;
  switch (opened.error().fault) {
    case Fault::damaged:
      return open_damaged();
    case Fault::read_only:
    case Fault::no_log:
    case Fault::unusable: {
      if (file_status(path_) == FileStatus::absent) return look_again("it was removed");
      auto served = read(opened.error().text);
      return served ? std::move(served) : std::move(opened);
    }
    default:
      return opened;
  }
}

Outcome<Opened> Opener::create() {
  const fs::path folder = path_.parent_path();
  if (const auto made = create_folders(folder); !made) {
    return std::unexpected(Faulted{Fault::unusable, made.error().text});
  }
  // Whoever puts a file aside renames its log as well: no other file may appear in between.
  const FolderLock lock(folder, FolderLock::alone, patience_);
  if (file_status(path_) != FileStatus::absent) return look_again("another process made it");
  return write(Access::create);
}

Outcome<Opened> Opener::open_damaged() {
  // Looks again with the other processes shut out: one of them may have just replaced it.
  const FolderLock lock(path_.parent_path(), FolderLock::alone, patience_);
  auto again = write(Access::existing);
  if (again || again.error().fault != Fault::damaged) return again;
  if (auto aside = move_aside(again.error().text); !aside) return std::unexpected(aside.error());
  return look_again("it was damaged");
}

Outcome<Opened> Opener::write(Access access) {
  Journal journal = Journal::write_ahead;
  std::string why;
  if (no_log_ || on_network_file_system(path_.parent_path())) {
    journal = Journal::rollback;
    why = "the file system has no write-ahead log; a slower journal is used";
  }
  auto database = Database::open(path_, access, journal, vfs_);
  if (!database && database.error().fault == Fault::no_log) {
    why = database.error().text + "; a slower journal is used";
    database = Database::open(path_, Access::existing, Journal::rollback, vfs_);
    if (database) {
      no_log_ = true;
      warn_("journal", why);
    }
  }
  if (!database) return std::unexpected(database.error());
  return Opened{*std::move(database), std::move(why)};
}

Outcome<Opened> Opener::read(const std::string& why) {
  // Beside a process that writes, its shared memory must be used. Where there is none, none may be
  // made: the file is read without.
  std::error_code error;
  if (fs::exists(path_.native() + "-shm", error)) {
    auto live = Database::open(path_, Access::live_read, Journal::write_ahead, "");
    if (!live && live.error().fault == Fault::busy) return std::unexpected(live.error());
    if (live) {
      warn_("read-only", why + "; it is read, and nothing new is remembered in it");
      return Opened{*std::move(live), why};
    }
  }
  auto snapshot = Database::open(path_, Access::snapshot, Journal::write_ahead, "");
  if (!snapshot) return std::unexpected(snapshot.error());
  warn_("read-only", why + "; it is read, and nothing new is remembered in it");
  return Opened{*std::move(snapshot), why};
}

Outcome<void> Opener::repair(std::unique_ptr<Database> database, const std::string& why) {
  const FolderLock lock(path_.parent_path(), FolderLock::alone, patience_);
  const bool moved = database->moved();
  database->keep_log_at_close();
  database.reset();
  return moved ? Outcome<void>{} : move_aside(why);
}

// The caller holds the FolderLock alone.
Outcome<void> Opener::move_aside(const std::string& why) {
  if (++repairs_ > kMostRepairs) {
    return std::unexpected(Faulted{Fault::unusable, "it keeps breaking: " + why});
  }
  const auto aside = put_aside(path_);
  if (!aside) return std::unexpected(Faulted{Fault::unusable, why + "; " + aside.error().text});
  warn_("damaged", fmt::format("{}; it was put aside as {} and a fresh one takes its place", why,
                               aside->filename().native()));
  return {};
}

}  // namespace rooftune
