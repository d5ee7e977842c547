// What the store does with files and folders besides SQLite. Nothing here ever opens the database
// file: closing any descriptor of it would drop the locks that SQLite holds for the whole process.
#ifndef ROOFTUNE_STORE_FILES_H_
#define ROOFTUNE_STORE_FILES_H_

#include <chrono>
#include <compare>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "rooftune/error.h"

namespace rooftune {

// Creates `folder` and the folders above it, and has their names on disk before it returns.
Status create_folders(const std::filesystem::path& folder);

enum class FileStatus {
  absent,
  writable,   // a regular file that may be written, in a folder that may be written
  read_only,  // a regular file, but permissions or a mount forbid one or the other
  not_a_file  // a folder, a pipe, a socket, a device
};

// Follows symbolic links; asks with the rights of the effective user.
FileStatus file_status(const std::filesystem::path& file);

// True for NFS, SMB, Lustre and others that several machines may have mounted: the shared memory
// of SQLite's write-ahead log cannot work there, though it seems to.
bool on_network_file_system(const std::filesystem::path& folder);

// Changes whenever the file or the log beside it is written, replaced or removed.
struct FileStamp {
  std::uint64_t inode = 0;
  std::int64_t size = 0, changed_ns = 0, log_size = -1, log_changed_ns = -1;

  auto operator<=>(const FileStamp&) const = default;
};
FileStamp stamp_of(const std::filesystem::path& database);

// Whoever creates the database of a folder or moves it away holds this alone; whoever opens or uses
// it holds it with others. Otherwise a process that has just opened the old file would take the new
// one's log, which has the old one's name, for its own. Waits at most `patience`, then goes on
// without. Where the file system has no such locks it excludes nobody.
class FolderLock {
 public:
  enum Kind { shared, alone };
  FolderLock(const std::filesystem::path& folder, Kind kind, std::chrono::milliseconds patience);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_;
};

// Renames the database to a name of its own beside it, with its log, so that nothing is lost, and
// returns that name. The caller holds the FolderLock alone.
Result<std::filesystem::path> put_aside(const std::filesystem::path& database);

}  // namespace rooftune

#endif  // ROOFTUNE_STORE_FILES_H_
