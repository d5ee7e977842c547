// SQLite must not be inherited: a child that uses a connection of its parent, or only opens the
// same file while SQLite still counts the parent's locks as its own, can destroy the database.
// Therefore every open database of the process is closed before fork() and opened again, by parent
// and child, when it is next needed.
#ifndef ROOFTUNE_STORE_FORK_GUARD_H_
#define ROOFTUNE_STORE_FORK_GUARD_H_

namespace rooftune {

enum class ForkSide { parent, child };

// Between enroll() and leave(), which the derived class calls when it is complete and before it
// stops being so, the two functions are called around fork(), in the thread that forks. Neither may
// fork, enroll or leave.
class ForkGuard {
 public:
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;

  virtual void before_fork() = 0;
  virtual void after_fork(ForkSide side) = 0;

 protected:
  ForkGuard() = default;
  virtual ~ForkGuard() = default;
  void enroll();
  void leave();
};

}  // namespace rooftune

#endif  // ROOFTUNE_STORE_FORK_GUARD_H_
