// How rows of launches are timed, on the stub of the driver: what that asks of the driver, and what
// happens where a stream cannot be held back.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>

#include "device/cuda/client.h"

namespace rooftune {
namespace {

// Who asks for a library of this name later is given the one that is loaded already.
void* load_stub(const char* name) {
  const std::string path = std::string(STUB_FOLDER "/whole/") + name;
  return dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
}

class CudaProfile : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    setenv("STUB_CUDA", "works", 1);
    void* const driver = load_stub("libcuda.so.1");
    ASSERT_NE(driver, nullptr) << dlerror();
    ASSERT_NE(load_stub("libnvrtc.so.13"), nullptr) << dlerror();
    stub_calls = reinterpret_cast<std::uint64_t (*)(const char*)>(dlsym(driver, "stub_calls"));
    ASSERT_NE(stub_calls, nullptr);
  }
  void SetUp() override {
    auto client = CudaClient::make(0);
    ASSERT_TRUE(client) << client.error().text;
    client_ = *std::move(client);
    auto kernel = client_->compile({.id = {"any", "1", ""}, .text = "any", .options = {}});
    ASSERT_TRUE(kernel) << kernel.error().text;
    kernel_ = *std::move(kernel);
    const auto stream = client_->create_stream();
    ASSERT_TRUE(stream);
    stream_ = *stream;
    // What holds a stream back is built by another thread, and until it is there rows are graphs.
    const auto begin = std::chrono::steady_clock::now();
    for (std::uint64_t graphs = ~std::uint64_t{0}; graphs > 0;) {
      ASSERT_LT(std::chrono::steady_clock::now() - begin, std::chrono::minutes(1));
      const Calls calls("cuGraphLaunch");
      ASSERT_TRUE(row(2));
      graphs = calls.since();
      std::this_thread::yield();
    }
  }
  void TearDown() override { client_->destroy_stream(stream_); }

  // Calls of a function of the driver from now on.
  class Calls {
   public:
    explicit Calls(const char* function) : function_(function), before_(stub_calls(function)) {}
    std::uint64_t since() const { return stub_calls(function_) - before_; }

   private:
    const char* const function_;
    const std::uint64_t before_;
  };

  Status launch() {
    ++bodies_;
    Launch launch;
    launch.kernel = kernel_.get();
    launch.group_size.x = 32;
    return client_->launch(stream_, launch);
  }
  Result<double> row(int repeats) {
    return client_->profile(
        stream_, [this] { return launch(); }, repeats);
  }

  static std::uint64_t (*stub_calls)(const char* function);
  std::shared_ptr<CudaClient> client_;
  std::shared_ptr<const Kernel> kernel_;
  Stream stream_;
  int bodies_ = 0;
};
std::uint64_t (*CudaProfile::stub_calls)(const char* function) = nullptr;

TEST_F(CudaProfile, ARowTakesTwoEventsALaunchAndAWaitMore) {
  const Calls launches("cuLaunchKernel"), graphs("cuGraphInstantiate"),
      captures("cuStreamBeginCapture"), made("cuEventCreate"), destroyed("cuEventDestroy"),
      memory("cuMemHostAlloc"), recorded("cuEventRecord"), waits("cuEventSynchronize"),
      others("cuStreamSynchronize"), times("cuEventElapsedTime");
  bodies_ = 0;
  ASSERT_TRUE(row(10));
  EXPECT_EQ(bodies_, 10);
  EXPECT_EQ(launches.since(), 11u);
  EXPECT_EQ(recorded.since(), 2u);
  EXPECT_EQ(waits.since(), 1u);
  EXPECT_EQ(times.since(), 1u);
  for (const Calls* none : {&graphs, &captures, &made, &destroyed, &memory, &others}) {
    EXPECT_EQ(none->since(), 0u);
  }
}

TEST_F(CudaProfile, OneLaunchAndTheDefaultStreamAreNotHeld) {
  const Calls launches("cuLaunchKernel");
  ASSERT_TRUE(row(1));
  EXPECT_EQ(launches.since(), 1u);
  ASSERT_TRUE(client_->profile(
      {}, [this] { return launch(); }, 3));
  EXPECT_EQ(launches.since(), 4u);
}

TEST_F(CudaProfile, LongRowsAreGraphs) {
  const Calls graphs("cuGraphLaunch");
  bodies_ = 0;
  ASSERT_TRUE(row(129));
  EXPECT_EQ(graphs.since(), 1u);
  EXPECT_EQ(bodies_, 129);
}

// A body that waits for the stream would wait for itself: the hold ends by its own clock, and the
// row is done again without one, as are those after it for a while.
TEST_F(CudaProfile, ABodyThatSynchronises) {
  const auto waiting_row = [this] {
    return client_->profile(
        stream_,
        [this] {
          Status done = launch();
          return done ? client_->synchronize(stream_) : done;
        },
        2);
  };
  const Calls graphs("cuGraphLaunch");
  bodies_ = 0;
  ASSERT_TRUE(waiting_row());
  EXPECT_EQ(bodies_, 4);
  EXPECT_EQ(graphs.since(), 1u);
  for (int i = 0; i < 16; ++i) ASSERT_TRUE(row(2));
  EXPECT_EQ(graphs.since(), 17u);
  ASSERT_TRUE(row(2));
  EXPECT_EQ(graphs.since(), 17u) << "held again";
  // Who is late twice does without for longer, unless a row went well between.
  ASSERT_TRUE(waiting_row());
  for (int i = 0; i < 16; ++i) ASSERT_TRUE(row(2));
  ASSERT_TRUE(waiting_row());
  for (int i = 0; i < 32; ++i) ASSERT_TRUE(row(2));
  EXPECT_EQ(graphs.since(), 17u + 1 + 16 + 1 + 32);
}

TEST_F(CudaProfile, ABodyThatFailsLetsGo) {
  const Calls waits("cuStreamSynchronize");
  const auto failed = client_->profile(
      stream_, [] { return Status(fail(ErrorKind::launch_failed, "no")); }, 2);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().text, "no");
  EXPECT_EQ(waits.since(), 1u) << "while the device may look at what the timer has";
  const Calls graphs("cuGraphLaunch");
  ASSERT_TRUE(row(2));
  EXPECT_EQ(graphs.since(), 0u) << "nobody was late";
}

TEST_F(CudaProfile, EachThreadHasATimer) {
  ASSERT_TRUE(client_->profile(
      stream_,
      [this] {
        const auto other = client_->create_stream();
        EXPECT_TRUE(other);
        const Calls made("cuEventCreate");
        EXPECT_TRUE(client_->profile(
            *other, [this] { return launch(); }, 1));
        EXPECT_EQ(made.since(), 2u) << "those of the outer one are in use";
        client_->destroy_stream(*other);
        return launch();
      },
      1));
  const Calls made("cuEventCreate");
  ASSERT_TRUE(row(1));
  EXPECT_EQ(made.since(), 0u);
}

}  // namespace
}  // namespace rooftune
