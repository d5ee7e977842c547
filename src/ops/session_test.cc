#include "rooftune/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <thread>

#include "base/temp_folder_for_test.h"
#include "rooftune/rooftune.h"
#include "rooftune/tuner.h"

namespace rooftune {

struct OnlyKey {
  std::int64_t size = 0;
  ROOFTUNE_KEY(anchored(size))
};
struct OnlyArgs {
  int* ran;
};

namespace {

using ::testing::HasSubstr;

class SessionTest : public ::testing::Test {
 protected:
  std::unique_ptr<Session> open(const std::string& device = "cpu",
                                const std::string& environment = "local") {
    auto session = Session::open({.device = device,
                                  .environment = environment,
                                  .settings = Settings{},
                                  .folders = {folder_, folder_},
                                  .warn = [this](const std::string& text) { warnings_ += text; }});
    EXPECT_TRUE(session) << session.error().text;
    return session ? *std::move(session) : nullptr;
  }

  TempFolder temp_;
  const std::filesystem::path& folder_ = temp_.path();
  std::string warnings_;
};

// Small whole numbers: every right result is exact.
std::vector<float> whole_numbers(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> values(size);
  for (float& value : values) value = float(int(random() % 9) - 4);
  return values;
}

struct Square {
  explicit Square(std::int64_t size)
      : n(size),
        a(whole_numbers(std::size_t(n * n), 1)),
        b(whole_numbers(std::size_t(n * n), 2)),
        c(std::size_t(n * n), -1),
        right(c.size()) {
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        float sum = 0;
        for (std::int64_t p = 0; p < n; ++p)
          sum += a[std::size_t(i * n + p)] * b[std::size_t(p * n + j)];
        right[std::size_t(i * n + j)] = sum;
      }
    }
  }
  ConstView lhs() const { return view(a.data(), {n, n}); }
  ConstView rhs() const { return view(b.data(), {n, n}); }
  View out() { return view(c.data(), {n, n}); }
  std::int64_t n;
  std::vector<float> a, b, c, right;
};

TEST_F(SessionTest, MultipliesAndRemembers) {
  Square square(48);
  CallReport report;
  {
    auto session = open();
    ASSERT_TRUE(session->matmul(square.lhs(), square.rhs(), square.out(), {.report = &report}));
    EXPECT_EQ(square.c, square.right);
    EXPECT_TRUE(report.tuned);
    for (int call = 0; call < 3; ++call) {
      std::fill(square.c.begin(), square.c.end(), -1);
      ASSERT_TRUE(session->matmul(square.lhs(), square.rhs(), square.out(), {.report = &report}));
      EXPECT_EQ(square.c, square.right);
      EXPECT_EQ(report.origin, Origin::memory);
    }
    EXPECT_EQ(session->decisions("matmul").size(), 1u);
  }
  auto session = open();
  ASSERT_TRUE(session->matmul(square.lhs(), square.rhs(), square.out(), {.report = &report}));
  EXPECT_EQ(report.origin, Origin::store);
  EXPECT_FALSE(report.tuned);
  EXPECT_EQ(warnings_, "");
}

TEST_F(SessionTest, WhatAThreadRemembersOfAProductDoesNotSkipItsChecks) {
  auto session = open();
  Square square(16);
  const auto call = [&](const MatmulOptions& options = {}) {
    return session->matmul(square.lhs(), square.rhs(), square.out(), options);
  };
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(call());
  // The same shapes, but the output lies on an input, or nowhere.
  const Status overlap =
      session->matmul(square.lhs(), square.rhs(), view(square.a.data(), {16, 16}));
  ASSERT_FALSE(overlap);
  EXPECT_EQ(overlap.error().kind, ErrorKind::overlap);
  EXPECT_FALSE(
      session->matmul(square.lhs(), square.rhs(), {nullptr, DType::f32, square.out().layout}));
  // Other values of alpha and beta.
  std::fill(square.c.begin(), square.c.end(), 1);
  ASSERT_TRUE(call({.alpha = 2}));
  for (std::size_t i = 0; i < square.c.size(); ++i) EXPECT_EQ(square.c[i], 2 * square.right[i]);
  for (int i = 0; i < 2; ++i) {
    std::fill(square.c.begin(), square.c.end(), 1);
    ASSERT_TRUE(call({.beta = 3}));
    for (std::size_t at = 0; at < square.c.size(); ++at)
      EXPECT_EQ(square.c[at], square.right[at] + 3);
  }
  ASSERT_TRUE(call({.alpha = 0}));
  EXPECT_EQ(square.c, std::vector<float>(square.c.size(), 0));
  // Another type of the same shape, another policy, a forced candidate.
  std::vector<double> wide(256, 1), product(256);
  ASSERT_TRUE(session->matmul(view(wide.data(), {16, 16}), view(wide.data(), {16, 16}),
                              view(product.data(), {16, 16})));
  EXPECT_EQ(product, std::vector<double>(256, 16));
  EXPECT_TRUE(call({.precision = Precision::medium}));
  EXPECT_FALSE(call({.precision = Precision(9)}));
  CallReport report;
  ASSERT_TRUE(
      call({.strategy = Strategy::named, .candidate = "naive_portable", .report = &report}));
  EXPECT_EQ(report.candidate, "naive_portable");
  EXPECT_EQ(square.c, square.right);
}

TEST_F(SessionTest, ForcingTakesForEveryCandidate) {
  auto session = open();
  Square square(24);
  int ran = 0;
  for (const std::string& name : session->matmul_candidates()) {
    std::fill(square.c.begin(), square.c.end(), -1);
    CallReport report;
    Counters counters;
    session->set_subscriber(&counters);
    const Status done =
        session->matmul(square.lhs(), square.rhs(), square.out(),
                        {.strategy = Strategy::named, .candidate = name, .report = &report});
    session->set_subscriber(nullptr);
    if (!done) {
      EXPECT_EQ(done.error().kind, ErrorKind::illegal) << name;
      continue;
    }
    ++ran;
    EXPECT_EQ(square.c, square.right) << name;
    EXPECT_EQ(report.candidate, name);
    EXPECT_EQ(counters.counts("launch")[name], 1u);
    EXPECT_EQ(counters.total("launch"), 1u) << name;
  }
  EXPECT_GE(ran, 5);
}

TEST_F(SessionTest, UntunedMeasuresAndKeepsNothing) {
  auto session = open();
  Square square(24);
  CallReport report;
  ASSERT_TRUE(session->matmul(square.lhs(), square.rhs(), square.out(),
                              {.strategy = Strategy::untuned, .report = &report}));
  EXPECT_EQ(square.c, square.right);
  EXPECT_FALSE(report.tuned);
  EXPECT_TRUE(session->decisions("matmul").empty());
}

TEST_F(SessionTest, AskingForADecisionMeasuresNothing) {
  auto session = open();
  const Layout layout = *Layout::contiguous(std::vector<std::int64_t>{24, 24});
  const ConstView in{nullptr, DType::f32, layout};
  const View out{nullptr, DType::f32, layout};
  const auto none = session->matmul_decision(in, in, out);
  ASSERT_TRUE(none) << none.error().text;
  EXPECT_FALSE(*none);
  Square square(24);
  ASSERT_TRUE(session->matmul(square.lhs(), square.rhs(), square.out()));
  const auto found = session->matmul_decision(in, in, out);
  ASSERT_TRUE(found && *found);
  EXPECT_FALSE((*found)->winner.empty());
}

TEST_F(SessionTest, TwoSessionsOfOneProcess) {
  auto cpu = open("cpu", "one");
  auto fake = open("fake", "two");
  Square square(32);
  CallReport report;
  ASSERT_TRUE(fake->matmul(square.lhs(), square.rhs(), square.out(), {.report = &report}));
  EXPECT_EQ(square.c, square.right);
  EXPECT_THAT(std::string(report.candidate), HasSubstr("fake"));
  ASSERT_TRUE(cpu->matmul(square.lhs(), square.rhs(), square.out(), {.report = &report}));
  EXPECT_THAT(std::string(report.candidate), ::testing::Not(HasSubstr("fake")));
  // The same shapes in turn: what the thread remembers belongs to one of them.
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(fake->matmul(square.lhs(), square.rhs(), square.out(), {.report = &report}));
    EXPECT_THAT(std::string(report.candidate), HasSubstr("fake"));
    ASSERT_TRUE(cpu->matmul(square.lhs(), square.rhs(), square.out(), {.report = &report}));
    EXPECT_THAT(std::string(report.candidate), ::testing::Not(HasSubstr("fake")));
  }
}

TEST_F(SessionTest, ALocalTunerServesSeveralSessionsAndForgetsDeadOnes) {
  LocalTuner<OnlyKey, OnlyArgs> tuner("test.local");
  int described = 0, ran = 0;
  const auto describe = [&](TunableSet<OnlyKey, OnlyArgs>& set) {
    ++described;
    set.add("only", [](const OnlyArgs& args, Stream) -> Status {
      ++*args.ran;
      return {};
    });
  };
  for (int round = 0; round < 3; ++round) {
    auto session = open();
    for (int call = 0; call < 2; ++call) {
      ASSERT_TRUE(tuner.execute(*session, {5}, {&ran}, describe));
    }
  }
  EXPECT_EQ(described, 3);
  EXPECT_EQ(ran, 6);
}

TEST_F(SessionTest, ANameBelongsToOnePairOfTypes) {
  auto session = open();
  int ran = 0;
  for (const char* name : {"matmul", "sum"}) {
    LocalTuner<OnlyKey, OnlyArgs> tuner(name);
    const Status done = tuner.execute(*session, {5}, {&ran}, [](auto& set) {
      set.add("only", [](const OnlyArgs&, Stream) -> Status { return {}; });
    });
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().kind, ErrorKind::invalid_argument);
    EXPECT_THAT(done.error().text, HasSubstr(name));
  }
}

TEST_F(SessionTest, ScalarsCountInTheTypeOfTheOperands) {
  auto session = open();
  Square square(16);
  for (int call = 0; call < 3; ++call) {
    // 1e-60 is 0 in f32: out is not read, and then lhs and rhs are not.
    std::fill(square.c.begin(), square.c.end(), std::numeric_limits<float>::quiet_NaN());
    ASSERT_TRUE(session->matmul(square.lhs(), square.rhs(), square.out(), {.beta = 1e-60}));
    EXPECT_EQ(square.c, square.right);
  }
  square.a[0] = std::numeric_limits<float>::infinity();
  ASSERT_TRUE(session->matmul(square.lhs(), square.rhs(), square.out(), {.alpha = 1e-60}));
  EXPECT_EQ(square.c, std::vector<float>(square.c.size(), 0));
}

TEST_F(SessionTest, UnknownThingsAreNamed) {
  const auto device =
      Session::open({.device = "cuda:7", .settings = Settings{}, .folders = {folder_, folder_}});
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().kind, ErrorKind::unsupported);
  EXPECT_THAT(device.error().text, HasSubstr("cpu"));
  const auto environment = Session::open(
      {.environment = "../up", .settings = Settings{}, .folders = {folder_, folder_}});
  ASSERT_FALSE(environment);
  EXPECT_EQ(environment.error().kind, ErrorKind::invalid_argument);
  Settings settings;
  settings.threads = 0;
  EXPECT_FALSE(Session::open({.settings = settings, .folders = {folder_, folder_}}));
  settings.threads.reset();
  settings.isa = "avx1024";
  EXPECT_FALSE(Session::open({.settings = settings, .folders = {folder_, folder_}}));
  auto session = open();
  Square square(8);
  const Status unknown =
      session->matmul(square.lhs(), square.rhs(), square.out(),
                      {.strategy = Strategy::named, .candidate = "naive_portabel"});
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().text, HasSubstr("naive_portable"));
}

TEST_F(SessionTest, SettingsAreFoundFromTheCurrentFolder) {
  std::FILE* file = std::fopen((folder_ / "rooftune.toml").c_str(), "w");
  std::fputs("threads = 1\nisa = \"portable\"\n", file);
  std::fclose(file);
  auto session = Session::open({.environment = "local", .folders = {folder_, folder_}});
  ASSERT_TRUE(session) << session.error().text;
  EXPECT_EQ((*session)->client().capabilities().threads, 1);
  EXPECT_FALSE((*session)->client().capabilities().has_feature("isa:avx2"));
  file = std::fopen((folder_ / "rooftune.toml").c_str(), "w");
  std::fputs("treads = 1\n", file);
  std::fclose(file);
  const auto broken = Session::open({.environment = "local", .folders = {folder_, folder_}});
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().kind, ErrorKind::settings);
  EXPECT_THAT(broken.error().text, HasSubstr("threads"));
}

TEST_F(SessionTest, SeveralThreadsHitAndMissTogether) {
  auto session = open();
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 6; ++round) {
        Square square(4 << ((t + round) % 4));
        if (!session->matmul(square.lhs(), square.rhs(), square.out()) ||
            square.c != square.right) {
          ++wrong;
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace rooftune
