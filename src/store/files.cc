#include "store/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <ranges>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#ifdef __linux__
#include <sys/vfs.h>
#endif

#include "fmt/format.h"

namespace rooftune {
namespace {

namespace fs = std::filesystem;

std::string reason_of(int error) { return std::generic_category().message(error); }

void flush_folder(const fs::path& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  fsync(descriptor);
  close(descriptor);
}

bool may_write(const fs::path& path) {
  return faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0;
}

// The target of a link, where SQLite keeps the log beside it; the path itself where there is none.
fs::path resolved(const fs::path& file) {
  std::error_code error;
  fs::path target = fs::canonical(file, error);
  return error ? file : target;
}

std::int64_t nanoseconds(const timespec& time) {
  return std::int64_t(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

std::string time_label() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ", &parts);
  return text.data();
}

}  // namespace

Status create_folders(const fs::path& folder) {
  std::vector<fs::path> missing;
  std::error_code error;
  for (fs::path at = folder; !fs::exists(at, error) && at != at.parent_path();
       at = at.parent_path()) {
    missing.push_back(at);
  }
  for (const fs::path& at : missing | std::views::reverse) {
    if (mkdir(at.c_str(), 0777) == 0) {
      flush_folder(at.parent_path());
    } else if (errno != EEXIST) {
      return fail(ErrorKind::io,
                  fmt::format("The folder {} cannot be made: {}", at.native(), reason_of(errno)));
    }
  }
  if (!fs::is_directory(folder, error)) {
    return fail(ErrorKind::io, fmt::format("{} is not a folder", folder.native()));
  }
  return {};
}

FileStatus file_status(const fs::path& file) {
  struct stat info {};
  if (stat(file.c_str(), &info) != 0) {
    return errno == ENOENT || errno == ENOTDIR ? FileStatus::absent : FileStatus::read_only;
  }
  if (!S_ISREG(info.st_mode)) return FileStatus::not_a_file;
  return may_write(file) && may_write(resolved(file).parent_path()) ? FileStatus::writable
                                                                    : FileStatus::read_only;
}

bool on_network_file_system(const fs::path& folder) {
#ifdef __linux__
  // Numbers from statfs(2). FUSE may be local, but a program cannot tell, and only speed is lost.
  constexpr std::array<std::uint32_t, 13> kShared = {
      0x6969,                              // NFS
      0x517b,     0xff534d42, 0xfe534d42,  // SMB, CIFS, SMB2
      0x01021997,                          // 9P
      0x0bd00bd0, 0x47504653,              // Lustre, GPFS
      0x00c36400, 0x5346414f, 0x6b414653,  // Ceph, AFS (OpenAFS, kernel)
      0x73757245, 0x65735546, 0x19830326   // Coda, FUSE, BeeGFS
  };
  struct statfs info {};
  if (statfs(folder.c_str(), &info) != 0) return false;
  return std::ranges::find(kShared, static_cast<std::uint32_t>(info.f_type)) != kShared.end();
#else
  static_cast<void>(folder);
  return false;
#endif
}

FileStamp stamp_of(const fs::path& database) {
  FileStamp stamp;
  struct stat info {};
  if (stat(database.c_str(), &info) == 0) {
    stamp.inode = info.st_ino;
    stamp.size = info.st_size;
    stamp.changed_ns = nanoseconds(info.st_mtim);
  }
  if (stat((resolved(database).native() + "-wal").c_str(), &info) == 0) {
    stamp.log_size = info.st_size;
    stamp.log_changed_ns = nanoseconds(info.st_mtim);
  }
  return stamp;
}

FolderLock::FolderLock(const fs::path& folder, Kind kind, std::chrono::milliseconds patience)
    : descriptor_(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (descriptor_ >= 0 &&
         flock(descriptor_, (kind == alone ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0 &&
         (errno == EWOULDBLOCK || errno == EINTR) && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

FolderLock::~FolderLock() {
  if (descriptor_ < 0) return;
  flock(descriptor_, LOCK_UN);  // a child made in between would keep the lock with its copy
  close(descriptor_);
}

Result<fs::path> put_aside(const fs::path& database) {
  const std::string stem =
      fmt::format("{}.damaged-{}-{}", database.native(), time_label(), getpid());
  struct stat info {};
  fs::path aside = stem;
  for (int i = 2; lstat(aside.c_str(), &info) == 0; ++i) aside = fmt::format("{}-{}", stem, i);
  if (rename(database.c_str(), aside.c_str()) != 0) {
    return fail(ErrorKind::io,
                fmt::format("{} cannot be renamed: {}", database.native(), reason_of(errno)));
  }
  // The database goes first: a log without its database is discarded by SQLite, but a fresh
  // database must never meet the old one's log half way.
  for (const char* suffix : {"-wal", "-journal", "-shm"}) {
    rename((database.native() + suffix).c_str(), (aside.native() + suffix).c_str());
  }
  flush_folder(database.parent_path());
  return aside;
}

}  // namespace rooftune
