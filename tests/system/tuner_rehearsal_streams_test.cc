// autotune.mode = "online" where kernels are compiled and work is enqueued on streams: first
// launches are made behind the calls, on a stream of their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "toy_operation.h"

namespace rooftune {
namespace {

using ::testing::HasSubstr;

constexpr double kFast = 1e-5, kSlow = 2e-5, kCheck = 1e-6;
constexpr double kLong = 0.01;

Settings online() {
  Settings settings;
  settings.autotune.mode = Mode::online;
  return settings;
}

FakeScript streams(const std::vector<std::pair<std::string, double>>& kernels) {
  FakeScript script = toy_script(kernels);
  script.capabilities.compiles_at_run_time = true;
  return script;
}

// Knows which streams there are, and on which of them it was asked for events.
class WatchedClient final : public FakeClient {
 public:
  using FakeClient::FakeClient;
  Result<Stream> create_stream() override {
    if (refuses_streams) return fail(ErrorKind::out_of_memory, "no more streams");
    auto made = FakeClient::create_stream();
    const std::lock_guard lock(mutex_);
    if (made) living_.insert(made->native);
    return made;
  }
  void destroy_stream(Stream stream) override {
    FakeClient::destroy_stream(stream);
    const std::lock_guard lock(mutex_);
    living_.erase(stream.native);
  }
  Result<std::unique_ptr<Event>> record(Stream stream) override {
    const std::lock_guard lock(mutex_);
    recorded_.insert(stream.native);
    return FakeClient::record(stream);
  }
  std::set<std::uintptr_t> living() const {
    const std::lock_guard lock(mutex_);
    return living_;
  }
  std::set<std::uintptr_t> recorded() const {
    const std::lock_guard lock(mutex_);
    return recorded_;
  }
  std::atomic<bool> refuses_streams{false};

 private:
  mutable std::mutex mutex_;
  std::set<std::uintptr_t> living_, recorded_;
};

class StreamsWorld : public ToyWorld {
 public:
  StreamsWorld(FakeScript script, const std::vector<ToyCandidate>& candidates,
               const std::filesystem::path& folder = {}, const Settings& settings = online())
      : StreamsWorld(std::make_shared<WatchedClient>(std::move(script)), candidates, folder,
                     settings) {}
  StreamsWorld(const std::shared_ptr<WatchedClient>& on,
               const std::vector<ToyCandidate>& candidates, const std::filesystem::path& folder,
               const Settings& settings)
      : ToyWorld(on, candidates, settings, folder, checking_results(on, kCheck, true)),
        watched(*on),
        stream(*on->create_stream()) {}

  Status call_on_stream() { return call(64, "", stream); }

  // Calls until one is a hit; false when that takes for ever.
  bool decides() {
    const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (std::chrono::steady_clock::now() < until) {
      const Status done = call_on_stream();  // looks at the result
      EXPECT_TRUE(done) << done.error().text;
      if (!done || report.origin == Origin::memory) return done.has_value();
      sampled += report.online ? 1 : 0;
      std::this_thread::yield();
    }
    return false;
  }

  // The streams of a kernel's launches, in their order.
  std::vector<std::uintptr_t> streams_of(const std::string& kernel) const {
    std::vector<std::uintptr_t> all;
    for (const FakeCall& each : device->calls()) {
      if (each.kind == FakeCallKind::launch && each.kernel == kernel) all.push_back(each.stream);
    }
    return all;
  }

  WatchedClient& watched;
  Stream stream;
  int sampled = 0;
};

TEST(RehearsalOnStreams, AllFirstLaunchesButTheFallbacksAreOnAStreamOfTheirOwn) {
  StreamsWorld world(streams({{"naive", kSlow}, {"fast", kFast}, {"medium", 1.2 * kFast}}),
                     {{"naive"}, {"fast"}, {"medium"}});
  ASSERT_TRUE(world.decides());
  EXPECT_EQ(world.report.candidate, "fast");
  for (const std::uintptr_t used : world.streams_of("naive")) EXPECT_EQ(used, world.stream.native);
  for (const char* name : {"fast", "medium"}) {
    const auto used = world.streams_of(name);
    ASSERT_GE(used.size(), 2u) << name;
    EXPECT_NE(used.front(), world.stream.native) << name;
    EXPECT_NE(used.front(), 0u) << name << ": everybody's";
    for (std::size_t i = 1; i < used.size(); ++i) EXPECT_EQ(used[i], world.stream.native) << name;
    EXPECT_TRUE(world.decision().find(name)->verified) << name;
  }
}

TEST(RehearsalOnStreams, NothingIsAskedOfTheStreamOfACall) {
  FakeScript script = streams({{"naive", kSlow}, {"fast", kFast}});
  const auto gate = std::make_shared<FakeGate>();
  script.kernels["fast"].build_gate = gate;
  StreamsWorld world(script, {{"naive"}, {"fast"}});
  for (int call = 0; call < 20; ++call) ASSERT_TRUE(world.call_on_stream());
  const Stream gone = world.stream;
  world.stream = *world.device->create_stream();
  world.device->destroy_stream(gone);
  gate->open();
  ASSERT_TRUE(world.decides());
  EXPECT_EQ(world.report.candidate, "fast");
  EXPECT_THAT(world.watched.recorded(), testing::IsEmpty());
}

TEST(RehearsalOnStreams, CallsGoOnMeanwhile) {
  FakeScript script = streams({{"naive", kSlow}, {"fast", kFast}});
  const auto gate = std::make_shared<FakeGate>();
  script.kernels["fast"].launch_gate = gate;
  StreamsWorld world(script, {{"naive"}, {"fast"}});
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (!gate->wait_for_arrivals(1, 1e-3) && std::chrono::steady_clock::now() < until) {
    ASSERT_TRUE(world.call_on_stream());
  }
  for (int call = 0; call < 50; ++call) {
    ASSERT_TRUE(world.call_on_stream());
    ASSERT_EQ(world.report.candidate, "naive");
  }
  gate->open();
  ASSERT_TRUE(world.decides());
  EXPECT_EQ(world.report.candidate, "fast");
}

TEST(RehearsalOnStreams, AWrongOneNeverTouchesTheOutputOfACall) {
  FakeScript script = streams({{"naive", kSlow}, {"wrong", kFast}, {"outside", kFast}});
  script.kernels["wrong"].damage = FakeOutput::wrong;
  script.kernels["outside"].damage = FakeOutput::outside;
  StreamsWorld world(script, {{"naive"}, {"wrong"}, {"outside"}});
  ASSERT_TRUE(world.decides());
  EXPECT_EQ(world.report.candidate, "naive");
  for (const char* name : {"wrong", "outside"}) {
    EXPECT_EQ(world.device->launches(name), 1u);
    EXPECT_EQ(world.verdict(name), Verdict::wrong);
  }
}

TEST(RehearsalOnStreams, LaunchesThatNobodyVerifiesAreMadeBehindTheCallsAsWell) {
  Settings unverified = online();
  unverified.autotune.verify = false;
  StreamsWorld world(streams({{"naive", kSlow}, {"fast", kFast}}), {{"naive"}, {"fast"}}, {},
                     unverified);
  ASSERT_TRUE(world.decides());
  EXPECT_EQ(world.report.candidate, "fast");
  EXPECT_NE(world.streams_of("fast").front(), world.stream.native);
}

TEST(RehearsalOnStreams, LongProductsHaveNone) {
  StreamsWorld world(streams({{"naive", kLong}, {"fast", kLong / 2}}), {{"naive"}, {"fast"}});
  ASSERT_TRUE(world.decides());
  EXPECT_EQ(world.report.candidate, "fast");
  EXPECT_EQ(world.streams_of("fast").front(), world.stream.native);
}

// Of memory and streams only those of the calls are left.
TEST(RehearsalOnStreams, WhatItHeldIsGivenBackAfterTheDecision) {
  StreamsWorld world(streams({{"naive", kSlow}, {"fast", kFast}}), {{"naive"}, {"fast"}});
  ASSERT_TRUE(world.decides());
  const std::set<std::uintptr_t> callers = {world.stream.native};
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (world.watched.living() != callers && std::chrono::steady_clock::now() < until) {
    std::this_thread::yield();
  }
  EXPECT_EQ(world.watched.living(), callers);
  EXPECT_EQ(world.device->allocated_bytes(), 0u);
}

TEST(RehearsalOnStreams, ASessionThatClosesBeforeTheDecisionGivesItBack) {
  FakeScript script = streams({{"naive", kSlow}, {"fast", kFast}, {"held", kFast}});
  const auto gate = std::make_shared<FakeGate>();
  script.kernels["held"].launch_gate = gate;
  const auto device = std::make_shared<WatchedClient>(script);
  std::thread opener;
  Stream stream;
  {
    StreamsWorld world(device, {{"naive"}, {"fast"}, {"held"}}, {}, online());
    stream = world.stream;
    const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (!gate->wait_for_arrivals(1, 1e-3) && std::chrono::steady_clock::now() < until) {
      ASSERT_TRUE(world.call_on_stream());
    }
    opener = std::thread([gate] { gate->open(); });
  }
  opener.join();
  EXPECT_EQ(device->living(), std::set<std::uintptr_t>{stream.native});
  EXPECT_EQ(device->allocated_bytes(), 0u);
}

TEST(RehearsalOnStreams, WithoutAStreamFirstLaunchesAreCalls) {
  StreamsWorld world(streams({{"naive", kSlow}, {"fast", kFast}}), {{"naive"}, {"fast"}});
  world.watched.refuses_streams = true;
  ASSERT_TRUE(world.decides());
  EXPECT_EQ(world.report.candidate, "fast");
  EXPECT_EQ(world.streams_of("fast").front(), world.stream.native);
  EXPECT_TRUE(world.decision().verified);
}

TEST(RehearsalOnStreams, WithoutMemoryFirstLaunchesAreCalls) {
  FakeScript script = streams({{"naive", kSlow}, {"fast", kFast}});
  script.refuses_allocation = [](std::uint64_t) { return true; };
  StreamsWorld world(script, {{"naive"}, {"fast"}});
  ASSERT_TRUE(world.decides());
  EXPECT_EQ(world.report.candidate, "fast");
  EXPECT_EQ(world.streams_of("fast").front(), world.stream.native);
  EXPECT_TRUE(world.decision().verified);
}

// Calls of one key may differ in what candidates they allow: here in the alignment of the input.
TEST(RehearsalOnStreams, AProblemThatACandidateCannotRunIsNotTheOneItBeginsWith) {
  StreamsWorld world(
      streams({{"naive", kSlow}, {"any", 1.1 * kFast}, {"aligned", kFast}}),
      {{"naive"}, {"any"}, {.name = "aligned", .illegal_because = [](const ToyArgs& args) {
                              const bool good = reinterpret_cast<std::uintptr_t>(args.in) % 64 == 0;
                              return good ? nullptr : "the input is not aligned";
                            }}});
  alignas(64) float in[80], out[64];
  for (std::size_t i = 0; i < 80; ++i) in[i] = float(i) + 1;
  const ToyKey key = anchored_key(ToyKey{64, ""}, Level::balanced);
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  for (int call = 0; world.report.origin != Origin::memory; ++call) {
    ASSERT_LT(std::chrono::steady_clock::now(), until);
    // The first problem is one for all of them, and that of the first rehearsal is not.
    const bool good = call == 0 || world.device->launches("any") > 1;
    const float* const from = good ? in : in + 1;
    ASSERT_TRUE(world.tuner->execute(key, ToyArgs{from, out, 64}, world.stream, &world.report));
    ASSERT_EQ(out[63], 2 * from[63]);
    std::this_thread::yield();
  }
  EXPECT_EQ(world.decision().winner, "aligned");
  EXPECT_EQ(world.streams_of("aligned").front(), world.stream.native) << "a call had it";
}

TEST(RehearsalOnStreams, WhoLosesTheDeviceIsNotTouchedAgain) {
  TempFolder folder;
  FakeScript script = streams({{"naive", kSlow}, {"deadly", kFast}});
  script.kernels["deadly"].loses_device_at = 0;
  {
    StreamsWorld world(script, {{"naive"}, {"deadly"}}, folder.path());
    const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    Status done;
    while (done && std::chrono::steady_clock::now() < until) {
      done = world.call_on_stream();
      std::this_thread::yield();
    }
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().kind, ErrorKind::device_lost) << done.error().text;
  }
  StreamsWorld world(script, {{"naive"}, {"deadly"}}, folder.path());
  ASSERT_TRUE(world.decides());
  EXPECT_EQ(world.report.candidate, "naive");
  EXPECT_EQ(world.device->counts("deadly").asked, 0u);
  EXPECT_THAT(world.decision().find("deadly")->reason, HasSubstr("quarantine"));
}

}  // namespace
}  // namespace rooftune
