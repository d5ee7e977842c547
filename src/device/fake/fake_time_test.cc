// The clock of FakeClient: launches, profile() and events.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <thread>

#include "device/fake/fake_client.h"
#include "device/fake/runner_for_test.h"

namespace rooftune {
namespace {

TEST(FakeTimeTest, LaunchesMoveTheClockAndNothingElseDoes) {
  FakeClient client(script_of("a", {.seconds = 2e-3, .compile_s = 0.5}));
  EXPECT_EQ(client.now_s(), 0);
  Runner a(client, "a");
  EXPECT_DOUBLE_EQ(client.now_s(), 0.5);
  EXPECT_TRUE(a());
  EXPECT_DOUBLE_EQ(client.now_s(), 0.502);
  client.advance(1);
  EXPECT_DOUBLE_EQ(client.now_s(), 1.502);
  client.advance(-1);  // no clock does that
  client.advance(std::numeric_limits<double>::quiet_NaN());
  EXPECT_DOUBLE_EQ(client.now_s(), 1.502);
}

TEST(FakeTimeTest, AClockMayShowWhatIsNotTrue) {
  FakeScript script = script_of("a", {.seconds = 2e-3, .compile_s = 0});
  script.clock_shows = [](double now_s) { return 5 - now_s; };
  FakeClient client(script);
  Runner a(client, "a");
  const auto before = client.record({}).value();
  EXPECT_NEAR(a.profile(1).value(), 2e-3, 1e-12);
  EXPECT_DOUBLE_EQ(client.now_s(), 4.998);
  EXPECT_LT(client.elapsed_s(*before, *client.record({}).value()).value(), 0);
}

TEST(FakeTimeTest, ProfileSumsTheLaunches) {
  FakeClient client(script_of("a", {.seconds = 2e-3}));
  Runner a(client, "a");
  EXPECT_NEAR(a.profile(1).value(), 2e-3, 1e-12);
  EXPECT_NEAR(a.profile(5).value(), 1e-2, 1e-12);
  EXPECT_EQ(client.launches("a"), 6u);
  EXPECT_EQ(client.launches(), 6u);
}

TEST(FakeTimeTest, CompilingInABodyIsNotDeviceTime) {
  FakeClient client(script_of("a", {.seconds = 1e-3, .compile_s = 5}));
  const auto seconds = client.profile(
      {},
      [&]() -> Status {
        Runner a(client, "a");
        return a();
      },
      1);
  EXPECT_NEAR(seconds.value(), 1e-3, 1e-12);
  EXPECT_NEAR(client.now_s(), 5.001, 1e-9);
}

TEST(FakeTimeTest, ProfilesNestAndKeepStreamsApart) {
  FakeClient client(script_of("a", {.seconds = 1e-3}));
  const Stream other = client.create_stream().value();
  Runner a(client, "a");
  double inner = 0, elsewhere = 0;
  const auto outer = client.profile(
      {},
      [&]() -> Status {
        inner += a.profile(2).value();
        elsewhere += a.profile(3, other).value();
        return {};
      },
      2);
  EXPECT_NEAR(outer.value(), 4e-3, 1e-9);
  EXPECT_NEAR(inner, 4e-3, 1e-9);
  EXPECT_NEAR(elsewhere, 6e-3, 1e-9);
}

TEST(FakeTimeTest, OtherThreadsAndDevicesDoNotDisturb) {
  FakeClient client(script_of("a", {.seconds = 1e-3}));
  FakeClient other_device(script_of("a", {.seconds = 7}));
  Runner a(client, "a"), b(other_device, "a");
  const auto seconds = client.profile(
      {},
      [&]() -> Status {
        std::thread([&] { EXPECT_TRUE(a()); }).join();
        if (Status status = b(); !status) return status;
        return a();
      },
      1);
  EXPECT_NEAR(seconds.value(), 1e-3, 1e-9);
}

TEST(FakeTimeTest, TheClockHasSteps) {
  FakeScript script = script_of("a", {.seconds = 0.4e-6});
  script.capabilities.clock_resolution_s = 1e-6;
  FakeClient client(script);
  Runner a(client, "a");
  EXPECT_EQ(kind_of(a.profile(2)), ErrorKind::not_timed);  // 0.8 us: no step
  EXPECT_NEAR(a.profile(5).value(), 2e-6, 1e-12);
  EXPECT_NEAR(a.profile(6).value(), 2e-6, 1e-12);  // 2.4 us

  script.clock_step_s = 1e-3;  // coarser than it says
  FakeClient liar(script);
  Runner b(liar, "a");
  EXPECT_EQ(kind_of(b.profile(1000)), ErrorKind::not_timed);
  EXPECT_NEAR(b.profile(2600).value(), 1e-3, 1e-9);
}

TEST(FakeTimeTest, TimeMayFollowFromTheLaunch) {
  FakeClient client(script_of("a", {.seconds_of = [](const FakeLaunch& launch) {
                                return launch.groups.x * 1e-3 + (launch.index == 0 ? 1 : 0);
                              }}));
  Runner a(client, "a");
  a.launch.groups.x = 5;
  EXPECT_NEAR(a.profile().value(), 1.005, 1e-9);
  EXPECT_NEAR(a.profile().value(), 0.005, 1e-9);
}

TEST(FakeTimeTest, NoiseIsRepeatable) {
  const FakeScript script = script_of("a", {.noise = {.sigma = 0.1}});
  FakeClient one(script), two(script);
  Runner a(one, "a"), b(two, "a");
  ASSERT_TRUE(two.compile(source_of("other")));
  std::set<double> seen;
  for (int i = 0; i < 20; ++i) {
    const double seconds = a.profile().value();
    EXPECT_EQ(seconds, b.profile().value());
    seen.insert(seconds);
  }
  EXPECT_GT(seen.size(), 15u);
}

TEST(FakeTimeTest, DriftIsThatOfTheVirtualClock) {
  FakeScript script = script_of("a", {.seconds = 1e-3});
  script.drift = rising_drift(2, 10);
  FakeClient client(script);
  Runner a(client, "a");
  EXPECT_NEAR(a.profile().value(), 1e-3, 1e-6);
  client.advance(100);
  EXPECT_NEAR(a.profile().value(), 2e-3, 1e-6);
}

TEST(FakeTimeTest, HangingTakesNoRealTime) {
  FakeClient client(script_of("a", {.seconds = 1e4}));
  Runner a(client, "a");
  EXPECT_NEAR(a.profile().value(), 1e4, 1e-3);
  EXPECT_GE(client.now_s(), 1e4);
}

TEST(FakeTimeTest, EveryWayNotToBeTimed) {
  FakeClient client;
  Runner a(client, "a");
  const auto profile = [&](FakeTiming timing) {
    client.set_behaviour("a", {.timing = timing});
    return a.profile();
  };
  EXPECT_GT(profile(FakeTiming::honest).value(), 0);
  EXPECT_EQ(kind_of(profile(FakeTiming::stands_still)), ErrorKind::not_timed);
  EXPECT_EQ(kind_of(profile(FakeTiming::error)), ErrorKind::not_timed);
  EXPECT_EQ(profile(FakeTiming::zero).value(), 0);
  EXPECT_LT(profile(FakeTiming::negative).value(), 0);
  EXPECT_TRUE(std::isnan(profile(FakeTiming::nan).value()));
  EXPECT_TRUE(std::isinf(profile(FakeTiming::infinite).value()));
  const double before = client.now_s();
  EXPECT_EQ(kind_of(profile(FakeTiming::stands_still)), ErrorKind::not_timed);
  EXPECT_GT(client.now_s(), before);  // budgets still run out
}

TEST(FakeTimeTest, ScriptedTimesThatAreNoTimesLeaveTheClockAlone) {
  for (const double seconds : {-1.0, 0.0, std::numeric_limits<double>::quiet_NaN(),
                               std::numeric_limits<double>::infinity()}) {
    FakeClient client(script_of("a", {.seconds = seconds, .compile_s = 0}));
    Runner a(client, "a");
    EXPECT_EQ(kind_of(a.profile()), ErrorKind::not_timed) << seconds;
    EXPECT_EQ(client.now_s(), 0) << seconds;
  }
}

TEST(FakeTimeTest, ProfileRefusesNonsense) {
  FakeClient client;
  Runner a(client, "a");
  EXPECT_EQ(kind_of(a.profile(0)), ErrorKind::invalid_argument);
  EXPECT_EQ(kind_of(a.profile(-3)), ErrorKind::invalid_argument);
  EXPECT_EQ(client.launches(), 0u);
  EXPECT_EQ(kind_of(client.profile(
                {}, [] { return Status(); }, 1)),
            ErrorKind::not_timed);
  const auto failed = client.profile(
      {}, [] { return Status(fail(ErrorKind::illegal, "mine")); }, 1);
  EXPECT_EQ(kind_of(failed), ErrorKind::illegal);
  EXPECT_TRUE(a.profile());  // a failed body leaves no frame behind
}

TEST(FakeTimeTest, EventsAndTransfersTellTheClock) {
  FakeScript script = script_of("a", {.seconds = 1e-3});
  script.transfer_bytes_per_s = 1e6;
  FakeClient client(script);
  Runner a(client, "a");
  const auto begin = client.record({}).value();
  EXPECT_TRUE(a());
  const auto middle = client.record({}).value();
  std::array<std::byte, 1000> bytes;
  EXPECT_TRUE(client.fill({}, bytes.data(), std::array{std::byte{1}}, bytes.size()));
  const auto end = client.record({}).value();
  EXPECT_NEAR(client.elapsed_s(*begin, *middle).value(), 1e-3, 1e-9);
  EXPECT_NEAR(client.elapsed_s(*middle, *end).value(), 1e-3, 1e-9);
  EXPECT_EQ(kind_of(client.elapsed_s(*begin, Event())), ErrorKind::invalid_argument);
  EXPECT_EQ(kind_of(client.wait(Event())), ErrorKind::invalid_argument);
}

}  // namespace
}  // namespace rooftune
