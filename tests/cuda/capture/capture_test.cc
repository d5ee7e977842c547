// Products on streams that an application captures into a graph: what is captured runs later, so
// nothing may be measured there, waited for, or allocated in a way that breaks the capture.
#include <gtest/gtest.h>

#include <latch>
#include <random>
#include <thread>

#include "device/cuda/context.h"
#include "device/cuda/driver.h"
#include "matmul_problems.h"
#include "rooftune/session.h"
#include "rooftune/tuner.h"

namespace rooftune {
namespace {

class Capture : public testing::Test {
 protected:
  void SetUp() override {
    Settings settings;
    settings.autotune.cache = false;
    auto opened = Session::open({.device = "cuda:0", .settings = settings});
    if (!opened && (opened.error().kind == ErrorKind::unsupported ||
                    opened.error().kind == ErrorKind::not_found)) {
      GTEST_SKIP() << "cuda:0 is not here: " << opened.error().text;
    }
    ASSERT_TRUE(opened) << opened.error().text;
    session_ = *std::move(opened);
    const auto driver = cuda_driver();
    ASSERT_TRUE(driver);
    driver_ = *driver;
    CUdevice device = 0;
    ASSERT_EQ(driver_->device_get(&device, 0), CUDA_SUCCESS);
    auto context = CudaContext::retain(*driver_, device);
    ASSERT_TRUE(context) << context.error().text;
    context_ = *std::move(context);
    const auto stream = client().create_stream();
    ASSERT_TRUE(stream) << stream.error().text;
    stream_ = *stream;
  }
  void TearDown() override {
    if (session_) client().destroy_stream(stream_);
  }

  Client& client() { return session_->client(); }

  // The graph of what `body` enqueues on the stream, captured in the strictest mode: any thread's
  // call that might synchronise would spoil it.
  template <class Body>
  void capture(Body body, CUgraphExec& graph) {
    const CudaContext::Scope scope(*context_);
    ASSERT_EQ(driver_->begin_capture(native(stream_), CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    body();
    CUgraph captured = nullptr;
    const CUresult ended = driver_->end_capture(native(stream_), &captured);
    ASSERT_EQ(ended, CUDA_SUCCESS) << driver_->describe(ended);
    const CUresult made = driver_->graph_instantiate(&graph, captured, 0);
    driver_->graph_destroy(captured);
    ASSERT_EQ(made, CUDA_SUCCESS) << driver_->describe(made);
  }
  void replay(CUgraphExec graph) {
    const CudaContext::Scope scope(*context_);
    ASSERT_EQ(driver_->graph_launch(graph, native(stream_)), CUDA_SUCCESS);
  }
  void destroy(CUgraphExec graph) {
    const CudaContext::Scope scope(*context_);
    ASSERT_TRUE(client().synchronize(stream_));
    driver_->graph_exec_destroy(graph);
  }

  const CudaDriver* driver_ = nullptr;
  std::shared_ptr<CudaContext> context_;
  std::unique_ptr<Session> session_;
  Stream stream_;
};

// Operands of a product on the device, and what is made of them.
struct OnDevice {
  OnDevice(Client& client, const ProductProblem& problem, std::uint64_t seed)
      : random(seed), product(problem, random) {
    for (auto [place, operand] :
         {std::pair{&a, &product.a()}, {&b, &product.b()}, {&c, &product.c()}}) {
      auto made = DeviceOperand::make(client, {}, *operand);
      EXPECT_TRUE(made) << made.error().text;
      if (made) *place = *std::move(made);
    }
  }
  Status run(Session& session, Stream stream, CallReport& report) const {
    MatmulOptions options;
    options.alpha = product.problem().alpha;
    options.beta = product.problem().beta;
    options.stream = stream;
    options.report = &report;
    return session.matmul(a->view(), b->view(), c->view(), options);
  }
  void expect_made(Client& client, Stream stream) const {
    const auto after = c->read(client, stream);
    ASSERT_TRUE(after) << after.error().text;
    EXPECT_EQ(product.difference(*after), "") << product.problem().text();
  }

  std::mt19937_64 random;
  ProductCase product;
  std::optional<DeviceOperand> a, b, c;
};

// With bulk copies, with operands that are copied to scratch memory first, with k in parts.
std::vector<ProductProblem> problems() {
  constexpr ProductTypes kBf16{DType::bf16, DType::bf16, DType::bf16};
  constexpr ProductTypes kF32{DType::f32, DType::f32, DType::f32};
  constexpr ProductTypes kF64{DType::f64, DType::f64, DType::f64};
  return {{.types = kBf16, .m = 256, .n = 192, .k = 512},
          {.types = kBf16, .m = 515, .n = 333, .k = 1025},
          {.types = kF32, .m = 65, .n = 33, .k = 4096},
          {.types = kF64, .m = 64, .n = 64, .k = 2000}};
}

TEST_F(Capture, AFirstCallIsCapturedUntuned) {
  for (const ProductProblem& problem : problems()) {
    const OnDevice operands(client(), problem, 1);
    CallReport report;
    CUgraphExec graph = nullptr;
    capture(
        [&] {
          const Status done = operands.run(*session_, stream_, report);
          EXPECT_TRUE(done) << done.error().text;
        },
        graph);
    ASSERT_NE(graph, nullptr);
    EXPECT_FALSE(report.tuned);
    EXPECT_EQ(report.origin, Origin::fallback) << problem.text();
    // Captured, and not done.
    const auto before = operands.c->read(client(), stream_);
    ASSERT_TRUE(before);
    EXPECT_EQ(*before, operands.product.c().memory);
    replay(graph);
    operands.expect_made(client(), stream_);
    destroy(graph);
  }
}

TEST_F(Capture, ALaterCallIsCapturedAndReplayed) {
  for (const ProductProblem& problem : problems()) {
    const OnDevice operands(client(), problem, 2);
    CallReport report;
    const Status first = operands.run(*session_, stream_, report);
    ASSERT_TRUE(first) << first.error().text;
    const std::string winner(report.candidate);
    CUgraphExec graph = nullptr;
    capture([&] { EXPECT_TRUE(operands.run(*session_, stream_, report)); }, graph);
    ASSERT_NE(graph, nullptr);
    EXPECT_EQ(report.candidate, winner) << problem.text();
    EXPECT_EQ(report.origin, Origin::memory);
    for (int time = 0; time < 3; ++time) {
      ASSERT_TRUE(operands.c->write(client(), stream_, operands.product.c().memory));
      replay(graph);
      operands.expect_made(client(), stream_);
    }
    destroy(graph);
  }
}

// One thread captures while another's first call measures: neither notices the other.
TEST_F(Capture, AnotherThreadTunesMeanwhile) {
  std::latch capturing(1), tuned(1);
  const OnDevice theirs(client(), problems()[1], 3);
  const auto stream = client().create_stream();
  ASSERT_TRUE(stream);
  std::jthread other([&] {
    capturing.wait();
    CallReport report;
    const Status done = theirs.run(*session_, *stream, report);
    EXPECT_TRUE(done) << done.error().text;
    EXPECT_TRUE(report.tuned);
    tuned.count_down();
  });
  const OnDevice ours(client(), problems()[0], 4);
  CallReport report;
  CUgraphExec graph = nullptr;
  capture(
      [&] {
        capturing.count_down();
        EXPECT_TRUE(ours.run(*session_, stream_, report));
        tuned.wait();
      },
      graph);
  if (!capturing.try_wait()) capturing.count_down();  // no capture began: the other must end too
  ASSERT_NE(graph, nullptr);
  replay(graph);
  ours.expect_made(client(), stream_);
  theirs.expect_made(client(), *stream);
  destroy(graph);
  client().destroy_stream(*stream);
}

}  // namespace
}  // namespace rooftune
