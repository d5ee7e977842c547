#include "device_conformance.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <set>
#include <thread>
#include <vector>

namespace rooftune {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DeviceConformance);

void DeviceConformance::SetUp() {
  Result<std::shared_ptr<Client>> opened = GetParam().open();
  if (!opened && (opened.error().kind == ErrorKind::unsupported ||
                  opened.error().kind == ErrorKind::not_found)) {
    GTEST_SKIP() << GetParam().name << " is not here: " << opened.error().text;
  }
  ASSERT_TRUE(opened) << opened.error().text;
  client_ = *std::move(opened);
}

Status DeviceConformance::launch_fold(const Kernel& kernel, Stream stream, const Buffer& cell,
                                      std::uint64_t value, std::uint64_t rounds) {
  FoldArgs args{static_cast<std::uint64_t*>(cell.address()), value, rounds};
  Launch launch;
  launch.kernel = &kernel;
  launch.args = &args;
  launch.args_bytes = sizeof args;
  launch.buffers = {&cell, 1};
  Status status = client().launch(stream, launch);
  args = {};  // launch() has taken what it needs
  return status;
}

Result<Buffer> DeviceConformance::make_cell(std::uint64_t value) {
  Result<Buffer> cell = client().allocate(sizeof value);
  if (!cell) return cell;
  if (Status s = client().write({}, cell->address(), &value, sizeof value); !s) {
    return std::unexpected(s.error());
  }
  if (Status s = client().synchronize({}); !s) return std::unexpected(s.error());
  return cell;
}

Result<std::uint64_t> DeviceConformance::read_cell(Stream stream, const Buffer& cell) {
  std::uint64_t value = 0;
  if (Status s = client().read(stream, &value, cell.address(), sizeof value); !s) {
    return std::unexpected(s.error());
  }
  return value;
}

namespace {

#define ASSERT_OK(expression)                                                        \
  do {                                                                               \
    const auto& outcome = (expression);                                              \
    ASSERT_TRUE(outcome.has_value()) << #expression << ": " << outcome.error().text; \
  } while (false)

constexpr DType kAllTypes[] = {DType::f64, DType::f32, DType::f16,    DType::bf16,  DType::i32,
                               DType::i8,  DType::u8,  DType::f8e4m3, DType::f8e5m2};

std::byte* at(const Buffer& buffer, std::size_t offset = 0) {
  return static_cast<std::byte*>(buffer.address()) + offset;
}

// --- What it says of itself

TEST_P(DeviceConformance, CapabilitiesMakeSense) {
  const Capabilities& has = client().capabilities();
  EXPECT_FALSE(client().name().empty());
  EXPECT_FALSE(has.types.empty());
  EXPECT_EQ(std::set(has.types.begin(), has.types.end()).size(), has.types.size());
  EXPECT_TRUE(std::is_sorted(has.features.begin(), has.features.end()));
  EXPECT_GE(has.compute_units, 1);
  EXPECT_GE(has.threads, 1);
  EXPECT_GE(has.subgroup_size, 1);
  EXPECT_GT(has.vector_bytes, 0);
  EXPECT_GT(has.memory_bytes, 0u);
  EXPECT_TRUE(std::isfinite(has.clock_resolution_s));
  EXPECT_GE(has.clock_resolution_s, 0);
  for (const MatrixUnit& unit : has.matrix_units) {
    EXPECT_FALSE(unit.name.empty());
    EXPECT_GT(unit.m * unit.n * unit.k, 0) << unit.name;
  }
}

TEST_P(DeviceConformance, FingerprintIsStableAndHoldsNoIndexOrPath) {
  const Fingerprint& mine = client().fingerprint();
  EXPECT_FALSE(mine.parts().empty());
  EXPECT_THAT(mine.digest(), testing::MatchesRegex("[0-9a-f]{16}"));
  // A name such as "cuda:0" means another device when a card is added.
  const bool name_has_index = client().name().find(':') != std::string::npos;
  for (const auto& [name, value] : mine.parts()) {
    EXPECT_TRUE(!name_has_index || value != client().name()) << name;
    EXPECT_NE(name, "index");
    EXPECT_NE(name, "path");
    EXPECT_FALSE(value.starts_with('/')) << name << '=' << value;
  }
  const auto again = GetParam().open();
  ASSERT_OK(again);
  EXPECT_EQ((*again)->fingerprint().text(), mine.text());
  EXPECT_EQ((*again)->fingerprint().digest(), mine.digest());
}

// --- Memory

TEST_P(DeviceConformance, WritesAndReadsAtAnyOffset) {
  constexpr std::size_t kBytes = 4099;
  const auto buffer = client().allocate(kBytes);
  ASSERT_OK(buffer);
  EXPECT_EQ(buffer->bytes(), kBytes);
  std::vector<std::byte> expected(kBytes);
  for (std::size_t i = 0; i < kBytes; ++i) expected[i] = static_cast<std::byte>(i * 37 + i / 256);
  ASSERT_OK(client().write({}, at(*buffer), expected.data(), kBytes));
  for (const auto& [offset, bytes] : std::initializer_list<std::pair<std::size_t, std::size_t>>{
           {0, 1}, {1, 1}, {3, 64}, {17, 1000}, {kBytes - 1, 1}, {100, 0}}) {
    std::vector<std::byte> piece(bytes);
    for (std::size_t i = 0; i < bytes; ++i) piece[i] = static_cast<std::byte>(i ^ 0x5A);
    ASSERT_OK(client().write({}, at(*buffer, offset), piece.data(), bytes));
    std::copy(piece.begin(), piece.end(), expected.begin() + static_cast<std::ptrdiff_t>(offset));
    std::fill(piece.begin(), piece.end(), std::byte{0xEE});  // the source may be reused at once
    std::vector<std::byte> back(bytes);
    ASSERT_OK(client().read({}, back.data(), at(*buffer, offset), bytes));
    EXPECT_TRUE(std::equal(back.begin(), back.end(),
                           expected.begin() + static_cast<std::ptrdiff_t>(offset)))
        << offset << ' ' << bytes;
  }
  std::vector<std::byte> all(kBytes);
  ASSERT_OK(client().read({}, all.data(), at(*buffer), kBytes));
  EXPECT_EQ(all, expected);
}

TEST_P(DeviceConformance, FillsWithPatternsOfOneToSixteenBytes) {
  constexpr std::size_t kBytes = 200;
  const auto buffer = client().allocate(kBytes);
  ASSERT_OK(buffer);
  for (std::size_t size = 1; size <= 16; ++size) {
    std::vector<std::byte> pattern(size);
    for (std::size_t i = 0; i < size; ++i) pattern[i] = static_cast<std::byte>(0x11 * size + i);
    for (const std::size_t offset : {0, 1, 16}) {
      for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, size, 5 * size, size + 3}) {
        const std::byte clean{0xA0};
        ASSERT_OK(client().fill({}, at(*buffer), {&clean, 1}, kBytes));
        ASSERT_OK(client().fill({}, at(*buffer, offset), pattern, bytes));
        std::vector<std::byte> expected(kBytes, clean), found(kBytes);
        for (std::size_t i = 0; i < bytes; ++i) expected[offset + i] = pattern[i % size];
        ASSERT_OK(client().read({}, found.data(), at(*buffer), kBytes));
        ASSERT_EQ(found, expected) << size << " at " << offset << ", " << bytes << " bytes";
      }
    }
  }
}

TEST_P(DeviceConformance, RefusesPatternsOfOtherSizes) {
  const auto buffer = client().allocate(64);
  ASSERT_OK(buffer);
  const std::array<std::byte, 17> pattern{};
  for (const std::size_t size : {0, 17}) {
    const Status status = client().fill({}, at(*buffer), {pattern.data(), size}, 64);
    ASSERT_FALSE(status) << size;
    EXPECT_EQ(status.error().kind, ErrorKind::invalid_argument);
  }
}

TEST_P(DeviceConformance, SizeZeroIsAnEmptyBuffer) {
  const auto buffer = client().allocate(0);
  ASSERT_OK(buffer);
  EXPECT_EQ(buffer->bytes(), 0u);
  EXPECT_EQ(buffer->address(), nullptr);
  const std::byte pattern{1};
  EXPECT_TRUE(client().write({}, nullptr, nullptr, 0));
  EXPECT_TRUE(client().read({}, nullptr, nullptr, 0));
  EXPECT_TRUE(client().fill({}, nullptr, {&pattern, 1}, 0));
}

TEST_P(DeviceConformance, AbsurdSizesAreOutOfMemory) {
  const std::uint64_t before = client().allocated_bytes();
  for (const std::uint64_t bytes :
       {std::uint64_t{1} << 62, std::uint64_t{1} << 63, ~std::uint64_t{0}, ~std::uint64_t{0} - 63,
        ~std::uint64_t{0} - 4095}) {
    const auto buffer = client().allocate(bytes);
    ASSERT_FALSE(buffer) << bytes;
    EXPECT_EQ(buffer.error().kind, ErrorKind::out_of_memory);
    EXPECT_THAT(buffer.error().text, testing::HasSubstr(std::to_string(bytes)));
  }
  EXPECT_EQ(client().allocated_bytes(), before);
  EXPECT_TRUE(client().allocate(1 << 16));  // and the device goes on
}

TEST_P(DeviceConformance, CountsMemory) {
  const std::uint64_t before = client().allocated_bytes();
  {
    const auto one = client().allocate(1000), two = client().allocate(24);
    ASSERT_OK(one);
    ASSERT_OK(two);
    EXPECT_EQ(client().allocated_bytes(), before + 1024);
  }
  EXPECT_EQ(client().allocated_bytes(), before);
}

// --- Kernels

TEST_P(DeviceConformance, CompilesAKernelOnce) {
  const auto first = compile_fold(), second = compile_fold();
  ASSERT_OK(first);
  ASSERT_OK(second);
  EXPECT_EQ(*first, *second);
  EXPECT_EQ(client().compilations(), GetParam().compiles_at_run_time ? 1u : 0u);
  const auto other = compile_fold("other");
  ASSERT_OK(other);
  EXPECT_NE(*first, *other);
  EXPECT_EQ(client().compilations(), GetParam().compiles_at_run_time ? 2u : 0u);
}

TEST_P(DeviceConformance, CompilesAKernelOnceForManyThreads) {
  constexpr int kThreads = 8;
  std::barrier start(kThreads);
  std::vector<Result<std::shared_ptr<const Kernel>>> kernels(
      kThreads, fail(ErrorKind::internal, "not compiled"));
  std::vector<std::thread> threads;
  for (auto& kernel : kernels) {
    threads.emplace_back([&] {
      start.arrive_and_wait();
      kernel = compile_fold();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& kernel : kernels) {
    ASSERT_OK(kernel);
    EXPECT_EQ(*kernel, *kernels[0]);
  }
  EXPECT_LE(client().compilations(), 1u);
}

TEST_P(DeviceConformance, RemembersAFailedBuild) {
  if (!GetParam().broken) GTEST_SKIP() << GetParam().name << " has no kernels that fail to build";
  const auto first = client().compile(*GetParam().broken);
  ASSERT_FALSE(first);
  EXPECT_THAT(first.error().kind, testing::AnyOf(ErrorKind::build_failed, ErrorKind::unsupported));
  EXPECT_FALSE(first.error().text.empty());
  const std::uint64_t compilations = client().compilations();
  const auto second = client().compile(*GetParam().broken);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, first.error().kind);
  EXPECT_EQ(second.error().text, first.error().text);
  EXPECT_EQ(client().compilations(), compilations);
  EXPECT_TRUE(compile_fold());  // and the device goes on
}

TEST_P(DeviceConformance, RefusesALaunchOfNothing) {
  const Status status = client().launch({}, Launch{});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::launch_failed);
  EXPECT_FALSE(status.error().text.empty());
}

// --- Order

TEST_P(DeviceConformance, LaunchesOfAStreamRunInOrder) {
  const auto kernel = compile_fold();
  ASSERT_OK(kernel);
  const auto own = client().create_stream();
  ASSERT_OK(own);
  for (const Stream stream : {Stream{}, *own}) {
    const auto cell = make_cell(5);
    ASSERT_OK(cell);
    std::uint64_t expected = 5;
    for (std::uint64_t i = 1; i <= 100; ++i) {
      const std::uint64_t rounds = i % 7 == 0 ? 5000 : 1;  // a long one now and then
      ASSERT_OK(launch_fold(**kernel, stream, *cell, i, rounds));
      expected = fold(expected, i, rounds);
    }
    ASSERT_OK(client().synchronize(stream));
    EXPECT_EQ(read_cell(stream, *cell).value(), expected);
  }
  client().destroy_stream(*own);
}

TEST_P(DeviceConformance, MemoryOperationsKeepTheirPlaceInTheStream) {
  const auto kernel = compile_fold();
  const auto cell = make_cell(1);
  const auto stream = client().create_stream();
  ASSERT_OK(kernel);
  ASSERT_OK(cell);
  ASSERT_OK(stream);
  ASSERT_OK(launch_fold(**kernel, *stream, *cell, 3, 20'000));
  std::uint64_t value = 77;
  ASSERT_OK(client().write(*stream, at(*cell), &value, sizeof value));
  value = 0;
  ASSERT_OK(launch_fold(**kernel, *stream, *cell, 4));
  EXPECT_EQ(read_cell(*stream, *cell).value(), fold(77, 4, 1));
  const std::byte pattern{0x01};
  ASSERT_OK(client().fill(*stream, at(*cell), {&pattern, 1}, 8));
  ASSERT_OK(launch_fold(**kernel, *stream, *cell, 9));
  EXPECT_EQ(read_cell(*stream, *cell).value(), fold(0x0101010101010101u, 9, 1));
  client().destroy_stream(*stream);
}

TEST_P(DeviceConformance, AStreamWaitsForAnEventOfAnother) {
  const auto kernel = compile_fold();
  const auto cell = make_cell(1);
  const auto first = client().create_stream(), second = client().create_stream();
  ASSERT_OK(kernel);
  ASSERT_OK(cell);
  ASSERT_OK(first);
  ASSERT_OK(second);
  std::uint64_t expected = 1;
  for (std::uint64_t i = 0; i < 10; ++i) {
    ASSERT_OK(launch_fold(**kernel, *first, *cell, i, 20'000));
    const auto done = client().record(*first);
    ASSERT_OK(done);
    ASSERT_OK(client().wait(*second, **done));
    ASSERT_OK(launch_fold(**kernel, *second, *cell, i + 1));
    const auto back = client().record(*second);
    ASSERT_OK(back);
    ASSERT_OK(client().wait(*first, **back));
    expected = fold(fold(expected, i, 20'000), i + 1, 1);
  }
  ASSERT_OK(client().synchronize(*first));
  ASSERT_OK(client().synchronize(*second));
  EXPECT_FALSE(client().busy(*first));
  EXPECT_FALSE(client().busy(*second));
  EXPECT_EQ(read_cell({}, *cell).value(), expected);
  client().destroy_stream(*first);
  client().destroy_stream(*second);
}

TEST_P(DeviceConformance, TheHostWaitsForAnEvent) {
  const auto kernel = compile_fold();
  const auto cell = make_cell(1);
  const auto stream = client().create_stream();
  ASSERT_OK(kernel);
  ASSERT_OK(cell);
  ASSERT_OK(stream);
  ASSERT_OK(launch_fold(**kernel, *stream, *cell, 3, 100'000));
  const auto done = client().record(*stream);
  ASSERT_OK(done);
  ASSERT_OK(client().wait(**done));
  EXPECT_EQ(read_cell({}, *cell).value(), fold(1, 3, 100'000));
  client().destroy_stream(*stream);
}

TEST_P(DeviceConformance, LaunchesFromManyThreads) {
  constexpr std::uint64_t kThreads = 8, kLaunches = 50;
  const auto kernel = compile_fold();
  ASSERT_OK(kernel);
  std::barrier start(static_cast<std::ptrdiff_t>(kThreads));
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const auto cell = make_cell(t);
      // Half of them share the default stream.
      const auto stream = t % 2 == 0 ? Result<Stream>(Stream{}) : client().create_stream();
      start.arrive_and_wait();
      ASSERT_OK(cell);
      ASSERT_OK(stream);
      std::uint64_t expected = t;
      for (std::uint64_t i = 0; i < kLaunches; ++i) {
        ASSERT_OK(launch_fold(**kernel, *stream, *cell, i, 1 + 100 * (i % 3)));
        expected = fold(expected, i, 1 + 100 * (i % 3));
      }
      ASSERT_OK(client().synchronize(*stream));
      EXPECT_EQ(read_cell(*stream, *cell).value(), expected);
      if (t % 2 != 0) client().destroy_stream(*stream);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// --- Time

TEST_P(DeviceConformance, EventsTellTheTimeBetweenThem) {
  constexpr std::uint64_t kRounds = 1'000'000;
  const auto kernel = compile_fold();
  const auto cell = make_cell(1);
  ASSERT_OK(kernel);
  ASSERT_OK(cell);
  const auto begin = client().record({});
  ASSERT_OK(launch_fold(**kernel, {}, *cell, 3, kRounds));
  const auto end = client().record({});
  ASSERT_OK(begin);
  ASSERT_OK(end);
  ASSERT_OK(client().wait(**end));
  const auto seconds = client().elapsed_s(**begin, **end);
  ASSERT_OK(seconds);
  EXPECT_GE(*seconds, static_cast<double>(kRounds) * kFoldRoundSeconds);
  EXPECT_TRUE(std::isfinite(*seconds));
}

TEST_P(DeviceConformance, ProfileTimesTheBodyAsOftenAsSaid) {
  constexpr std::uint64_t kRounds = 200'000;
  const auto kernel = compile_fold();
  const auto own = client().create_stream();
  ASSERT_OK(kernel);
  ASSERT_OK(own);
  for (const Stream stream : {Stream{}, *own}) {
    for (const int repeats : {1, 10}) {
      const auto cell = make_cell(1);
      ASSERT_OK(cell);
      const auto seconds = client().profile(
          stream, [&] { return launch_fold(**kernel, stream, *cell, 3, kRounds); }, repeats);
      ASSERT_OK(seconds);
      EXPECT_TRUE(std::isfinite(*seconds));
      EXPECT_GE(*seconds, repeats * static_cast<double>(kRounds) * kFoldRoundSeconds);
      // A device may make calls once more that were disturbed, but not a single one.
      const std::uint64_t rounds = kRounds * static_cast<std::uint64_t>(repeats);
      const std::uint64_t found = read_cell(stream, *cell).value();
      EXPECT_TRUE(found == fold(1, 3, rounds) || (repeats > 1 && found == fold(1, 3, 2 * rounds)));
    }
  }
  client().destroy_stream(*own);
}

TEST_P(DeviceConformance, ProfileGivesTheErrorsOfTheBody) {
  int calls = 0;
  const auto seconds = client().profile(
      {},
      [&]() -> Status {
        ++calls;
        return fail(ErrorKind::illegal, "the body's own");
      },
      5);
  ASSERT_FALSE(seconds);
  EXPECT_EQ(seconds.error().kind, ErrorKind::illegal);
  EXPECT_EQ(seconds.error().text, "the body's own");
  EXPECT_EQ(calls, 1);
}

TEST_P(DeviceConformance, ProfileNeverSucceedsWithoutATime) {
  for (const int repeats : {1, 0, -1}) {
    const auto seconds = client().profile(
        {}, [] { return Status(); }, repeats);
    EXPECT_TRUE(!seconds || (std::isfinite(*seconds) && *seconds > 0)) << *seconds;
  }
}

TEST_P(DeviceConformance, TheClockGoesForward) {
  const auto kernel = compile_fold();
  const auto cell = make_cell(1);
  ASSERT_OK(kernel);
  ASSERT_OK(cell);
  const double before = client().now_s();
  ASSERT_OK(launch_fold(**kernel, {}, *cell, 3, 1'000'000));
  ASSERT_OK(client().synchronize({}));
  EXPECT_GE(client().now_s(), before + 1'000'000 * kFoldRoundSeconds);
}

// --- Exclusive access

TEST_P(DeviceConformance, ExclusiveIsRecursiveAndExcludesOtherThreads) {
  const auto kernel = compile_fold();
  const auto cell = make_cell(1);
  ASSERT_OK(kernel);
  ASSERT_OK(cell);
  std::atomic<bool> asked = false, entered = false;
  std::thread other;
  {
    const auto outer = client().exclusive();
    { const auto inner = client().exclusive(); }
    other = std::thread([&] {
      // A launch does not wait for the measurement of somebody else.
      EXPECT_TRUE(launch_fold(**kernel, {}, *cell, 3));
      asked = true;
      const auto mine = client().exclusive();
      entered = true;
    });
    while (!asked) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_FALSE(entered);
  }
  other.join();
  EXPECT_TRUE(entered);
}

// --- Telemetry

TEST_P(DeviceConformance, SubscribersSeeLaunchesUntilTheyLeave) {
  Counters counters;
  const auto kernel = compile_fold();
  const auto cell = make_cell(1);
  ASSERT_OK(kernel);
  ASSERT_OK(cell);
  client().set_subscriber(&counters);
  for (int i = 0; i < 3; ++i) ASSERT_OK(launch_fold(**kernel, {}, *cell, 3));
  ASSERT_OK(compile_fold("another"));
  client().set_subscriber(nullptr);
  ASSERT_OK(launch_fold(**kernel, {}, *cell, 3));
  ASSERT_OK(compile_fold("yet another"));
  EXPECT_EQ(counters.counts("launch"),
            (std::map<std::string, std::uint64_t>{{(*kernel)->id().name, 3}}));
  EXPECT_EQ(counters.total("compile"), GetParam().compiles_at_run_time ? 1u : 0u);
}

// --- Probes

TEST_P(DeviceConformance, EveryProbeRunsOrSaysWhyNot) {
  constexpr std::uint64_t kBytes = 1 << 20;
  const Capabilities& has = client().capabilities();
  const auto sink =
      client().allocate(64 * static_cast<std::uint64_t>(std::max(has.compute_units, has.threads)));
  const auto from = client().allocate(kBytes), to = client().allocate(kBytes);
  ASSERT_OK(sink);
  ASSERT_OK(from);
  ASSERT_OK(to);
  const std::byte pattern{0};
  ASSERT_OK(client().fill({}, at(*from), {&pattern, 1}, kBytes));
  ASSERT_OK(client().fill({}, at(*to), {&pattern, 1}, kBytes));
  for (const ProbeKind kind : {ProbeKind::compute, ProbeKind::matrix, ProbeKind::copy,
                               ProbeKind::read, ProbeKind::write, ProbeKind::launch}) {
    for (const DType dtype : kAllTypes) {
      SCOPED_TRACE(std::string(to_string(kind)) + " " + std::string(to_string(dtype)));
      const auto probe = client().probe_kernel(kind, dtype);
      if (!probe) {
        EXPECT_EQ(probe.error().kind, ErrorKind::unsupported);
        EXPECT_FALSE(probe.error().text.empty());
        // A type that only matrix units know has no other rate.
        const bool matrix_only = client().probe_kernel(ProbeKind::matrix, dtype).has_value();
        EXPECT_FALSE(kind != ProbeKind::matrix && has.supports(dtype) && !matrix_only)
            << probe.error().text;
        continue;
      }
      ASSERT_NE(probe->kernel, nullptr);
      const auto again = client().probe_kernel(kind, dtype);
      ASSERT_OK(again);
      EXPECT_EQ(again->kernel, probe->kernel);
      const bool computes = kind == ProbeKind::compute || kind == ProbeKind::matrix;
      EXPECT_EQ(probe->operations_per_repeat > 0, computes);
      const auto run = [&](std::uint64_t repeats) {
        ProbeArgs args{.destination = to->address(),
                       .source = from->address(),
                       .bytes = kBytes,
                       .repeats = repeats,
                       .sink = sink->address()};
        Launch launch;
        launch.kernel = probe->kernel.get();
        launch.args = &args;
        launch.args_bytes = sizeof args;
        launch.groups = probe->groups;
        launch.group_size = probe->group_size;
        return client().profile(
            {}, [&] { return client().launch({}, launch); }, 3);
      };
      const auto warm = run(1);
      ASSERT_OK(warm);
      if (kind == ProbeKind::launch) continue;
      const auto many = run(64);
      ASSERT_OK(many);
      // The least of several: on a busy machine any one of them may be interrupted for long.
      double few = *warm;
      for (int i = 0; i < 9; ++i) {
        const auto sample = run(1);
        ASSERT_OK(sample);
        few = std::min(few, *sample);
      }
      EXPECT_GT(*many, few);  // `repeats` is obeyed
    }
  }
}

}  // namespace
}  // namespace rooftune
