#include "store/lease.h"

#include <signal.h>

#include "gtest/gtest.h"
#include "store/store_testing.h"

namespace rooftune {
namespace {

namespace fs = std::filesystem;

class Leases : public testing::Test {
 protected:
  ScratchFolder scratch_;
  const fs::path folder_ = scratch_.path() / "default.db.tuning";

  bool file_is_there() const { return fs::exists(folder_ / "key"); }

  // A child that takes the lease, writes the note and dies without giving anything back.
  void die_with_note(const std::string& note) {
    std::fflush(nullptr);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      Lease lease(folder_, "key");
      if (lease.acquire() != Lease::State::held) _exit(1);
      lease.write_note("an earlier and much longer one than the other");
      if (note.empty()) lease.clear_note();
      if (!note.empty()) lease.write_note(note);
      raise(SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
  }
};

TEST_F(Leases, OneHolderAtATimeAlsoInOneProcess) {
  Lease other(folder_, "another key");
  Lease second(folder_, "key");
  {
    Lease first(folder_, "key");
    EXPECT_EQ(first.state(), Lease::State::free);
    EXPECT_EQ(first.acquire(), Lease::State::held);
    EXPECT_EQ(first.acquire(), Lease::State::held) << "asking twice changes nothing";
    EXPECT_EQ(second.acquire(), Lease::State::taken);
    EXPECT_EQ(other.acquire(), Lease::State::held);
    EXPECT_TRUE(file_is_there());
  }
  EXPECT_FALSE(file_is_there());
  EXPECT_EQ(second.acquire(), Lease::State::held);
  EXPECT_EQ(second.note_found(), "");
}

TEST_F(Leases, AreGivenBackBeforeTheirEndAndTakenAgain) {
  Lease first(folder_, "key"), second(folder_, "key");
  for (int turn = 0; turn < 2; ++turn) {
    ASSERT_EQ(first.acquire(), Lease::State::held);
    EXPECT_EQ(second.acquire(), Lease::State::taken);
    first.release();
    EXPECT_EQ(first.state(), Lease::State::free);
    EXPECT_FALSE(file_is_there());
    EXPECT_EQ(second.acquire(), Lease::State::held);
    second.release();
  }
}

TEST_F(Leases, ExcludeOtherProcesses) {
  Lease lease(folder_, "key");
  ASSERT_EQ(lease.acquire(), Lease::State::held);
  EXPECT_TRUE(in_child([&] { EXPECT_EQ(Lease(folder_, "key").acquire(), Lease::State::taken); }));
}

TEST_F(Leases, GoWithTheProcessAndLeaveItsNote) {
  die_with_note("about to run x");
  Lease lease(folder_, "key");
  ASSERT_EQ(lease.acquire(), Lease::State::held);
  EXPECT_EQ(lease.note_found(), "about to run x");
  lease.clear_note();
  EXPECT_EQ(contents(folder_ / "key"), "");
}

TEST_F(Leases, ANoteThatWasClearedIsNotFound) {
  die_with_note("");
  Lease lease(folder_, "key");
  ASSERT_EQ(lease.acquire(), Lease::State::held);
  EXPECT_EQ(lease.note_found(), "");
}

TEST_F(Leases, AChildDoesNotHoldItsParentsLease) {
  auto lease = std::make_unique<Lease>(folder_, "key");
  ASSERT_EQ(lease->acquire(), Lease::State::held);
  lease->write_note("the parent's");
  // The child lives on while the parent gives the lease back, and destroys its copy later.
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::fflush(nullptr);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    close(ends[1]);
    bool right = lease->state() == Lease::State::free;
    lease->write_note("the child's");
    char nothing;
    right = read(ends[0], &nothing, 1) == 0 && right;
    lease.reset();
    _exit(right ? 0 : 1);
  }
  close(ends[0]);
  EXPECT_EQ(contents(folder_ / "key"), "the parent's");
  lease.reset();
  Lease next(folder_, "key");
  EXPECT_EQ(next.acquire(), Lease::State::held);
  close(ends[1]);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_TRUE(file_is_there()) << "the child removed what is another's";
}

TEST_F(Leases, AFileThatLostItsNameIsNotWhatIsLocked) {
  auto lease = std::make_unique<Lease>(folder_, "key");
  ASSERT_EQ(lease->acquire(), Lease::State::held);
  fs::remove(folder_ / "key");
  Lease second(folder_, "key");
  EXPECT_EQ(second.acquire(), Lease::State::held) << "of the new file";
  lease.reset();
  EXPECT_TRUE(file_is_there()) << "the new file is not the first one's to remove";
}

TEST_F(Leases, AreUnavailableWhereNoFileCanBe) {
  EXPECT_EQ(Lease(scratch_.path() / "missing" / "folder", "key").acquire(),
            Lease::State::unavailable);
  write_file(folder_, "not a folder");
  Lease lease(folder_, "key");
  EXPECT_EQ(lease.acquire(), Lease::State::unavailable);
  lease.write_note("goes nowhere");
  lease.clear_note();
}

TEST_F(Leases, AreUnavailableInAFolderOfSomebodyElse) {
  fs::create_directory(folder_);
  chmod(folder_.c_str(), 0555);
  EXPECT_TRUE(in_child(
      [&] { EXPECT_EQ(Lease(folder_, "key").acquire(), Lease::State::unavailable); }, true));
}

}  // namespace
}  // namespace rooftune
