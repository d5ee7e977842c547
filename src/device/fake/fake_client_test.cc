#include "device/fake/fake_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <thread>
#include <vector>

#include "device/fake/runner_for_test.h"

namespace rooftune {
namespace {

using testing::HasSubstr;

struct AddArgs {
  float* out;
  const float* in;
  std::size_t count;
};

Status add_one(const void* args) {
  const auto& [out, in, count] = *static_cast<const AddArgs*>(args);
  for (std::size_t i = 0; i < count; ++i) out[i] = in[i] + 1;
  return {};
}

std::span<std::byte> add_output(const void* args) {
  const auto& [out, in, count] = *static_cast<const AddArgs*>(args);
  return std::as_writable_bytes(std::span(out, count));
}

// --- Results

TEST(FakeOutputTest, KernelsCompute) {
  FakeClient client(script_of("scripted", {.entry = add_one}));
  std::array<float, 8> in{1, 2, 3, 4, 5, 6, 7, 8}, out{};
  AddArgs args{out.data(), in.data(), in.size()};
  for (const auto& [name, entry] : {std::pair{"own code", &add_one}, {"scripted", nullptr}}) {
    out.fill(0);
    Runner a(client, name, entry);
    a.launch.args = &args;
    EXPECT_TRUE(a());
    EXPECT_EQ(out, (std::array<float, 8>{2, 3, 4, 5, 6, 7, 8, 9})) << name;
  }
}

TEST(FakeOutputTest, ErrorsOfTheCodeAreThoseOfTheLaunch) {
  FakeClient client(script_of("a", {.entry = [](const void*) {
                                return Status(fail(ErrorKind::out_of_memory, "no scratch"));
                              }}));
  Runner a(client, "a");
  EXPECT_EQ(kind_of(a()), ErrorKind::out_of_memory);
  EXPECT_EQ(client.launches("a"), 0u);
}

TEST(FakeOutputTest, WrongChangesEveryElement) {
  FakeClient client(
      script_of("a", {.entry = add_one, .output = add_output, .damage = FakeOutput::wrong}));
  std::array<float, 5> in{1, 2, 3, 4, 5}, out{};
  AddArgs args{out.data(), in.data(), in.size()};
  Runner a(client, "a");
  a.launch.args = &args;
  EXPECT_TRUE(a());
  for (std::size_t i = 0; i < out.size(); ++i) EXPECT_GT(std::abs(out[i] - (in[i] + 1)), 0.5f);
}

TEST(FakeOutputTest, PartialLeavesTheEnd) {
  FakeClient client(
      script_of("a", {.entry = add_one, .output = add_output, .damage = FakeOutput::partial}));
  std::array<float, 8> in{1, 2, 3, 4, 5, 6, 7, 8}, out;
  out.fill(-7);
  AddArgs args{out.data(), in.data(), in.size()};
  Runner a(client, "a");
  a.launch.args = &args;
  EXPECT_TRUE(a());
  EXPECT_EQ(out, (std::array<float, 8>{2, 3, 4, 5, 6, 7, -7, -7}));
}

TEST(FakeOutputTest, OutsideIsSeenByTheGuards) {
  FakeClient client(script_of("a", {.damage = FakeOutput::outside}));
  Runner a(client, "a");
  {
    const Buffer buffer = client.allocate(100).value();
    EXPECT_EQ(client.broken_guards(), 0u);
    a.launch.buffers = {&buffer, 1};  // no `output`: the last buffer is taken for it
    EXPECT_TRUE(a());
    EXPECT_EQ(client.broken_guards(), 1u);
  }
  EXPECT_EQ(client.broken_guards(), 1u);  // also after it was freed
}

TEST(FakeOutputTest, DamageWithoutAPlaceIsSaid) {
  FakeClient client(script_of("a", {.damage = FakeOutput::wrong}));
  Runner a(client, "a");
  const Status status = a();
  EXPECT_EQ(kind_of(status), ErrorKind::launch_failed);
  EXPECT_THAT(status.error().text, HasSubstr("script"));
}

// --- Failures

TEST(FakeFailureTest, RefusedLaunchesDoNothing) {
  FakeClient client(script_of(
      "a", {.entry = add_one, .launch_error = Error{ErrorKind::launch_failed, "too many"}}));
  float in = 1, out = 0;
  AddArgs args{&out, &in, 1};
  Runner a(client, "a");
  a.launch.args = &args;
  const double before = client.now_s();
  const Status status = a();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().text, "too many");
  EXPECT_EQ(out, 0);
  EXPECT_EQ(client.now_s(), before);
  EXPECT_EQ(client.launches("a"), 0u);
  EXPECT_EQ(client.counts("a").asked, 1u);
  EXPECT_EQ(kind_of(a.profile()), ErrorKind::launch_failed);
}

TEST(FakeFailureTest, TheNthLaunchFails) {
  FakeClient client(script_of(
      "a",
      {.launch_error = Error{ErrorKind::launch_failed, "now"}, .fails_from = 2, .fails_until = 4}));
  Runner a(client, "a");
  std::string outcome;
  for (int i = 0; i < 6; ++i) outcome += a() ? '+' : '-';
  EXPECT_EQ(outcome, "++--++");
}

TEST(FakeFailureTest, LateErrorsComeOnceWithTheNextWait) {
  FakeClient client(
      script_of("a", {.late_error = Error{ErrorKind::launch_failed, "illegal address"}}));
  const Stream other = client.create_stream().value();
  Runner a(client, "a");
  EXPECT_TRUE(a());
  EXPECT_TRUE(client.synchronize(other));
  EXPECT_EQ(kind_of(client.synchronize({})), ErrorKind::launch_failed);
  EXPECT_TRUE(client.synchronize({}));
  EXPECT_EQ(kind_of(a.profile()), ErrorKind::launch_failed);
  EXPECT_TRUE(a());
  char to = 0, from = 0;
  EXPECT_EQ(kind_of(client.read({}, &to, &from, 1)), ErrorKind::launch_failed);
  EXPECT_TRUE(a());
  const auto event = client.record({}).value();
  EXPECT_EQ(kind_of(client.wait(*event)), ErrorKind::launch_failed);
  EXPECT_TRUE(client.wait(*event));
}

TEST(FakeFailureTest, BuildsFailAfterTheirTime) {
  FakeClient client(
      script_of("a", {.compile_s = 2, .build_error = Error{ErrorKind::build_failed, "line 1"}}));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(kind_of(client.compile(source_of("a"))), ErrorKind::build_failed);
  }
  EXPECT_EQ(client.counts("a").builds, 1u);
  EXPECT_EQ(client.now_s(), 2);
}

TEST(FakeFailureTest, MemoryHasAnEnd) {
  FakeScript script = script_of("a", {.scratch_bytes = 600});
  script.capabilities.memory_bytes = 1000;
  FakeClient client(script);
  Runner a(client, "a");
  EXPECT_TRUE(a());
  Buffer buffer = client.allocate(500).value();
  const Status status = a();
  EXPECT_EQ(kind_of(status), ErrorKind::out_of_memory);
  EXPECT_THAT(status.error().text, HasSubstr("600"));
  const auto more = client.allocate(501);
  EXPECT_EQ(kind_of(more), ErrorKind::out_of_memory);
  EXPECT_THAT(more.error().text, HasSubstr("501"));
  buffer = Buffer();
  EXPECT_TRUE(a());
  EXPECT_TRUE(client.allocate(1000));
  EXPECT_EQ(kind_of(client.allocate(~std::uint64_t{0})), ErrorKind::out_of_memory);
}

TEST(FakeFailureTest, LimitsHold) {
  FakeScript script;
  script.capabilities.max_threads_per_group = 128;
  script.capabilities.shared_memory_bytes = 16384;
  FakeClient client(script);
  Runner a(client, "a");
  a.launch.group_size = {16, 8, 1};
  a.launch.shared_bytes = 16384;
  EXPECT_TRUE(a());
  a.launch.group_size = {16, 8, 2};
  EXPECT_EQ(kind_of(a()), ErrorKind::launch_failed);
  a.launch.group_size = {~0u, ~0u, ~0u};
  EXPECT_EQ(kind_of(a()), ErrorKind::launch_failed);
  a.launch.group_size = {1, 1, 1};
  a.launch.shared_bytes = 16385;
  EXPECT_EQ(kind_of(a()), ErrorKind::launch_failed);
  a.launch.shared_bytes = 0;
  a.launch.groups = {1, 0, 1};
  EXPECT_EQ(kind_of(a()), ErrorKind::launch_failed);
}

TEST(FakeFailureTest, ALostDeviceStaysLost) {
  FakeClient client(script_of("a", {.loses_device_at = 1}));
  Runner a(client, "a"), b(client, "b");
  EXPECT_TRUE(a());
  EXPECT_EQ(kind_of(a()), ErrorKind::device_lost);
  const Status status = b();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::device_lost);
  EXPECT_THAT(status.error().text, HasSubstr("lost"));
  EXPECT_FALSE(b.profile());
  EXPECT_FALSE(client.allocate(1));
  EXPECT_FALSE(client.synchronize({}));
  EXPECT_FALSE(client.create_stream());
  EXPECT_FALSE(client.record({}));
  EXPECT_FALSE(client.compile(source_of("c")));
  EXPECT_FALSE(client.probe_kernel(ProbeKind::launch, DType::f32));
  char byte = 0;
  EXPECT_FALSE(client.read({}, &byte, &byte, 1));
}

TEST(FakeFailureTest, ForeignThingsAreRefused) {
  FakeClient client, other;
  Runner a(client, "a");
  EXPECT_EQ(kind_of(other.launch({}, a.launch)), ErrorKind::launch_failed);
  EXPECT_EQ(kind_of(client.launch({}, Launch{})), ErrorKind::launch_failed);
  EXPECT_EQ(kind_of(a(Stream{77})), ErrorKind::launch_failed);
  const Stream stream = client.create_stream().value();
  EXPECT_TRUE(a(stream));
  client.destroy_stream(stream);
  EXPECT_EQ(kind_of(a(stream)), ErrorKind::launch_failed);
  client.destroy_stream({});  // the default stream stays
  EXPECT_TRUE(a());
}

TEST(FakeMemoryTest, AllocationsAreRefusedWhereTheScriptSaysSo) {
  FakeScript script;
  script.refuses_allocation = [](std::uint64_t index) { return index == 1; };
  FakeClient client(script);
  EXPECT_TRUE(client.allocate(100));
  EXPECT_EQ(kind_of(client.allocate(100)), ErrorKind::out_of_memory);
  EXPECT_TRUE(client.allocate(100));
}

TEST(FakeMemoryTest, RangesThatLeaveABufferAreRefused) {
  FakeClient client;
  const Buffer buffer = client.allocate(100).value();
  auto* const at = static_cast<std::byte*>(buffer.address());
  std::array<std::byte, 300> host{};
  EXPECT_TRUE(client.write({}, at + 60, host.data(), 40));
  EXPECT_TRUE(client.read({}, host.data(), at + 100, 0));
  EXPECT_EQ(kind_of(client.write({}, at + 60, host.data(), 41)), ErrorKind::invalid_argument);
  EXPECT_EQ(kind_of(client.read({}, host.data(), at, 101)), ErrorKind::invalid_argument);
  EXPECT_EQ(kind_of(client.read({}, host.data(), at + 100, 1)), ErrorKind::invalid_argument);
  EXPECT_EQ(kind_of(client.read({}, host.data(), at - 1, 1)), ErrorKind::invalid_argument);
  EXPECT_EQ(kind_of(client.fill({}, at + 1, std::array{std::byte{1}}, 100)),
            ErrorKind::invalid_argument);
  EXPECT_EQ(kind_of(client.write({}, nullptr, host.data(), 1)), ErrorKind::invalid_argument);
  EXPECT_TRUE(client.write({}, host.data() + 1, host.data() + 200, 50));  // the caller's own
  EXPECT_EQ(client.broken_guards(), 0u);
}

// --- Binaries, probes, log, threads

TEST(FakeBinaryTest, SurvivesTheProcess) {
  struct Cache : BinaryCache {
    std::optional<std::string> load(const KernelId&) override { return kept; }
    void save(const KernelId&, std::string_view binary) override { kept = binary; }
    std::optional<std::string> kept;
  } cache;
  const FakeScript script = script_of("a", {.compile_s = 1, .load_s = 0.25});
  for (int process = 0; process < 2; ++process) {
    FakeClient client(script);
    client.set_binary_cache(&cache);
    ASSERT_TRUE(client.compile(source_of("a")));
    EXPECT_EQ(client.now_s(), process == 0 ? 1 : 0.25);
    EXPECT_EQ(client.counts("a").loads, static_cast<std::uint64_t>(process));
  }
  cache.kept = "rubbish";
  FakeClient client(script);
  client.set_binary_cache(&cache);
  ASSERT_TRUE(client.compile(source_of("a")));
  EXPECT_EQ(client.counts("a").builds, 1u);
  EXPECT_NE(cache.kept, "rubbish");
}

TEST(FakeBinaryTest, AheadOfTimeCodeHasNone) {
  struct Cache : BinaryCache {
    std::optional<std::string> load(const KernelId&) override { return {}; }
    void save(const KernelId&, std::string_view) override { ++saves; }
    int saves = 0;
  } cache;
  FakeClient client(script_of("a", {.compile_s = 1, .ahead_of_time = true}));
  client.set_binary_cache(&cache);
  ASSERT_TRUE(client.compile(source_of("a")));
  EXPECT_EQ(client.compilations(), 0u);
  EXPECT_EQ(client.now_s(), 0);
  EXPECT_EQ(cache.saves, 0);
}

double measured_rate(FakeClient& client, ProbeKind kind, ProbeArgs args) {
  const ProbeKernel probe = client.probe_kernel(kind, DType::f32).value();
  Launch launch{.kernel = probe.kernel.get(), .args = &args, .args_bytes = sizeof args};
  launch.groups = probe.groups;
  launch.group_size = probe.group_size;
  const double seconds = client
                             .profile(
                                 {}, [&] { return client.launch({}, launch); }, 1)
                             .value();
  const double work =
      kind == ProbeKind::compute ? probe.operations_per_repeat : static_cast<double>(args.bytes);
  return work * static_cast<double>(args.repeats) / seconds;
}

TEST(FakeProbeTest, ShowTheScriptedRates) {
  FakeScript script;
  script.probes.compute = {{DType::f32, 3e12}};
  script.probes.read = {{1e6, 5e11}, {0, 1e11}};
  FakeClient client(script);
  EXPECT_NEAR(measured_rate(client, ProbeKind::compute, {.repeats = 1'000'000}), 3e12, 3e9);
  EXPECT_NEAR(measured_rate(client, ProbeKind::read, {.bytes = 1'000'000, .repeats = 1'000'000}),
              5e11, 5e8);
  EXPECT_NEAR(measured_rate(client, ProbeKind::read, {.bytes = 1'000'001, .repeats = 1'000'000}),
              1e11, 1e8);
  const auto missing = client.probe_kernel(ProbeKind::matrix, DType::f16);
  EXPECT_EQ(kind_of(missing), ErrorKind::unsupported);
  EXPECT_THAT(missing.error().text, HasSubstr("f16"));
  EXPECT_EQ(kind_of(client.probe_kernel(ProbeKind::compute, DType::f64)), ErrorKind::unsupported);
}

TEST(FakeProbeTest, Lie) {
  FakeScript script;
  script.probes.compute = {{DType::f32, 1e12}};
  const ProbeArgs args{.repeats = 1'000'000};
  script.probes.lies = {{ProbeKind::compute, 0.25}};
  script.probes.lies_until = 1;
  FakeClient low(script);
  EXPECT_NEAR(measured_rate(low, ProbeKind::compute, args), 0.25e12, 1e9);
  EXPECT_NEAR(measured_rate(low, ProbeKind::compute, args), 1e12, 1e9);
  script.probes.lies = {{ProbeKind::compute, 0}};
  FakeClient zero(script);
  EXPECT_EQ(measured_rate(zero, ProbeKind::compute, args), 0);
  script.probes.lies = {{ProbeKind::compute, std::numeric_limits<double>::quiet_NaN()}};
  FakeClient nan(script);
  EXPECT_TRUE(std::isnan(measured_rate(nan, ProbeKind::compute, args)));
}

TEST(FakeProbeTest, FailAsScripted) {
  FakeScript script =
      script_of("probe_copy_f32", {.launch_error = Error{ErrorKind::launch_failed, "no"}});
  script.otherwise.timing = FakeTiming::error;  // is not about probes
  FakeClient client(script);
  EXPECT_GT(measured_rate(client, ProbeKind::compute, {.repeats = 1000}), 0);
  const ProbeKernel probe = client.probe_kernel(ProbeKind::copy, DType::f32).value();
  EXPECT_FALSE(client.launch({}, {.kernel = probe.kernel.get()}));
}

TEST(FakeLogTest, CallsComeInOrder) {
  FakeClient client(script_of("b", {.launch_error = Error{ErrorKind::launch_failed, "no"}}));
  Runner a(client, "a"), b(client, "b");
  client.clear_calls();
  EXPECT_TRUE(a());
  EXPECT_FALSE(b());
  EXPECT_TRUE(client.synchronize({}));
  const std::vector<FakeCall> calls = client.calls();
  ASSERT_EQ(calls.size(), 3u);
  EXPECT_EQ(calls[0].kernel, "a");
  EXPECT_TRUE(calls[0].done);
  EXPECT_GT(calls[0].end_s, calls[0].begin_s);
  EXPECT_EQ(calls[1].kernel, "b");
  EXPECT_FALSE(calls[1].done);
  EXPECT_EQ(calls[2].kind, FakeCallKind::synchronize);
}

TEST(FakeThreadsTest, AGateHoldsALaunchAndNobodyElse) {
  const auto gate = std::make_shared<FakeGate>();
  FakeClient client(script_of("slow", {.launch_gate = gate}));
  Runner slow(client, "slow"), quick(client, "quick");
  std::thread other([&] { EXPECT_TRUE(slow()); });
  ASSERT_TRUE(gate->wait_for_arrivals(1));
  EXPECT_EQ(client.launches("slow"), 0u);
  EXPECT_TRUE(quick());
  gate->open();
  other.join();
  EXPECT_EQ(client.launches("slow"), 1u);
}

TEST(FakeThreadsTest, AGateHoldsABuildAndNobodyElse) {
  const auto gate = std::make_shared<FakeGate>();
  FakeClient client(script_of("slow", {.build_gate = gate}));
  std::thread other([&] { EXPECT_TRUE(client.compile(source_of("slow"))); });
  ASSERT_TRUE(gate->wait_for_arrivals(1));
  EXPECT_TRUE(client.compile(source_of("quick")));
  gate->open();
  other.join();
}

TEST(FakeThreadsTest, ScriptsMayChangeWhileKernelsRun) {
  FakeClient client;
  Runner a(client, "a");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        EXPECT_TRUE(a());
        EXPECT_TRUE(a.profile());
      }
    });
  }
  for (int i = 0; i < 100; ++i) client.set_behaviour("a", {.seconds = 1e-6 * (i + 1)});
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(client.launches("a"), 800u);
}

}  // namespace
}  // namespace rooftune
