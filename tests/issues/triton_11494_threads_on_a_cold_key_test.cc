// Trigger: threads that meet one cold key clear each other's state; a candidate that multiplies
// itself dead-locks the tuner. Right: one search per key while the others wait or do without, and
// nested use works.
#include "issue_testing.h"

namespace rooftune::testing {
namespace {

constexpr int kThreads = 64;

class Triton11494 : public IssueTest {};

TEST_F(Triton11494, ManyThreadsOnOneColdKey) {
  const Watchdog watchdog{std::chrono::seconds(60)};
  for (const Pending pending : {Pending::wait, Pending::fallback}) {
    Settings settings = default_settings();
    settings.environment = pending == Pending::wait ? "./wait" : "./fallback";
    settings.autotune.pending = pending;
    auto session = open(settings);
    std::atomic<int> tuned{0}, from_memory{0}, fallback{0};
    run_together(kThreads, [&](int) {
      CallReport report;
      EXPECT_EQ(run_product(*session, 60, 70, 50, DType::f32, {}, &report), "");
      if (report.tuned) ++tuned;
      if (report.origin == Origin::memory) ++from_memory;
      if (report.origin == Origin::fallback) ++fallback;
    });
    EXPECT_EQ(tuned, 1);
    EXPECT_EQ(tuned + from_memory + fallback, kThreads);
    if (pending == Pending::wait) {
      EXPECT_EQ(fallback, 0);
    }
  }
}

TEST_F(Triton11494, ManyThreadsOnAsManyColdKeys) {
  const Watchdog watchdog{std::chrono::seconds(120)};
  Settings settings = default_settings();
  settings.autotune.max_samples = 3;
  settings.autotune.budget_s = 100;  // 64 searches in turn: none may end with a part
  auto session = open(settings);
  std::atomic<int> tuned{0};
  // 4 x 4 x 4 sizes that round to different keys.
  const auto size = [](int i) { return std::int64_t{3} << (2 * (i % 4)); };
  run_together(kThreads, [&](int i) {
    CallReport report;
    EXPECT_EQ(run_product(*session, size(i), size(i / 4), size(i / 16), DType::f32, {}, &report),
              "");
    if (report.tuned) ++tuned;
  });
  EXPECT_EQ(tuned, kThreads);
  EXPECT_EQ(session->decisions("matmul").size(), std::size_t(kThreads));
  run_together(kThreads, [&](int i) {
    CallReport report;
    EXPECT_EQ(run_product(*session, size(i), size(i / 4), size(i / 16), DType::f32, {}, &report),
              "");
    EXPECT_EQ(report.origin, Origin::memory);
  });
}

// A product split into two along k, by an operation with a tuner of its own.
struct SplitKey {
  std::int64_t size = 0;
  ROOFTUNE_KEY(anchored(size))
};

struct SplitArgs {
  Session* session = nullptr;
  View lhs, rhs, out;
};

Status split(const SplitArgs& args, int parts) {
  const std::int64_t k = args.lhs.layout.extents[1];
  for (int part = 0; part < parts; ++part) {
    MatmulOptions options;
    options.beta = part == 0 ? 0 : 1;
    const std::int64_t from = k * part / parts, to = k * (part + 1) / parts;
    if (Status done = args.session->matmul(args.lhs.sliced(1, from, to),
                                           args.rhs.sliced(0, from, to), args.out, options);
        !done) {
      return done;
    }
  }
  return {};
}

class SplitTrial final : public Trial<SplitArgs> {
 public:
  explicit SplitTrial(const SplitArgs& args)
      : args_(args),
        scratch_(
            Operand::make(DType::f32, {args.out.layout.extents[0], args.out.layout.extents[1]})) {
    args_.out = scratch_.view;
  }
  const SplitArgs& args() const override { return args_; }
  Status poison(Stream) override {
    scratch_.fill(NAN);
    return {};
  }
  Result<Check> check(Stream) override {
    Check check;
    check.error_bound = 0;
    check.complete = difference(args_.lhs, args_.rhs, args_.out,
                                reference(args_.lhs, args_.rhs, args_.out)) == "";
    return check;
  }
  std::uint64_t scratch_bytes() const override { return scratch_.memory->size(); }

 private:
  SplitArgs args_;
  Operand scratch_;
};

TEST_F(Triton11494, ACandidateThatMultipliesItself) {
  const Watchdog watchdog{std::chrono::seconds(60)};
  static LocalTuner<SplitKey, SplitArgs> tuner{"test.split"};
  auto session = open();
  std::atomic<int> right{0};
  run_together(8, [&](int i) {
    const std::int64_t size = 40 + i % 2 * 60;
    const Operand lhs = Operand::make(DType::f32, {size, size}, 1),
                  rhs = Operand::make(DType::f32, {size, size}, 2),
                  out = Operand::make(DType::f32, {size, size}, 3);
    const SplitArgs args{session.get(), lhs.view, rhs.view, out.view};
    const Status done = tuner.execute(*session, SplitKey{size}, args, [](auto& set) {
      set.inputs([](const SplitKey&, const SplitArgs& own,
                    Stream) -> Result<std::unique_ptr<Trial<SplitArgs>>> {
        return std::make_unique<SplitTrial>(own);
      });
      set.add("whole", [](const SplitArgs& own, Stream) { return split(own, 1); });
      set.add("halves", [](const SplitArgs& own, Stream) { return split(own, 2); });
      set.add("thirds", [](const SplitArgs& own, Stream) { return split(own, 3); });
    });
    ASSERT_TRUE(done) << done.error().text;
    if (difference(lhs.view, rhs.view, out.view, reference(lhs.view, rhs.view, out.view)) == "") {
      ++right;
    }
  });
  EXPECT_EQ(right, 8);
  EXPECT_EQ(session->decisions("test.split").size(), 2u);
}

}  // namespace
}  // namespace rooftune::testing
