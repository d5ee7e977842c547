// Trigger: fork when the thread pool exists; the child hangs at its first product, or the parent
// after the child has gone. Right: both go on, with a store that they do not share.
#include "issue_testing.h"

namespace rooftune::testing {
namespace {

class OpenBlas294 : public IssueTest {
 protected:
  // A product of many tasks on two threads.
  static std::string large(Session& session, std::int64_t size = 400) {
    const Operand lhs = Operand::make(DType::f32, {size, size}, 1),
                  rhs = Operand::make(DType::f32, {size, size}, 2),
                  out = Operand::make(DType::f32, {size, size}, 3);
    const Status done = session.matmul(lhs.view, rhs.view, out.view);
    if (!done) return done.error().text;
    const View part = lhs.view.sliced(0, 0, size, 7), to = out.view.sliced(0, 0, size, 7);
    return difference(part, rhs.view, to, reference(part, rhs.view, to));
  }
};

TEST_F(OpenBlas294, ChildThenParent) {
  const Watchdog watchdog{std::chrono::seconds(60)};
  auto session = open();
  ASSERT_EQ(run_product(*session, 7, 7, 7), "");
  ASSERT_EQ(large(*session), "");
  for (int child = 0; child < 3; ++child) {
    EXPECT_TRUE(in_child([&] {
      const Watchdog in_the_child{std::chrono::seconds(50)};
      CallReport report;
      EXPECT_EQ(run_product(*session, 7, 7, 7, DType::f32, {}, &report), "");
      EXPECT_EQ(report.origin, Origin::memory);
      EXPECT_EQ(large(*session), "");
      // A key that nobody has met, another for each child.
      EXPECT_EQ(run_product(*session, 20, 20, 100 << child, DType::f32, {}, &report), "");
      EXPECT_TRUE(report.tuned);
      session.reset();  // the child's copy, whose threads are the parent's
    }));
    EXPECT_EQ(large(*session), "");
    EXPECT_EQ(run_product(*session, 7, 7, 7), "");
  }
  // What the children found is in the store, and the parent's own too.
  CallReport report;
  for (int child = 0; child < 3; ++child) {
    EXPECT_EQ(run_product(*session, 20, 20, 100 << child, DType::f32, {}, &report), "");
    EXPECT_EQ(report.origin, Origin::store);
  }
  EXPECT_EQ(run_product(*session, 300, 20, 10, DType::f32, {}, &report), "");
  EXPECT_TRUE(report.tuned);
  session.reset();
  EXPECT_EQ(sql(database(), "PRAGMA integrity_check"), std::vector<std::string>{"ok"});
  EXPECT_EQ(warnings_.count(), 0u) << PrintToString(warnings_);
}

// Sixteen children at once on a cold store, of a parent whose session has never multiplied.
TEST_F(OpenBlas294, APoolOfChildrenOnAColdStore) {
  const Watchdog watchdog{std::chrono::seconds(60)};
  auto session = open();
  std::fflush(nullptr);
  std::vector<pid_t> children;
  for (int i = 0; i < 16; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      EXPECT_EQ(run_product(*session, 90, 80, 70), "");
      EXPECT_EQ(run_product(*session, 90, 80, 70), "");
      _exit(HasFailure() ? 1 : 0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  CallReport report;
  EXPECT_EQ(run_product(*session, 90, 80, 70, DType::f32, {}, &report), "");
  EXPECT_EQ(report.origin, Origin::store);
}

// Fork in the middle of other threads' products: none of their locks is held for ever in the child.
TEST_F(OpenBlas294, WhileThreadsMultiply) {
  const Watchdog watchdog{std::chrono::seconds(60)};
  auto session = open();
  ASSERT_EQ(large(*session), "");
  std::atomic<bool> stop{false};
  std::vector<std::jthread> others;
  for (int i = 0; i < 3; ++i) {
    others.emplace_back([&] {
      while (!stop) {
        EXPECT_EQ(large(*session), "");
      }
    });
  }
  for (int child = 0; child < 5; ++child) {
    std::fflush(nullptr);
    const pid_t pid = fork();
    if (pid == 0) {
      const std::string wrong = large(*session);
      _exit(wrong.empty() ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
  }
  stop = true;
}

}  // namespace
}  // namespace rooftune::testing
