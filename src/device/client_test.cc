// The code behind the contract that is the same for every device, on the smallest device there can
// be: it allocates, builds and launches as each test tells it to. What devices do themselves is
// tested in tests/conformance/.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <barrier>
#include <set>
#include <thread>

#include "rooftune/device.h"

namespace rooftune {
namespace {

using testing::HasSubstr;

Status unused() { return fail(ErrorKind::internal, "not used by these tests"); }

using Parts = std::map<std::string, std::string>;

struct PlainClient : Client {
  using Client::Built;
  explicit PlainClient(Capabilities limits = {}, Parts parts = {}) : Client("plain") {
    describe(std::move(limits), Fingerprint(std::move(parts)));
  }
  Status write(Stream, void*, const void*, std::uint64_t) override { return unused(); }
  Status read(Stream, void*, const void*, std::uint64_t) override { return unused(); }
  Status fill(Stream, void*, std::span<const std::byte>, std::uint64_t) override {
    return unused();
  }
  Result<Stream> create_stream() override { return Stream{}; }
  void destroy_stream(Stream) override {}
  Status synchronize(Stream) override { return {}; }
  Result<std::unique_ptr<Event>> record(Stream) override { return std::make_unique<Event>(); }
  Status wait(const Event&) override { return {}; }
  Status wait(Stream, const Event&) override { return {}; }
  Result<double> elapsed_s(const Event&, const Event&) override { return 0.0; }
  Result<double> do_profile(Stream, FunctionRef<Status()> body, int repeats) override {
    for (int i = 0; i < repeats; ++i) {
      if (Status done = body(); !done) return std::unexpected(done.error());
    }
    return 1.0;
  }
  double now_s() const override { return 0; }
  Result<ProbeKernel> probe_kernel(ProbeKind, DType) override {
    return fail(ErrorKind::unsupported, "no probes");
  }

  Result<std::shared_ptr<void>> do_allocate(std::uint64_t bytes) override {
    return on_allocate(bytes);
  }
  Status do_launch(Stream, const Launch&) override { return on_launch(); }
  Result<Built> do_build(const KernelSource& source) override {
    ++builds;
    return on_build(source);
  }

  // A built kernel with this binary.
  static Result<Built> build(const KernelSource& source, std::string binary = {}) {
    return Built{std::make_shared<Kernel>(source.id), std::move(binary), true};
  }

  std::function<Result<std::shared_ptr<void>>(std::uint64_t)> on_allocate = [](std::uint64_t n) {
    return std::shared_ptr<void>(::operator new(n), [](void* p) { ::operator delete(p); });
  };
  std::function<Status()> on_launch = [] { return Status(); };
  std::function<Result<Built>(const KernelSource&)> on_build = [](const KernelSource& source) {
    return build(source);
  };
  std::atomic<int> builds = 0;
};

// Loads binaries that begin with "good".
struct LoadingClient : PlainClient {
  Result<std::shared_ptr<const Kernel>> do_load(const KernelSource& source,
                                                std::string_view binary) override {
    ++loads;
    if (binary == "null") return std::shared_ptr<const Kernel>();
    if (!binary.starts_with("good")) return fail(ErrorKind::build_failed, "bad binary");
    return std::make_shared<const Kernel>(source.id);
  }
  std::atomic<int> loads = 0;
};

struct MapCache : BinaryCache {
  std::optional<std::string> load(const KernelId& id) override {
    const std::lock_guard lock(mutex);
    ++loads;
    const auto found = binaries.find(id.digest());
    return found == binaries.end() ? std::nullopt : std::optional(found->second);
  }
  void save(const KernelId& id, std::string_view binary) override {
    const std::lock_guard lock(mutex);
    binaries[id.digest()] = binary;
  }
  std::mutex mutex;
  std::map<std::string, std::string> binaries;
  int loads = 0;
};

KernelSource source_of(std::string name) {
  KernelSource source;
  source.id = {.name = std::move(name), .source_hash = "1", .parameters = "f32"};
  return source;
}

TEST(CapabilitiesTest, TellWhatIsThere) {
  Capabilities capabilities;
  capabilities.types = {DType::f32};
  capabilities.features = {"tma", "avx2"};  // unsorted, against the rule: still found
  EXPECT_TRUE(capabilities.supports(DType::f32));
  EXPECT_FALSE(capabilities.supports(DType::bf16));
  EXPECT_TRUE(capabilities.has_feature("avx2"));
  EXPECT_TRUE(capabilities.has_feature("tma"));
  EXPECT_FALSE(capabilities.has_feature("avx"));
  EXPECT_FALSE(capabilities.has_feature(""));
}

TEST(FingerprintTest, EveryPartCounts) {
  const Fingerprint one(Parts{{"driver", "5"}, {"name", "a"}});
  EXPECT_EQ(one.text(), "driver=5, name=a");
  EXPECT_THAT(one.digest(), testing::MatchesRegex("[0-9a-f]{16}"));
  EXPECT_EQ(one.digest(), Fingerprint(one.parts()).digest());
  EXPECT_NE(one.digest(), Fingerprint(Parts{{"driver", "6"}, {"name", "a"}}).digest());
  EXPECT_NE(one.digest(), Fingerprint(Parts{{"driver", "5"}}).digest());
  EXPECT_NE(one.digest(), Fingerprint().digest());
}

TEST(FingerprintTest, BordersBetweenPartsCount) {
  EXPECT_NE(Fingerprint(Parts{{"a", "bc"}}).digest(), Fingerprint(Parts{{"ab", "c"}}).digest());
  EXPECT_NE(Fingerprint(Parts{{"a", "b, c=d"}}).digest(),
            Fingerprint(Parts{{"a", "b"}, {"c", "d"}}).digest());
}

TEST(KernelIdTest, EveryPartAndItsBordersCount) {
  const KernelId id{"packed", "abc", "f32"};
  EXPECT_THAT(id.digest(), testing::MatchesRegex("[0-9a-f]{16}"));
  EXPECT_EQ(id.digest(), (KernelId{"packed", "abc", "f32"}).digest());
  EXPECT_NE(id.digest(), (KernelId{"packed2", "abc", "f32"}).digest());
  EXPECT_NE(id.digest(), (KernelId{"packed", "abd", "f32"}).digest());
  EXPECT_NE(id.digest(), (KernelId{"packed", "abc", "f64"}).digest());
  EXPECT_NE(id.digest(), (KernelId{"packeda", "bc", "f32"}).digest());
  EXPECT_NE(id.digest(), (KernelId{"packed", "abcf32", ""}).digest());
}

TEST(ProbeKindTest, EveryKindHasAName) {
  std::set<std::string_view> names;
  for (const ProbeKind kind : {ProbeKind::compute, ProbeKind::matrix, ProbeKind::copy,
                               ProbeKind::read, ProbeKind::write, ProbeKind::launch}) {
    names.insert(to_string(kind));
  }
  EXPECT_EQ(names.size(), 6u);
  EXPECT_EQ(to_string(ProbeKind::matrix), "matrix");
}

TEST(AllocateTest, CountsWhatIsHeld) {
  PlainClient client;
  {
    Result<Buffer> one = client.allocate(100);
    ASSERT_TRUE(one);
    EXPECT_EQ(one->bytes(), 100u);
    EXPECT_NE(one->address(), nullptr);
    const Buffer copy = *one;
    Result<Buffer> two = client.allocate(28);
    ASSERT_TRUE(two);
    EXPECT_EQ(client.allocated_bytes(), 128u);
    *one = Buffer();
    EXPECT_EQ(client.allocated_bytes(), 128u);  // the copy holds it
  }
  EXPECT_EQ(client.allocated_bytes(), 0u);
}

TEST(AllocateTest, SizeZeroAsksNobody) {
  PlainClient client;
  client.on_allocate = [](std::uint64_t) { return fail(ErrorKind::internal, "asked"); };
  const Result<Buffer> buffer = client.allocate(0);
  ASSERT_TRUE(buffer);
  EXPECT_EQ(buffer->address(), nullptr);
  EXPECT_EQ(buffer->bytes(), 0u);
}

TEST(AllocateTest, FailureNamesSizeAndDevice) {
  PlainClient client;
  client.on_allocate = [](std::uint64_t) { return fail(ErrorKind::out_of_memory, "all gone"); };
  const Result<Buffer> buffer = client.allocate(12345);
  ASSERT_FALSE(buffer);
  EXPECT_EQ(buffer.error().kind, ErrorKind::out_of_memory);
  EXPECT_THAT(buffer.error().text,
              testing::AllOf(HasSubstr("12345"), HasSubstr("plain"), HasSubstr("all gone")));
  EXPECT_EQ(client.allocated_bytes(), 0u);
}

TEST(AllocateTest, NullMemoryIsAFailure) {
  PlainClient client;
  client.on_allocate = [](std::uint64_t) { return std::shared_ptr<void>(); };
  const Result<Buffer> buffer = client.allocate(7);
  ASSERT_FALSE(buffer);
  EXPECT_EQ(buffer.error().kind, ErrorKind::out_of_memory);
  EXPECT_EQ(client.allocated_bytes(), 0u);
}

TEST(AllocateTest, LimitIsCheckedBeforeTheDevice) {
  Capabilities limits;
  limits.max_allocation_bytes = 1000;
  PlainClient client(limits);
  EXPECT_TRUE(client.allocate(1000));
  client.on_allocate = [](std::uint64_t) { return fail(ErrorKind::internal, "asked"); };
  for (const std::uint64_t bytes : {std::uint64_t{1001}, ~std::uint64_t{0}}) {
    const Result<Buffer> buffer = client.allocate(bytes);
    ASSERT_FALSE(buffer);
    EXPECT_EQ(buffer.error().kind, ErrorKind::out_of_memory);
    EXPECT_THAT(buffer.error().text, HasSubstr(std::to_string(bytes)));
  }
}

TEST(AllocateTest, BuffersOutliveTheClient) {
  auto client = std::make_unique<PlainClient>();
  Buffer buffer = *client->allocate(64);
  client.reset();
  static_cast<char*>(buffer.address())[63] = 1;
  buffer = Buffer();
}

TEST(CompileTest, BuildsOnce) {
  PlainClient client;
  const auto first = client.compile(source_of("a"));
  const auto second = client.compile(source_of("a"));
  ASSERT_TRUE(first && second);
  EXPECT_EQ(*first, *second);
  EXPECT_EQ((*first)->id().name, "a");
  EXPECT_EQ(client.builds, 1);
  EXPECT_EQ(client.compilations(), 1u);

  KernelSource other = source_of("a");
  other.id.parameters = "f64";
  const auto third = client.compile(other);
  ASSERT_TRUE(third);
  EXPECT_NE(*first, *third);
  EXPECT_EQ(client.compilations(), 2u);
}

TEST(CompileTest, RemembersFailures) {
  PlainClient client;
  client.on_build = [](const KernelSource&) {
    return fail(ErrorKind::build_failed, "line 3: no such thing");
  };
  for (int i = 0; i < 3; ++i) {
    const auto kernel = client.compile(source_of("a"));
    ASSERT_FALSE(kernel);
    EXPECT_EQ(kernel.error().kind, ErrorKind::build_failed);
    EXPECT_EQ(kernel.error().text, "line 3: no such thing");
  }
  EXPECT_EQ(client.builds, 1);
  EXPECT_EQ(client.compilations(), 1u);  // the compiler did run
}

TEST(CompileTest, WhatRanNoCompilerIsNoCompilation) {
  PlainClient client;
  Counters counters;
  client.set_subscriber(&counters);
  client.on_build = [](const KernelSource& source) {
    return PlainClient::Built{std::make_shared<Kernel>(source.id), "", false};
  };
  EXPECT_TRUE(client.compile(source_of("ahead of time")));
  client.on_build = [](const KernelSource&) { return fail(ErrorKind::unsupported, "no f16"); };
  EXPECT_FALSE(client.compile(source_of("impossible")));
  EXPECT_EQ(client.compilations(), 0u);
  EXPECT_EQ(counters.total("compile"), 0u);
}

TEST(CompileTest, NoKernelIsAnError) {
  PlainClient client;
  client.on_build = [](const KernelSource&) { return PlainClient::Built{}; };
  const auto kernel = client.compile(source_of("ghost"));
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.error().kind, ErrorKind::internal);
  EXPECT_THAT(kernel.error().text, HasSubstr("ghost"));
}

TEST(CompileTest, ManyThreadsOneKernelOneBuild) {
  PlainClient client;
  std::barrier start(8);
  std::vector<std::shared_ptr<const Kernel>> kernels(8);
  std::vector<std::thread> threads;
  for (auto& kernel : kernels) {
    threads.emplace_back([&] {
      start.arrive_and_wait();
      kernel = *client.compile(source_of("a"));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& kernel : kernels) EXPECT_EQ(kernel, kernels[0]);
  EXPECT_EQ(client.builds, 1);
}

TEST(CompileTest, DifferentKernelsAreBuiltAtTheSameTime) {
  PlainClient client;
  std::barrier inside(2);  // ends only when both builds are in progress
  client.on_build = [&](const KernelSource& source) {
    inside.arrive_and_wait();
    return PlainClient::build(source);
  };
  std::thread other([&] { EXPECT_TRUE(client.compile(source_of("a"))); });
  EXPECT_TRUE(client.compile(source_of("b")));
  other.join();
  EXPECT_EQ(client.compilations(), 2u);
}

TEST(CompileTest, ABuildMayCompileAnotherKernel) {
  PlainClient client;
  client.on_build = [&](const KernelSource& source) -> Result<PlainClient::Built> {
    if (source.id.name == "outer") {
      if (auto inner = client.compile(source_of("inner")); !inner) {
        return std::unexpected(inner.error());
      }
    }
    return PlainClient::build(source);
  };
  EXPECT_TRUE(client.compile(source_of("outer")));
  EXPECT_EQ(client.compilations(), 2u);
}

TEST(BinaryCacheTest, SavesAndLoads) {
  MapCache cache;
  {
    LoadingClient client;
    client.set_binary_cache(&cache);
    client.on_build = [](const KernelSource& s) { return PlainClient::build(s, "good code"); };
    ASSERT_TRUE(client.compile(source_of("a")));
    EXPECT_EQ(client.compilations(), 1u);
  }
  ASSERT_EQ(cache.binaries.size(), 1u);
  LoadingClient client;
  client.set_binary_cache(&cache);
  Counters counters;
  client.set_subscriber(&counters);
  const auto kernel = client.compile(source_of("a"));
  ASSERT_TRUE(kernel);
  EXPECT_EQ((*kernel)->id().name, "a");
  EXPECT_EQ(client.builds, 0);
  EXPECT_EQ(client.compilations(), 0u);
  EXPECT_EQ(counters.total("compile"), 0u);
}

TEST(BinaryCacheTest, ABadBinaryIsReplaced) {
  for (const char* const bad : {"rubbish", "", "null"}) {
    MapCache cache;
    cache.binaries[source_of("a").id.digest()] = bad;
    LoadingClient client;
    client.set_binary_cache(&cache);
    client.on_build = [](const KernelSource& s) { return PlainClient::build(s, "good again"); };
    ASSERT_TRUE(client.compile(source_of("a"))) << bad;
    EXPECT_EQ(client.loads, 1);
    EXPECT_EQ(client.compilations(), 1u);
    EXPECT_EQ(cache.binaries[source_of("a").id.digest()], "good again");
  }
}

TEST(BinaryCacheTest, DevicesWithoutBinariesIgnoreIt) {
  MapCache cache;
  cache.binaries[source_of("a").id.digest()] = "good code";
  PlainClient client;  // do_load as the contract has it
  client.set_binary_cache(&cache);
  ASSERT_TRUE(client.compile(source_of("a")));
  EXPECT_EQ(client.compilations(), 1u);
  EXPECT_EQ(cache.binaries[source_of("a").id.digest()], "good code");  // nothing to save
}

TEST(BinaryCacheTest, FailuresAreNotSaved) {
  MapCache cache;
  LoadingClient client;
  client.set_binary_cache(&cache);
  client.on_build = [](const KernelSource&) { return fail(ErrorKind::build_failed, "no"); };
  EXPECT_FALSE(client.compile(source_of("a")));
  EXPECT_TRUE(cache.binaries.empty());
}

TEST(BinaryCacheTest, ReplacedWhileKernelsAreCompiled) {
  LoadingClient client;
  client.on_build = [](const KernelSource& s) { return PlainClient::build(s, "good code"); };
  std::atomic<bool> done = false;
  std::thread compiler([&] {
    for (int i = 0; i < 200; ++i) EXPECT_TRUE(client.compile(source_of(std::to_string(i))));
    done = true;
  });
  while (!done) {
    MapCache cache;  // a use after its end is what the sanitizers would see
    client.set_binary_cache(&cache);
    client.set_binary_cache(nullptr);
  }
  compiler.join();
}

TEST(SpansTest, LaunchesAndCompilations) {
  struct Spans : Subscriber {
    void on_span(const Span& span) override {
      EXPECT_LE(span.begin_s, span.end_s);
      EXPECT_EQ(span.device, "plain");
      seen.push_back(std::string(span.category) + " " + std::string(span.name));
    }
    std::vector<std::string> seen;
  } spans;
  PlainClient client;
  client.set_subscriber(&spans);
  const auto kernel = client.compile(source_of("a"));
  ASSERT_TRUE(kernel);
  Launch launch;
  launch.kernel = kernel->get();
  EXPECT_TRUE(client.launch({}, launch));
  client.on_launch = [] { return fail(ErrorKind::launch_failed, "no"); };
  EXPECT_FALSE(client.launch({}, launch));  // refused: not a launch
  client.on_launch = [] { return Status(); };
  client.set_subscriber(nullptr);
  EXPECT_TRUE(client.launch({}, launch));
  EXPECT_THAT(spans.seen, testing::ElementsAre("compile a", "launch a"));
}

TEST(LaunchTest, NoKernelNeverReachesTheDevice) {
  PlainClient client;
  client.on_launch = [] { return fail(ErrorKind::internal, "reached"); };
  Counters counters;
  for (Subscriber* const subscriber :
       {static_cast<Subscriber*>(nullptr), static_cast<Subscriber*>(&counters)}) {
    client.set_subscriber(subscriber);
    const Status status = client.launch({}, Launch{});
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().kind, ErrorKind::launch_failed);
  }
  EXPECT_EQ(counters.total("launch"), 0u);
}

TEST(SpansTest, TheSubscriberMayGoDuringALaunch) {
  PlainClient client;
  auto counters = std::make_unique<Counters>();
  client.set_subscriber(counters.get());
  const auto kernel = client.compile(source_of("a"));
  client.on_launch = [&] {
    client.set_subscriber(nullptr);
    counters.reset();
    return Status();
  };
  Launch launch;
  launch.kernel = kernel->get();
  EXPECT_TRUE(client.launch({}, launch));
}

TEST(SpansTest, LaunchesThatAreTimedAreToldOfAfterwards) {
  PlainClient client;
  std::vector<std::shared_ptr<const Kernel>> kernels;
  // More kernels than one report keeps apart: all launches count all the same.
  for (int i = 0; i < 20; ++i) kernels.push_back(*client.compile(source_of(std::to_string(i))));
  struct Spans : Subscriber {
    void on_span(const Span& span) override {
      counts[std::string(span.name)] += span.count;
      ++told;
    }
    std::map<std::string, std::uint64_t> counts;
    int told = 0;
  } spans;
  client.set_subscriber(&spans);
  int told_meanwhile = 0;
  const auto body = [&]() -> Status {
    for (const auto& kernel : kernels) {
      Launch launch;
      launch.kernel = kernel.get();
      if (Status done = client.launch({}, launch); !done) return done;
    }
    if (told_meanwhile == 0) told_meanwhile = spans.told;
    return {};
  };
  ASSERT_TRUE(client.profile({}, body, 5));
  EXPECT_EQ(spans.counts.size(), 20u);
  for (const auto& [name, count] : spans.counts) EXPECT_EQ(count, 5u) << name;
  EXPECT_LT(told_meanwhile, 20);

  // A launch that is refused is none.
  spans.counts.clear();
  client.on_launch = [] { return fail(ErrorKind::launch_failed, "refused"); };
  EXPECT_FALSE(client.profile({}, body, 5));
  EXPECT_EQ(spans.counts.size(), 0u);
}

TEST(ExclusiveTest, IsRecursiveAndExcludesOthers) {
  PlainClient client;
  bool entered = false;  // guarded by exclusive()
  std::thread other;
  {
    const auto outer = client.exclusive();
    const auto inner = client.exclusive();
    other = std::thread([&] {
      const auto mine = client.exclusive();
      entered = true;
    });
    std::this_thread::yield();
    EXPECT_FALSE(entered);
  }
  other.join();
  EXPECT_TRUE(entered);
}

}  // namespace
}  // namespace rooftune
