// The right to do something that only one at a time should do, across sessions and processes, and a
// note that outlives whoever held it.
#ifndef ROOFTUNE_STORE_LEASE_H_
#define ROOFTUNE_STORE_LEASE_H_

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>

#include "store/fork_guard.h"

namespace rooftune {

// A lock on a file of its own: it goes with the process that holds it, however that ends. The
// file is there only while somebody holds the lease, or when its holder died. A child made by
// fork() does not hold its parent's leases.
//
// Where there can be no such file or no lock on it (a folder that cannot be written, a file system
// without locks) the lease is unavailable, which is no error: everybody goes on as if alone.
//
// Used by one thread; other threads may fork meanwhile.
class Lease final : private ForkGuard {
 public:
  enum class State : std::uint8_t {
    free,  // not asked for yet, or given back
    held,
    taken,  // by another process, or by another Lease of this one
    unavailable,
  };

  // Takes nothing yet. The folder is made when it is needed; the one above it must be there.
  Lease(std::filesystem::path folder, std::string_view name);
  // Gives it back, and its file with it.
  ~Lease() override;

  // Tries once, without waiting.
  State acquire();
  // Gives it back before its end; it may be acquired again.
  void release();
  State state() const { return state_; }

  // What the holder before this one had noted when it died; empty when it had not, or did not.
  const std::string& note_found() const { return note_found_; }

  // Survives the end of this process from when it returns, but not that of the machine: it is
  // about what the process is doing. Nothing happens when the lease is not held.
  void write_note(std::string_view text);
  void clear_note();

 private:
  void before_fork() override { mutex_.lock(); }
  void after_fork(ForkSide side) override;
  State open_and_lock();
  void read_note();

  const std::filesystem::path folder_, file_;
  State state_ = State::free;
  std::string note_found_;
  std::mutex mutex_;  // held while the descriptor changes, so that no child gets one unseen
  int descriptor_ = -1;
};

}  // namespace rooftune

#endif  // ROOFTUNE_STORE_LEASE_H_
