#include "store/lease.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace rooftune {
namespace {

// A note is a name or two; what is longer was not written by us.
constexpr std::size_t kLongestNote = std::size_t(1) << 16;

// How often the file may vanish between opening and locking it before that counts as taken.
constexpr int kMostStarts = 8;

// Whether the file under this name is still the one that is open.
bool same_file(int descriptor, const std::filesystem::path& file) {
  struct stat opened {
  }, named{};
  return fstat(descriptor, &opened) == 0 && stat(file.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

}  // namespace

Lease::Lease(std::filesystem::path folder, std::string_view name)
    : folder_(std::move(folder)), file_(folder_ / name) {
  enroll();
}

Lease::~Lease() {
  release();
  leave();
}

void Lease::release() {
  const std::lock_guard lock(mutex_);
  state_ = State::free;
  if (descriptor_ < 0) return;
  // While it is locked: whoever has opened it meanwhile finds that it has no name any more.
  if (same_file(descriptor_, file_)) unlink(file_.c_str());
  flock(descriptor_, LOCK_UN);  // a copy of the process made by clone() would keep it
  close(descriptor_);
  descriptor_ = -1;
}

void Lease::after_fork(ForkSide side) {
  if (side == ForkSide::child && descriptor_ >= 0) {
    close(descriptor_);  // the parent's copy keeps the lock
    descriptor_ = -1;
    state_ = State::free;
  }
  mutex_.unlock();
}

Lease::State Lease::acquire() {
  const std::lock_guard lock(mutex_);
  if (state_ != State::held) state_ = open_and_lock();
  return state_;
}

Lease::State Lease::open_and_lock() {
  for (int starts = 0; starts < kMostStarts; ++starts) {
    const int descriptor = open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (descriptor < 0) {
      if (errno == EINTR) continue;
      if (errno != ENOENT || (mkdir(folder_.c_str(), 0777) != 0 && errno != EEXIST)) {
        return State::unavailable;
      }
      continue;
    }
    if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
      const int error = errno;
      close(descriptor);
      if (error == EINTR) continue;
      return error == EWOULDBLOCK ? State::taken : State::unavailable;
    }
    if (same_file(descriptor, file_)) {
      descriptor_ = descriptor;
      read_note();
      return State::held;
    }
    close(descriptor);
  }
  return State::taken;
}

void Lease::read_note() {
  note_found_.clear();
  std::array<char, 4096> piece{};
  while (note_found_.size() < kLongestNote) {
    const ssize_t got =
        pread(descriptor_, piece.data(), piece.size(), static_cast<off_t>(note_found_.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    note_found_.append(piece.data(), static_cast<std::size_t>(got));
  }
}

void Lease::write_note(std::string_view text) {
  if (descriptor_ < 0) return;
  // Without what an earlier note may have left. One that is not written whole is none: whoever
  // reads it must be able to tell.
  clear_note();
  while (pwrite(descriptor_, text.data(), text.size(), 0) < 0 && errno == EINTR) {
  }
}

void Lease::clear_note() {
  if (descriptor_ < 0) return;
  while (ftruncate(descriptor_, 0) != 0 && errno == EINTR) {
  }
}

}  // namespace rooftune
