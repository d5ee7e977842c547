// Hits beside a thread that tunes: that thread is held in the middle by a gate of the fake device,
// and many others do all their calls before the gate opens. Whoever waited for it would never end.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "toy_operation.h"
#include "tune/context_internals.h"

namespace rooftune {
namespace {

constexpr int kThreads = 32, kKeys = 16;
constexpr double kFirst = 1e-4, kBetter = 5e-5;
// Only a test that fails waits so long.
constexpr double kPatienceS = 120;

// The search ends after the first of these rounds; "later", which is better, is left to steps after
// hits.
const std::vector<ToyCandidate> kRounds = {{"naive", -1}, {"first", 3}, {"held", 3}, {"later", 2}};

FakeScript rounds_script() {
  return toy_script({{"naive", 1e-3}, {"first", kFirst}, {"held", 2 * kFirst}, {"later", kBetter}});
}

Settings settings_with(double background, Mode mode = Mode::measure) {
  Settings settings;
  settings.autotune.cache = false;
  settings.autotune.background = background;
  settings.autotune.mode = mode;
  return settings;
}

std::string key_name(int key) { return "key " + std::to_string(key); }

Status call(Tuner<ToyKey, ToyArgs>& tuner, const std::string& tag, CallReport* report = nullptr) {
  const std::vector<float> in(64, 3);
  std::vector<float> out(in.size());
  Status done = tuner.execute({64, tag}, {in.data(), out.data(), 64}, {}, report);
  if (done && (out.front() != 6 || out.back() != 6)) return fail(ErrorKind::wrong_result, "not 6");
  return done;
}

// Calls of a key until one is a hit.
bool decide(Tuner<ToyKey, ToyArgs>& tuner, const std::string& tag) {
  CallReport report;
  bool good = true;
  while (good && report.origin != Origin::memory) good = call(tuner, tag, &report).has_value();
  return good;
}

// On a thread of its own, whose count of hits begins anew: no step is due so early.
void decide_all(Tuner<ToyKey, ToyArgs>& tuner) {
  std::thread([&tuner] {
    for (int key = 0; key < kKeys; ++key) ASSERT_TRUE(decide(tuner, key_name(key)));
  }).join();
}

// What many threads did that each called all keys in turn, beginning with different ones.
struct Crowd {
  bool all_done = false;  // before patience was at an end
  int not_hits = 0, wrong = 0;
};

// Calls `then` when all are done, or else when patience is at an end.
Crowd call_from_many_threads(Tuner<ToyKey, ToyArgs>& tuner, const std::function<void()>& then) {
  constexpr int kRoundsEach = 20;
  std::atomic<int> not_hits = 0, wrong = 0;
  FakeGate done;
  done.open();
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kRoundsEach * kKeys; ++i) {
        CallReport report;
        if (!call(tuner, key_name((t + i) % kKeys), &report)) ++wrong;
        if (report.origin != Origin::memory || report.tuned) ++not_hits;
      }
      done.arrive_and_wait();
    });
  }
  Crowd crowd;
  crowd.all_done = done.wait_for_arrivals(kThreads, kPatienceS);
  then();
  for (std::thread& thread : threads) thread.join();
  crowd.not_hits = not_hits;
  crowd.wrong = wrong;
  return crowd;
}

// Holds whoever launches this kernel from now on.
std::shared_ptr<FakeGate> close_gate(ToyWorld& world, const std::string& kernel, double seconds) {
  auto gate = std::make_shared<FakeGate>();
  FakeBehaviour behaviour = toy(seconds);
  behaviour.launch_gate = gate;
  world.device->set_behaviour(kernel, behaviour);
  return gate;
}

TEST(HitsBesideTuning, ThirtyTwoThreadsHitSixteenKeysWhileAnotherIsTuned) {
  ToyWorld world(rounds_script(), kRounds, settings_with(0));
  decide_all(*world.tuner);
  const auto gate = close_gate(world, "held", 2 * kFirst);
  auto tuning = std::async(std::launch::async, [&] {
    CallReport report;
    return call(*world.tuner, "fresh", &report).has_value() && report.tuned;
  });
  ASSERT_TRUE(gate->wait_for_arrivals(1, kPatienceS));
  const Crowd crowd = call_from_many_threads(*world.tuner, [&] { gate->open(); });
  EXPECT_TRUE(crowd.all_done);
  EXPECT_EQ(crowd.not_hits, 0);
  EXPECT_EQ(crowd.wrong, 0);
  EXPECT_TRUE(tuning.get());
}

// With so large a share a step is due again and again; none can be made while the device measures.
TEST(HitsBesideTuning, StepsThatAreDueArePutOffWhileAnotherKeyIsTuned) {
  ToyWorld world(rounds_script(), kRounds, settings_with(1));
  decide_all(*world.tuner);
  const auto gate = close_gate(world, "held", 2 * kFirst);
  auto tuning =
      std::async(std::launch::async, [&] { return call(*world.tuner, "fresh").has_value(); });
  ASSERT_TRUE(gate->wait_for_arrivals(1, kPatienceS));
  const Crowd crowd = call_from_many_threads(*world.tuner, [&] {
    EXPECT_EQ(world.device->counts("later").asked, 0u);
    gate->open();
  });
  EXPECT_TRUE(crowd.all_done);
  EXPECT_EQ(crowd.not_hits, 0);
  EXPECT_EQ(crowd.wrong, 0);
  EXPECT_TRUE(tuning.get());
  // And made after.
  for (int i = 0; world.decision(64, key_name(0)).winner != "later"; ++i) {
    ASSERT_LT(i, 1'000'000);
    ASSERT_TRUE(call(*world.tuner, key_name(0)));
  }
}

TEST(HitsBesideTuning, NoHitWaitsForTheStepOfAnotherThreadAndAnotherKey) {
  ToyWorld world(rounds_script(), kRounds, settings_with(1));
  decide_all(*world.tuner);
  const auto gate = close_gate(world, "later", kBetter);
  auto stepping = std::async(std::launch::async, [&] {
    bool good = true;
    while (world.device->counts("later").asked == 0) {
      good = call(*world.tuner, key_name(0)).has_value() && good;
    }
    return good;
  });
  ASSERT_TRUE(gate->wait_for_arrivals(1, kPatienceS));
  const Crowd crowd = call_from_many_threads(*world.tuner, [&] { gate->open(); });
  EXPECT_TRUE(crowd.all_done);
  EXPECT_EQ(crowd.not_hits, 0);
  EXPECT_EQ(crowd.wrong, 0);
  EXPECT_TRUE(stepping.get());
}

TEST(HitsBesideTuning, InTheModeOnlineNobodyWaitsForACallThatIsASample) {
  const auto device = std::make_shared<FakeClient>(rounds_script());
  ToyWorld world(device, kRounds, settings_with(0, Mode::online), {},
                 [&](TunableSet<ToyKey, ToyArgs>& set) {
                   set.result_check([&](const ToyArgs& args, Stream, std::uint64_t) {
                     return Result<std::unique_ptr<ResultCheck>>(
                         std::make_unique<ToyResultCheck>(*device, args, 0));
                   });
                 });
  decide_all(*world.tuner);
  // The first call verifies "first"; a later one is held in the middle of its sample.
  ASSERT_TRUE(call(*world.tuner, "fresh"));
  const auto gate = close_gate(world, "held", 2 * kFirst);
  auto sampling = std::async(std::launch::async, [&] { return decide(*world.tuner, "fresh"); });
  ASSERT_TRUE(gate->wait_for_arrivals(1, kPatienceS));
  // Those who call the key that is being sampled do not wait either.
  FakeGate done;
  done.open();
  std::atomic<int> wrong = 0;
  std::vector<std::thread> same_key;
  for (int t = 0; t < 4; ++t) {
    same_key.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        CallReport report;
        if (!call(*world.tuner, "fresh", &report) || report.tuned) ++wrong;
      }
      done.arrive_and_wait();
    });
  }
  const bool same_key_done = done.wait_for_arrivals(4, kPatienceS);
  const Crowd crowd = call_from_many_threads(*world.tuner, [&] { gate->open(); });
  for (std::thread& thread : same_key) thread.join();
  EXPECT_TRUE(same_key_done);
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(crowd.all_done);
  EXPECT_EQ(crowd.not_hits, 0);
  EXPECT_EQ(crowd.wrong, 0);
  EXPECT_TRUE(sampling.get());
}

// A connection of its own that holds the write lock of a database, as another process would.
class WriteLock {
 public:
  explicit WriteLock(const std::filesystem::path& file) {
    EXPECT_EQ(sqlite3_open(file.c_str(), &handle_), SQLITE_OK);
    sqlite3_busy_timeout(handle_, 60'000);
    EXPECT_EQ(sqlite3_exec(handle_, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  }
  ~WriteLock() { sqlite3_close(handle_); }
  WriteLock(const WriteLock&) = delete;
  WriteLock& operator=(const WriteLock&) = delete;

 private:
  sqlite3* handle_ = nullptr;
};

// Which threads were told that the store is locked: those whose write has waited in vain.
class Warned {
 public:
  Warn sink() {
    return [this](const std::string&) {
      const std::lock_guard lock(mutex_);
      threads_.push_back(std::this_thread::get_id());
    };
  }
  bool has(std::thread::id thread) const {
    const std::lock_guard lock(mutex_);
    return std::find(threads_.begin(), threads_.end(), thread) != threads_.end();
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::thread::id> threads_;
};

TEST(HitsBesideTuning, NoStepWaitsForAnotherProcessThatHasLockedTheStore) {
  TempFolder folder;
  Warned warned;
  Settings settings = settings_with(1);
  settings.autotune.cache = true;
  settings.environment = "local";
  FakeScript script = rounds_script();
  // What is compiled would be written to the store as well; this is about what was measured.
  for (auto& [name, kernel] : script.kernels) kernel.ahead_of_time = true;
  auto device = std::make_shared<FakeClient>(script);
  const Folders folders{folder.path(), folder.path()};
  const auto make = [](TuneContext& context) {
    return std::make_unique<Tuner<ToyKey, ToyArgs>>(context, "toy", describe_toy(kRounds));
  };
  auto context = std::make_unique<TuneContext>(device, settings, folders, warned.sink());
  auto& tuner =
      static_cast<Tuner<ToyKey, ToyArgs>&>(context->tuner("toy", [&] { return make(*context); }));
  decide_all(tuner);
  {
    const WriteLock lock(context->internals().environment()->state().path);
    CallReport report;
    for (int i = 0; report.candidate != "later"; ++i) {
      ASSERT_LT(i, 1'000'000);
      ASSERT_TRUE(call(tuner, key_name(0), &report));
    }
    EXPECT_FALSE(warned.has(std::this_thread::get_id())) << "this thread has waited";
    // Nor do the others, now that somebody waits for the lock.
    EXPECT_TRUE(call_from_many_threads(tuner, [] {}).all_done);
  }
  // What was found is written once it can be, at the latest by the end.
  context.reset();
  TuneContext next(device, settings, folders);
  const auto tuner_of_next = make(next);
  CallReport report;
  ASSERT_TRUE(call(*tuner_of_next, key_name(0), &report));
  EXPECT_EQ(report.origin, Origin::store);
  EXPECT_EQ(report.candidate, "later");
}

}  // namespace
}  // namespace rooftune
