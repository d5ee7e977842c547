// Products in the mode "online": on the CPU as they come, on the fake device with kernels that are
// wrong.
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <thread>

#include "base/temp_folder_for_test.h"
#include "device/fake/fake_client.h"
#include "ops/matmul/matmul_set.h"
#include "ops/matmul/problem.h"
#include "rooftune/session.h"
#include "rooftune/tuner.h"

namespace rooftune {
namespace {

Settings online() {
  Settings settings;
  settings.environment = "local";
  settings.autotune.mode = Mode::online;
  settings.autotune.cache = false;
  return settings;
}

// Whole numbers, so that every right result is exact, but for the halves of beta.
struct Operands {
  Operands(std::int64_t rows, std::int64_t cols, std::int64_t terms) : m(rows), n(cols), k(terms) {
    std::mt19937 random(5);
    for (auto* values : {&a, &b, &start}) {
      for (float& value : *values) value = float(int(random() % 9) - 4);
    }
  }
  std::vector<float> right(float beta) const {
    std::vector<float> result = start;
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        float sum = beta * start[std::size_t(i * n + j)];
        for (std::int64_t p = 0; p < k; ++p) {
          sum += a[std::size_t(i * k + p)] * b[std::size_t(p * n + j)];
        }
        result[std::size_t(i * n + j)] = sum;
      }
    }
    return result;
  }
  std::int64_t m, n, k;
  std::vector<float> a = std::vector<float>(std::size_t(m * k));
  std::vector<float> b = std::vector<float>(std::size_t(k * n));
  std::vector<float> start = std::vector<float>(std::size_t(m * n));
};

// How many calls a decision takes depends on when first launches behind them are done.
class UntilDecided {
 public:
  bool goes_on(const CallReport& report) const {
    return report.origin != Origin::memory && std::chrono::steady_clock::now() < end_;
  }

 private:
  const std::chrono::steady_clock::time_point end_ =
      std::chrono::steady_clock::now() + std::chrono::minutes(3);
};

class OnlineMatmul : public testing::TestWithParam<std::array<std::int64_t, 3>> {};

TEST_P(OnlineMatmul, IsRightFromTheFirstCallOnAndDecidesAtLast) {
  TempFolder folder;
  auto session = Session::open({.settings = online(), .folders = {folder.path(), folder.path()}});
  ASSERT_TRUE(session) << session.error().text;
  const auto [m, n, k] = GetParam();
  const Operands operands(m, n, k);
  for (const float beta : {0.f, 0.5f}) {
    const std::vector<float> right = operands.right(beta);
    CallReport report;
    int calls = 0;
    for (const UntilDecided until; until.goes_on(report); ++calls) {
      std::vector<float> c = operands.start;
      const Status done =
          (*session)->matmul(view(operands.a.data(), {m, k}), view(operands.b.data(), {k, n}),
                             view(c.data(), {m, n}), {.beta = beta, .report = &report});
      ASSERT_TRUE(done) << done.error().text;
      ASSERT_EQ(c, right) << report.candidate << " at call " << calls;
    }
    EXPECT_EQ(report.origin, Origin::memory) << "no decision after " << calls << " calls";
  }
  for (const Decision& decision : (*session)->decisions("matmul")) {
    EXPECT_EQ(decision.mode, Mode::online);
    EXPECT_TRUE(decision.verified) << decision.winner;
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, OnlineMatmul,
                         testing::Values(std::array<std::int64_t, 3>{96, 80, 64},
                                         std::array<std::int64_t, 3>{1, 300, 200},
                                         std::array<std::int64_t, 3>{130, 7, 65}));

TEST(OnlineMatmulPacked, IsRightToo) {
  TempFolder folder;
  auto session = Session::open({.settings = online(), .folders = {folder.path(), folder.path()}});
  ASSERT_TRUE(session);
  const Operands operands(40, 48, 56);
  const std::vector<float> right = operands.right(0);
  const auto packed = (*session)->pack_rhs(view(operands.b.data(), {56, 48}));
  ASSERT_TRUE(packed) << packed.error().text;
  CallReport report;
  for (const UntilDecided until; until.goes_on(report);) {
    std::vector<float> c(right.size());
    ASSERT_TRUE((*session)->matmul(view(operands.a.data(), {40, 56}), *packed,
                                   view(c.data(), {40, 48}), {.report = &report}));
    ASSERT_EQ(c, right) << report.candidate;
  }
  EXPECT_EQ(report.origin, Origin::memory);
}

TEST(OnlineMatmulThreads, AllGetRightResults) {
  TempFolder folder;
  auto session = Session::open({.settings = online(), .folders = {folder.path(), folder.path()}});
  ASSERT_TRUE(session);
  const Operands operands(64, 64, 64);
  const std::vector<float> right = operands.right(0);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int call = 0; call < 200; ++call) {
        std::vector<float> c(right.size());
        ASSERT_TRUE((*session)->matmul(view(operands.a.data(), {64, 64}),
                                       view(operands.b.data(), {64, 64}),
                                       view(c.data(), {64, 64})));
        ASSERT_EQ(c, right);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// On the fake device: some of the kernels are wrong.
TEST(OnlineMatmulWrong, AWrongKernelIsNotSeenWhateverBetaIs) {
  for (const float beta : {0.f, 0.5f}) {
    FakeScript script;
    script.capabilities.threads = 1;
    const auto damaged = [&](const char* name, FakeOutput damage) {
      FakeBehaviour& behaviour = script.kernels[name];
      behaviour.seconds = 1e-5;
      behaviour.damage = damage;
      behaviour.output = [](const void* args) {
        const auto& gemm = *static_cast<const GemmArgs*>(args);
        return std::as_writable_bytes(
            std::span(static_cast<float*>(gemm.c), std::size_t(gemm.m * gemm.n)));
      };
    };
    damaged("fake_accelerated", FakeOutput::wrong);
    damaged("fake_accelerated_deep", FakeOutput::partial);
    TempFolder folder;
    const auto client = std::make_shared<FakeClient>(script);
    TuneContext context(client, online(), {folder.path(), folder.path()});
    auto& tuner = static_cast<Tuner<MatmulKey, GemmArgs>&>(
        context.tuner("matmul", [&]() -> std::unique_ptr<TunerBase> {
          return std::make_unique<Tuner<MatmulKey, GemmArgs>>(context, "matmul", &describe_matmul);
        }));
    const Operands operands(32, 32, 32);
    const std::vector<float> right = operands.right(beta);
    CallReport report;
    for (const UntilDecided until; until.goes_on(report);) {
      std::vector<float> c = operands.start;
      MatmulProblem problem;
      ASSERT_TRUE(make_matmul_problem(view(operands.a.data(), {32, 32}),
                                      view(operands.b.data(), {32, 32}), view(c.data(), {32, 32}),
                                      {.beta = beta}, problem));
      ASSERT_TRUE(
          tuner.execute(make_matmul_key(problem, Level::balanced, 1), problem.gemm, {}, &report));
      ASSERT_EQ(c, right) << report.candidate << " with beta = " << beta;
    }
    EXPECT_EQ(report.origin, Origin::memory);
    ASSERT_EQ(tuner.decisions().size(), 1u);
    const Decision decision = tuner.decisions().front();
    EXPECT_EQ(decision.find("fake_accelerated")->verdict, Verdict::wrong);
    EXPECT_EQ(decision.find("fake_accelerated_deep")->verdict, Verdict::wrong);
  }
}

}  // namespace
}  // namespace rooftune
