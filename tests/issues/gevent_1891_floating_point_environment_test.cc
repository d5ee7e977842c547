// Trigger: a library sets the process to flush subnormals, or its kernels flush them whatever the
// mode. Right: the environment of the caller stays as it was and is respected; subnormals are kept.
#include <cfenv>

#include "device/cpu/fp_environment.h"
#include "issue_testing.h"

namespace rooftune::testing {
namespace {

class Gevent1891 : public IssueTest {
 protected:
  void TearDown() override {
    // fesetround() changes the rules of the older unit too, which the C library goes by.
    std::fesetround(FE_TONEAREST);
    set_fp_control(before_);
  }
  const FpControl before_ = fp_control();
};

TEST_F(Gevent1891, TheCallersRulesStay) {
  auto session = open();
  EXPECT_EQ(fp_control(), before_);
  EXPECT_EQ(run_product(*session, 60, 70, 80), "");
  EXPECT_EQ(fp_control(), before_);
  EXPECT_EQ(run_product(*session, 60, 70, 80), "");
  EXPECT_EQ(fp_control(), before_);
  std::jthread([&] {
    const FpControl mine = fp_control();
    EXPECT_EQ(run_product(*session, 300, 310, 320), "");
    EXPECT_EQ(fp_control(), mine);
  }).join();
  session.reset();
  EXPECT_EQ(fp_control(), before_);
}

// Products of 1e-40 with 1 and with 0.5, on every thread of a large one.
TEST_F(Gevent1891, SubnormalsAreKept) {
  auto session = open();
  const float tiny = 1e-40f;
  ASSERT_EQ(std::fpclassify(tiny), FP_SUBNORMAL);
  std::vector<std::string> names = session->matmul_candidates();
  names.push_back("");  // tuned
  for (const std::string& name : names) {
    MatmulOptions options;
    if (!name.empty()) {
      options.strategy = Strategy::named;
      options.candidate = name;
    }
    for (const auto& [m, n, k] :
         {std::array{40, 36, 1}, {300, 300, 16}, {1, 500, 16}, {500, 1, 16}, {60, 60, 60}}) {
      const Operand lhs = Operand::make(DType::f32, {m, k}).fill(0);
      for (std::int64_t i = 0; i < m; ++i) lhs.set_flat(i * k + i % k, tiny);
      const Operand rhs = Operand::make(DType::f32, {k, n}).fill(1);
      const Operand out = Operand::make(DType::f32, {m, n});
      const Status done = session->matmul(lhs.view, rhs.view, out.view, options);
      if (!done && done.error().kind == ErrorKind::illegal) continue;
      ASSERT_TRUE(done) << done.error().text;
      for (std::int64_t i = 0; i < m * n; ++i) {
        ASSERT_EQ(out.flat(i), double(tiny)) << name << " " << m << " " << n << " " << k;
      }
    }
  }
}

#if defined(__x86_64__)
constexpr FpControl kFlush = 0x8040;  // flush to zero, and denormals are zero

// A caller that flushes gets either, and keeps flushing; nobody else does.
TEST_F(Gevent1891, ACallerThatFlushes) {
  auto session = open();
  set_fp_control(before_ | kFlush);
  const FpControl mine = fp_control();
  EXPECT_EQ(run_product(*session, 50, 60, 70), "");
  EXPECT_EQ(run_product(*session, 50, 60, 70), "");
  EXPECT_EQ(fp_control(), mine);
  const Operand lhs = Operand::make(DType::f32, {300, 300}).fill(0),
                rhs = Operand::make(DType::f32, {300, 300}).fill(1),
                out = Operand::make(DType::f32, {300, 300});
  lhs.set_flat(0, 1e-40);
  ASSERT_TRUE(session->matmul(lhs.view, rhs.view, out.view));
  EXPECT_EQ(fp_control(), mine);
  set_fp_control(before_);
  // Workers that served it flush no longer: every row, so that each has its share.
  const Operand kept = Operand::make(DType::f32, {300, 300}).fill(0);
  const float tiny = 1e-40f;
  for (std::int64_t i = 0; i < 300; ++i) kept.set_flat(i * 301, tiny);
  for (int call = 0; call < 3; ++call) {
    ASSERT_TRUE(session->matmul(kept.view, rhs.view, out.view));
    for (std::int64_t i = 0; i < 300 * 300; ++i) ASSERT_EQ(out.flat(i), double(tiny));
  }
}

// Sums that are not exact come out below the true value, on every thread, for a caller that rounds
// toward zero; the verification crowns and refuses nobody for it.
TEST_F(Gevent1891, ACallerThatRoundsTowardZero) {
  auto session = open();
  constexpr std::int64_t kSize = 200;
  const Operand lhs = Operand::make(DType::f32, {kSize, kSize}),
                rhs = Operand::make(DType::f32, {kSize, kSize}),
                out = Operand::make(DType::f32, {kSize, kSize});
  for (std::int64_t i = 0; i < kSize * kSize; ++i) {
    lhs.set_flat(i, double(lhs.flat(i) + 5) / 7);
    rhs.set_flat(i, double(rhs.flat(i) + 5) / 3);
  }
  const auto exact = reference(lhs.view, rhs.view, out.view);
  ASSERT_EQ(std::fesetround(FE_TOWARDZERO), 0);
  const FpControl mine = fp_control();
  for (int call = 0; call < 2; ++call) {
    ASSERT_TRUE(session->matmul(lhs.view, rhs.view, out.view));
    EXPECT_EQ(fp_control(), mine);
  }
  set_fp_control(before_);
  for (std::int64_t i = 0; i < kSize * kSize; ++i) {
    const double want = exact[std::size_t(i)];
    ASSERT_LE(out.flat(i), want);
    ASSERT_GE(out.flat(i), want * (1 - 1e-4));
  }
  const auto decision = session->matmul_decision(lhs.view, rhs.view, out.view).value().value();
  for (const CandidateEvidence& candidate : decision.candidates) {
    EXPECT_NE(candidate.verdict, Verdict::wrong) << candidate.name << ": " << candidate.reason;
  }
  // And the next one rounds to nearest again.
  EXPECT_EQ(fp_control(), before_);
  EXPECT_EQ(run_product(*session, kSize, kSize, kSize), "");
}
#endif

// Traps are a rule of the caller too: a product of NaN and of rounding raises none of its own.
TEST_F(Gevent1891, ACallerThatTraps) {
  const bool survived = in_child([&] {
    auto session = open();
    ASSERT_EQ(run_product(*session, 40, 40, 40), "");
    ASSERT_EQ(run_product(*session, 1, 40, 40), "");
    feenableexcept(FE_DIVBYZERO | FE_OVERFLOW);
    EXPECT_EQ(run_product(*session, 40, 40, 40), "");
    EXPECT_EQ(run_product(*session, 1, 40, 40), "");
    EXPECT_EQ(run_product(*session, 80, 40, 40), "");
  });
  EXPECT_TRUE(survived);
}

}  // namespace
}  // namespace rooftune::testing
