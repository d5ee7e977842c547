// The tuner and threads. Gates of the fake device hold a search in the middle, so that nothing
// here depends on luck.
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "toy_operation.h"

namespace rooftune {
namespace {

using namespace std::chrono_literals;

FakeScript gated(const std::shared_ptr<FakeGate>& gate) {
  FakeScript script = toy_script({{"naive", 1e-3}, {"fast", 1e-4}, {"held", 2e-4}});
  script.kernels["held"].launch_gate = gate;
  return script;
}

Status call(ToyWorld& world, std::int64_t size, CallReport& report) {
  std::vector<float> in(static_cast<std::size_t>(size), 3), out(in.size());
  Status done = world.tuner->execute(anchored_key(ToyKey{size, ""}, Level::balanced),
                                     {in.data(), out.data(), size}, {}, &report);
  if (done && out.back() != 6) return fail(ErrorKind::wrong_result, "not 6");
  return done;
}

TEST(TunerConcurrency, OthersWaitForAKeyThatIsBeingTuned) {
  auto gate = std::make_shared<FakeGate>();
  ToyWorld world(gated(gate), {{"naive"}, {"fast"}, {"held"}});
  CallReport first, second;
  auto tuning = std::async(std::launch::async, [&] { return call(world, 64, first); });
  ASSERT_TRUE(gate->wait_for_arrivals(1));
  auto waiting = std::async(std::launch::async, [&] { return call(world, 64, second); });
  EXPECT_EQ(waiting.wait_for(50ms), std::future_status::timeout);
  gate->open();
  EXPECT_TRUE(tuning.get());
  EXPECT_TRUE(waiting.get());
  EXPECT_TRUE(first.tuned);
  EXPECT_FALSE(second.tuned);
  EXPECT_EQ(second.candidate, "fast");
}

TEST(TunerConcurrency, WithPendingFallbackNobodyWaits) {
  auto gate = std::make_shared<FakeGate>();
  Settings settings;
  settings.autotune.pending = Pending::fallback;
  ToyWorld world(gated(gate), {{"naive"}, {"fast"}, {"held"}}, settings);
  CallReport first, second;
  auto tuning = std::async(std::launch::async, [&] { return call(world, 64, first); });
  ASSERT_TRUE(gate->wait_for_arrivals(1));
  EXPECT_TRUE(call(world, 64, second));
  EXPECT_EQ(second.origin, Origin::fallback);
  EXPECT_EQ(second.candidate, "naive");
  gate->open();
  EXPECT_TRUE(tuning.get());
}

TEST(TunerConcurrency, WaitingIsBounded) {
  auto gate = std::make_shared<FakeGate>();
  Settings settings;
  settings.autotune.pending_timeout_s = 0.05;
  ToyWorld world(gated(gate), {{"naive"}, {"fast"}, {"held"}}, settings);
  CallReport first, second;
  auto tuning = std::async(std::launch::async, [&] { return call(world, 64, first); });
  ASSERT_TRUE(gate->wait_for_arrivals(1));
  EXPECT_TRUE(call(world, 64, second));
  EXPECT_EQ(second.origin, Origin::fallback);
  gate->open();
  EXPECT_TRUE(tuning.get());
}

TEST(TunerConcurrency, AHitNeverWaitsForATuningThread) {
  auto gate = std::make_shared<FakeGate>();
  FakeScript script = gated(gate);
  script.kernels["held"].launch_gate = nullptr;
  ToyWorld world(script, {{"naive"}, {"fast"}, {"held"}});
  CallReport report;
  ASSERT_TRUE(call(world, 64, report));  // this key is known
  FakeBehaviour held = toy(2e-4);
  held.launch_gate = gate;
  world.device->set_behaviour("held", held);
  CallReport tuned;
  auto tuning = std::async(std::launch::async, [&] { return call(world, 1000, tuned); });
  ASSERT_TRUE(gate->wait_for_arrivals(1));
  ASSERT_TRUE(call(world, 64, report));
  EXPECT_EQ(report.origin, Origin::memory);
  gate->open();
  EXPECT_TRUE(tuning.get());
  EXPECT_TRUE(tuned.tuned);
}

TEST(TunerConcurrency, OneDeviceDoesNotBlockAnother) {
  auto gate = std::make_shared<FakeGate>();
  ToyWorld one(gated(gate), {{"naive"}, {"fast"}, {"held"}});
  ToyWorld two(toy_script({{"naive", 1e-3}, {"fast", 1e-4}}), {{"naive"}, {"fast"}});
  CallReport first, second;
  auto tuning = std::async(std::launch::async, [&] { return call(one, 64, first); });
  ASSERT_TRUE(gate->wait_for_arrivals(1));
  EXPECT_TRUE(call(two, 64, second));
  EXPECT_TRUE(second.tuned);
  gate->open();
  EXPECT_TRUE(tuning.get());
}

TEST(TunerConcurrency, ManyThreadsOnOneColdKeyTuneItOnce) {
  ToyWorld world(toy_script({{"naive", 1e-3}, {"fast", 1e-4}, {"medium", 2e-4}}),
                 {{"naive"}, {"fast"}, {"medium"}});
  std::atomic<int> tuned = 0, wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 64; ++t) {
    threads.emplace_back([&] {
      CallReport report;
      if (!call(world, 64, report)) ++wrong;
      if (report.tuned) ++tuned;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(tuned, 1);
  EXPECT_EQ(wrong, 0);
}

TEST(TunerConcurrency, ManyThreadsOnManyKeys) {
  ToyWorld world(toy_script({{"naive", 1e-3}, {"fast", 1e-4}, {"medium", 2e-4}}),
                 {{"naive"}, {"fast"}, {"medium"}});
  std::atomic<int> tuned = 0, wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 32; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 3; ++round) {
        CallReport report;
        if (!call(world, std::int64_t{1} << ((t + round) % 12), report)) ++wrong;
        if (report.tuned) ++tuned;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(tuned, 12);
  EXPECT_EQ(wrong, 0);
}

TEST(TunerConcurrency, NestedUseDoesNotDeadlock) {
  ToyWorld world(toy_script({{"naive", 1e-3}, {"composite", 1e-4}}), {{"naive"}, {"composite"}});
  std::atomic<int> wrong = 0;
  // 64 halves into two of 32 and so on, and at the bottom asks for the key that is being tuned.
  FakeBehaviour composite = toy(1e-4);
  composite.entry = [&](const void* args) -> Status {
    const auto toy_args = *static_cast<const ToyArgs*>(args);
    if (toy_args.size <= 8) return toy_kernel(args);
    const std::int64_t half = toy_args.size / 2;
    for (const std::int64_t begin : {std::int64_t{0}, half}) {
      const ToyArgs part{toy_args.in + begin, toy_args.out + begin, half};
      if (Status done =
              world.tuner->execute(anchored_key(ToyKey{half, ""}, Level::balanced), part, {});
          !done) {
        ++wrong;
        return done;
      }
    }
    return {};
  };
  world.device->set_behaviour("composite", composite);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      CallReport report;
      if (!call(world, 16 << (t % 4), report)) ++wrong;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(TunerConcurrency, SwitchingTheEnvironmentInTheMiddleKeepsResultsRight) {
  ToyWorld world(toy_script({{"naive", 1e-3}, {"fast", 1e-4}}), {{"naive"}, {"fast"}});
  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; !stop || round < 1; ++round) {
        CallReport report;
        if (!call(world, 1 << ((t + round) % 8), report)) ++wrong;
      }
    });
  }
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(world.context->use_environment(i % 2 == 0 ? "other" : "local"));
    std::this_thread::sleep_for(5ms);
  }
  stop = true;
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace rooftune
