#include "device/cpu/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "device/cpu/memory.h"
#include "device/cpu/probes.h"

namespace rooftune {
namespace {

class CpuKernel final : public Kernel {
 public:
  CpuKernel(KernelId id, CpuKernelFn function) : Kernel(std::move(id)), entry_(function) {}
  CpuKernelFn entry() const { return entry_; }

 private:
  const CpuKernelFn entry_;
};

class CpuEvent final : public Event {
 public:
  double at_s = steady_now_s();
};

// The smallest step between two readings that differ, readings included: what a time shorter than
// this says is noise. The least of many, because the thread may be interrupted in between.
double measure_clock_resolution() {
  double least = 1;
  for (int i = 0; i < 200; ++i) {
    const double start = steady_now_s();
    double now = steady_now_s();
    while (now <= start) now = steady_now_s();
    least = std::min(least, now - start);
  }
  return least;
}

std::vector<MatrixUnit> matrix_units_of(const IsaReport& isa) {
  if (!isa.has_level(Isa::amx)) return {};
  std::vector<MatrixUnit> units = {{"amx", DType::bf16, DType::bf16, DType::f32, 16, 16, 32}};
  for (const DType lhs : {DType::i8, DType::u8}) {
    for (const DType rhs : {DType::i8, DType::u8}) {
      units.push_back({"amx", lhs, rhs, DType::i32, 16, 16, 64});
    }
  }
  return units;
}

Capabilities describe_cpu(const Topology& topology, const IsaReport& isa, int threads) {
  Capabilities capabilities;
  // The 16-bit types are converted and computed in f32, bytes in i32.
  capabilities.types = {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i8, DType::u8};
  capabilities.matrix_units = matrix_units_of(isa);
  capabilities.compute_units = topology.effective_processors;
  capabilities.threads = threads;
  capabilities.vector_bytes = isa.level == Isa::avx512 ? 64 : isa.level == Isa::avx2 ? 32 : 16;
  capabilities.memory_bytes = static_cast<std::uint64_t>(topology.memory_bytes);
  const CacheLevel& last = topology.l3.bytes > 0 ? topology.l3 : topology.l2;
  capabilities.last_level_cache_bytes = static_cast<std::uint64_t>(last.bytes);
  capabilities.cache_reach_bytes = cache_reach(topology, threads);
  capabilities.private_caches = true;
  capabilities.clock_resolution_s = measure_clock_resolution();
  capabilities.features = isa.features;
  for (const Isa level : isa.levels) {
    capabilities.features.push_back("isa:" + std::string(to_string(level)));
  }
  std::sort(capabilities.features.begin(), capabilities.features.end());
  return capabilities;
}

Fingerprint identify_cpu(const Topology& topology, const IsaReport& isa) {
  std::string levels;
  for (const Isa level : isa.levels) {
    levels += (levels.empty() ? "" : "+") + std::string(to_string(level));
  }
  std::map<std::string, std::string> parts = {
      {"runtime", "cpu"},
      {"name", topology.model},
      {"signature", fmt::format("{:08x}", read_cpuid().leaf1.eax)},
      {"isa", levels},
      // In GiB: the same machine reports a few pages more or less after an update.
      {"memory_gib", std::to_string((topology.memory_bytes + (std::int64_t{1} << 29)) >> 30)},
      {"l1d", std::to_string(topology.l1d.bytes)},
      {"l2", std::to_string(topology.l2.bytes)},
      {"l3", std::to_string(topology.l3.bytes)},
  };
  // A quota that cuts into the threads in use changes every time that is measured.
  if (topology.cpu_quota && *topology.cpu_quota < topology.affinity) {
    parts["quota"] = fmt::format("{:.2f}", *topology.cpu_quota);
  }
  return Fingerprint(std::move(parts));
}

}  // namespace

CpuClient::CpuClient(Topology topology, IsaReport isa, std::unique_ptr<CpuExecutor> executor)
    : Client("cpu"),
      topology_(std::move(topology)),
      isa_(std::move(isa)),
      executor_(std::move(executor)) {}

Result<std::shared_ptr<CpuClient>> CpuClient::make(const CpuOptions& options) {
  Topology topology = read_topology();
  IsaReport isa = detect_under(options.isa, read_cpuid(), request_tile_permission);
  if (options.isa && !isa.has_level(*options.isa)) {
    const std::string* reason = isa.reason_against(to_string(*options.isa));
    return fail(
        ErrorKind::unsupported,
        fmt::format("instruction set {} cannot be used here: {}; the best one below it is {}",
                    to_string(*options.isa), reason != nullptr ? *reason : "not this processor",
                    to_string(isa.levels.back())));
  }
  auto executor =
      CpuExecutor::make(options.threads.value_or(topology.effective_processors), topology);
  if (!executor) return std::unexpected(executor.error());
  const int threads = (*executor)->threads();
  Capabilities capabilities = describe_cpu(topology, isa, threads);
  Fingerprint fingerprint = identify_cpu(topology, isa);
  std::shared_ptr<CpuClient> client(
      new CpuClient(std::move(topology), std::move(isa), std::move(*executor)));
  client->describe(std::move(capabilities), std::move(fingerprint));
  return client;
}

Result<std::shared_ptr<void>> CpuClient::do_allocate(std::uint64_t bytes) {
  if (bytes > std::numeric_limits<std::size_t>::max() / 2) {
    return fail(ErrorKind::out_of_memory, fmt::format("{} bytes cannot be addressed", bytes));
  }
  auto memory = allocate_aligned(static_cast<std::size_t>(bytes), kPageBytes, HugePages::advised);
  if (!memory) return std::unexpected(memory.error());
  return std::shared_ptr<void>(std::move(*memory));
}

void CpuClient::share_out(std::int64_t count, FunctionRef<void(std::int64_t)> task) {
  CpuLaunch(*executor_).parallel_for(count, [&](std::int64_t index, int) { task(index); });
}

Status CpuClient::write(Stream, void* device, const void* source, std::uint64_t bytes) {
  if (bytes > 0) std::memcpy(device, source, bytes);
  return {};
}

Status CpuClient::read(Stream, void* destination, const void* device, std::uint64_t bytes) {
  if (bytes > 0) std::memcpy(destination, device, bytes);
  return {};
}

Status CpuClient::fill(Stream, void* device, std::span<const std::byte> pattern,
                       std::uint64_t bytes) {
  if (pattern.empty() || pattern.size() > 16) {
    return fail(ErrorKind::invalid_argument,
                fmt::format("a fill pattern has 1 to 16 bytes, not {}", pattern.size()));
  }
  auto* out = static_cast<std::byte*>(device);
  if (pattern.size() == 1) {
    if (bytes > 0) std::memset(out, std::to_integer<int>(pattern.front()), bytes);
    return {};
  }
  const std::uint64_t first = std::min<std::uint64_t>(pattern.size(), bytes);
  if (first > 0) std::memcpy(out, pattern.data(), first);
  // What is written so far is the source of the next, twice as long, piece; its length stays a
  // multiple of the pattern's until the last one.
  for (std::uint64_t done = first; done < bytes;) {
    const std::uint64_t piece = std::min(done, bytes - done);
    std::memcpy(out + done, out, piece);
    done += piece;
  }
  return {};
}

Result<Stream> CpuClient::create_stream() {
  return Stream{streams_.fetch_add(1, std::memory_order_relaxed) + 1};
}

Result<std::unique_ptr<Event>> CpuClient::record(Stream) { return std::make_unique<CpuEvent>(); }

Result<double> CpuClient::elapsed_s(const Event& from, const Event& to) {
  const auto* begin = dynamic_cast<const CpuEvent*>(&from);
  const auto* end = dynamic_cast<const CpuEvent*>(&to);
  if (begin == nullptr || end == nullptr) {
    return fail(ErrorKind::invalid_argument, "the event is not one of this device");
  }
  return end->at_s - begin->at_s;
}

Result<double> CpuClient::do_profile(Stream, FunctionRef<Status()> body, int repeats) {
  const double start = steady_now_s();
  for (int i = 0; i < repeats; ++i) {
    if (Status done = body(); !done) return std::unexpected(std::move(done.error()));
  }
  const double seconds = steady_now_s() - start;
  if (!(seconds > 0) || !std::isfinite(seconds)) {
    return fail(ErrorKind::not_timed, fmt::format("the clock gave {} s", seconds));
  }
  return seconds;
}

double CpuClient::now_s() const { return steady_now_s(); }

Result<ProbeKernel> CpuClient::probe_kernel(ProbeKind kind, DType dtype) {
  const auto [probe, measured, level] = choose_probe(isa_, kind, dtype);
  if (probe.entry == nullptr) {
    return fail(ErrorKind::unsupported,
                fmt::format("the CPU has no {} probe for {}", to_string(kind), to_string(dtype)));
  }
  KernelSource source;
  source.id = {fmt::format("probe_{}", to_string(kind)), "1",
               fmt::format("{} {}", to_string(measured), to_string(level))};
  source.entry = cpu_entry(probe.entry);
  auto kernel = compile(source);
  if (!kernel) return std::unexpected(kernel.error());
  ProbeKernel result;
  result.kernel = *std::move(kernel);
  result.operations_per_repeat = probe.operations_per_repeat * executor_->threads();
  if (measured != dtype) result.same_as = measured;
  return result;
}

Status CpuClient::do_launch(Stream, const Launch& launch) {
  const auto& kernel = static_cast<const CpuKernel&>(*launch.kernel);
  if (executor_->run(kernel.entry(), launch.args) == KernelOutcome::done) [[likely]] {
    return {};
  }
  return fail(ErrorKind::out_of_memory, "no scratch memory for kernel " + kernel.id().name);
}

Result<Client::Built> CpuClient::do_build(const KernelSource& source) {
  if (source.entry == nullptr) {
    return fail(ErrorKind::build_failed,
                "kernel " + source.id.name + " has no entry: the CPU has no run-time compiler");
  }
  Built built;
  built.kernel =
      std::make_shared<CpuKernel>(source.id, reinterpret_cast<CpuKernelFn>(source.entry));
  built.compiled = false;
  return built;
}

}  // namespace rooftune
