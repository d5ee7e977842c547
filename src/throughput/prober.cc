#include "throughput/prober.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ranges>
#include <set>
#include <utility>

#include "base/clock.h"
#include "throughput/memory_curve.h"

namespace rooftune {
namespace {

// Turns are taken until all are settled, or so long. All probes together have to end in 0.3 s, of
// which memory that the system provides first and the lengths of launches take up to a third.
constexpr double kTurnsSeconds = 0.17;
// So many turns bound the launches, also on a device whose clock stands still or steps so coarsely
// that nothing agrees. Who asks for a few may wait for a moment in which others leave the
// processors alone.
constexpr std::size_t kMostTurns = 6, kMostTurnsOfFew = 8, kFew = 4;

constexpr DType kComputeTypes[] = {DType::f64, DType::f32, DType::f16,    DType::bf16,
                                   DType::i8,  DType::u8,  DType::f8e4m3, DType::f8e5m2};
constexpr ProbeKind kMemoryKinds[] = {ProbeKind::copy, ProbeKind::read, ProbeKind::write};

std::string compute_key(ProbeKind kind, DType dtype, int threads) {
  return fmt::format("{}/{}/threads={}", to_string(kind), to_string(dtype), threads);
}

std::string memory_key(ProbeKind kind, double bytes, int threads) {
  return fmt::format("{}/{:.0f}/threads={}", to_string(kind), bytes, threads);
}

}  // namespace

// On devices that measure on streams of their own: as a search does, so that both time launches in
// the same way, and nothing of the host program is waited for.
Status Prober::own_stream() {
  if (stream_.native != 0 || !client_.capabilities().compiles_at_run_time) return {};
  const auto own = client_.create_stream();
  if (!own) return std::unexpected(own.error());
  stream_ = *own;
  return {};
}

Result<double> Prober::timed(const ProbeKernel& kernel, const ProbeArgs& args, int repeats) {
  const Launch launch{kernel.kernel.get(), &args, sizeof args, kernel.groups, kernel.group_size,
                      /*shared_bytes=*/0,  {}};
  const auto lock = client_.exclusive();
  launches_ += static_cast<std::uint64_t>(repeats);
  if (Status ready = own_stream(); !ready) return std::unexpected(std::move(ready.error()));
  auto seconds = client_.profile(
      stream_, [&] { return client_.launch(stream_, launch); }, repeats);
  if (!seconds) return seconds;
  if (!(*seconds > 0) || !std::isfinite(*seconds)) {
    return fail(ErrorKind::not_timed,
                fmt::format("the clock gave {} s for {}", *seconds, kernel.kernel->id().name));
  }
  return *seconds / repeats;
}

// Memory for a working set, all of which was written. On a host there is room for the whole curve
// from the start, so that small sets lie in large pages as well; what is not written costs nothing.
Status Prober::provide_scratch(std::uint64_t bytes) {
  const bool host = client_.capabilities().host_memory;
  if (scratch_.bytes() < bytes) {
    scratch_ = {};
    written_ = 0;
    const auto whole =
        static_cast<std::uint64_t>(curve_points(client_.capabilities(), false).back());
    auto memory = client_.allocate(host ? std::max(bytes, whole) : bytes);
    if (!memory) return std::unexpected(memory.error());
    scratch_ = *std::move(memory);
  }
  if (written_ >= bytes) return {};
  auto* const begin = static_cast<std::byte*>(scratch_.address()) + written_;
  const std::uint64_t left = bytes - std::exchange(written_, bytes);
  if (const auto write = client_.probe_kernel(ProbeKind::write, DType::f32); host && write) {
    // By all threads.
    ProbeArgs args;
    args.destination = begin;
    args.bytes = left;
    const auto seconds = timed(*write, args, 1);
    return seconds ? Status{} : std::unexpected(seconds.error());
  }
  const std::byte pattern[] = {std::byte{0x3f}, std::byte{0x12}, std::byte{0x80}, std::byte{0x3f}};
  Status ready = own_stream();
  return ready ? client_.fill(stream_, begin, pattern, left) : ready;
}

// One that is ready to take turns.
Result<ProbeRun> Prober::prepared(const Asked& asked) {
  auto kernel = client_.probe_kernel(asked.kind, asked.dtype);
  if (!kernel) return std::unexpected(kernel.error());
  if (sink_.bytes() == 0) {
    const auto units = static_cast<std::uint64_t>(
        std::max(client_.capabilities().compute_units, client_.capabilities().threads));
    auto sink = client_.allocate(64 * (units + 1));
    if (!sink) return std::unexpected(sink.error());
    sink_ = *std::move(sink);
  }
  const auto set = static_cast<std::uint64_t>(asked.bytes) & ~std::uint64_t{4095};
  ProbeRun run(*std::move(kernel), asked.kind, sink_.address(), scratch_.address(), set);
  const double step = client_.capabilities().clock_resolution_s;
  if (Status ready = run.prepare(timer(), step); !ready) return std::unexpected(ready.error());
  return run;
}

Status Prober::measure(const std::vector<Asked>& asked) {
  const double start = steady_now_s();
  Status done = measure_in_turns(asked);
  scratch_ = {};
  sink_ = {};
  seconds_ += steady_now_s() - start;
  return done;
}

Status Prober::measure_in_turns(const std::vector<Asked>& asked) {
  double largest = 0;
  for (const Asked& one : asked) largest = std::max(largest, one.bytes);
  if (largest > 0) {
    if (Status there = provide_scratch(static_cast<std::uint64_t>(largest)); !there) return there;
  }
  std::vector<Measuring> all;
  for (const Asked& one : asked) {
    const double begin = steady_now_s();
    auto run = prepared(one);
    if (!run && run.error().kind == ErrorKind::unsupported && asked.size() > 1) continue;
    if (!run) return std::unexpected(run.error());
    all.push_back({one.key, *std::move(run), begin, steady_now_s()});
  }
  if (Status taken = take_turns(all); !taken) return taken;
  for (const Measuring& one : all) keep(one);
  return {};
}

Status Prober::take_turns(std::vector<Measuring>& all) {
  const std::size_t most = all.size() <= kFew ? kMostTurnsOfFew : kMostTurns;
  const double begin = client_.now_s();
  bool open = true;
  for (int round = 0; open; ++round) {
    open = false;
    for (Measuring& one : all) {
      const double now = client_.now_s();
      // Each has had a turn before the time may be over.
      if (one.run.done(now, most) || (round > 0 && now - begin >= kTurnsSeconds)) continue;
      if (Status taken = one.run.turn(timer(), now); !taken) return taken;
      one.end_s = steady_now_s();
      open = true;
    }
  }
  return {};
}

void Prober::keep(const Measuring& one) {
  if (Subscriber* subscriber = client_.subscriber()) {
    subscriber->on_span({"probe", one.key, client_.name(), one.begin_s, one.end_s});
  }
  known_[one.key] = one.run.value();
  distrusted_.erase(one.key);
  if (store_ != nullptr) store_->save(one.key, one.run.value());
}

bool Prober::is_known(const std::string& key) {
  if (known_.contains(key)) return true;
  if (store_ == nullptr || distrusted_.contains(key)) return false;
  const auto stored = store_->load(key);
  if (!stored || !std::isfinite(*stored) || *stored <= 0) return false;
  known_[key] = *stored;
  return true;
}

Result<double> Prober::known_or_measured(const Asked& asked) {
  if (!is_known(asked.key)) {
    if (Status done = measure({asked}); !done) return std::unexpected(done.error());
  }
  return known_.at(asked.key);
}

Result<Prober::Asked> Prober::peak(ProbeKind kind, DType dtype) {
  const auto probe = client_.probe_kernel(kind, dtype);
  if (!probe) return std::unexpected(probe.error());
  const DType measured = probe->same_as.value_or(dtype);
  return Asked{compute_key(kind, measured, client_.capabilities().threads), kind, measured};
}

Result<Prober::Asked> Prober::peak_or_plain(DType dtype, bool matrix_units) {
  if (matrix_units) {
    auto found = peak(ProbeKind::matrix, dtype);
    if (found || found.error().kind != ErrorKind::unsupported) return found;
  }
  return peak(ProbeKind::compute, dtype);
}

Prober::Asked Prober::point(ProbeKind kind, double bytes) const {
  return {memory_key(kind, bytes, client_.capabilities().threads), kind, DType::f32, bytes};
}

Prober::Asked Prober::launch() const {
  return {fmt::format("launch/threads={}", client_.capabilities().threads), ProbeKind::launch,
          DType::f32};
}

Result<double> Prober::compute(DType dtype, bool matrix_units) {
  const auto measuring = client_.exclusive();
  const std::lock_guard lock(mutex_);
  const auto asked = peak_or_plain(dtype, matrix_units);
  if (!asked) return std::unexpected(asked.error());
  const auto rate = known_or_measured(*asked);
  if (!rate || asked->kind != ProbeKind::compute) return rate;
  const auto widened = widened_rate(dtype);
  return widened ? std::max(*rate, *widened) : rate;
}

std::optional<double> Prober::widened_rate(DType dtype) {
  if (dtype != DType::bf16 && dtype != DType::f16) return std::nullopt;
  const auto asked = peak(ProbeKind::compute, DType::f32);
  if (!asked) return std::nullopt;
  const auto rate = known_or_measured(*asked);
  return rate ? std::optional(*rate) : std::nullopt;
}

Result<double> Prober::memory(ProbeKind kind, double working_set_bytes) {
  const auto measuring = client_.exclusive();
  const std::lock_guard lock(mutex_);
  const std::vector<double> points = curve_points(client_.capabilities(), true);
  const double bytes = std::clamp(working_set_bytes, points.front(), points.back());
  // Only the two neighbours are measured: a product asks for one size, not for the whole curve.
  const auto above = std::lower_bound(points.begin(), points.end(), bytes);
  const double high = *above, low = bytes == high ? high : *(above - 1);
  std::vector<Asked> unknown;
  for (const double neighbour : std::set{low, high}) {
    Asked asked = point(kind, neighbour);
    if (!is_known(asked.key)) unknown.push_back(std::move(asked));
  }
  if (!unknown.empty()) {
    if (Status done = measure(unknown); !done) return std::unexpected(done.error());
  }
  const auto low_rate = known_or_measured(point(kind, low));
  const auto high_rate = known_or_measured(point(kind, high));
  if (!low_rate || !high_rate || low == high) return low_rate ? high_rate : low_rate;
  return between_points(low, *low_rate, high, *high_rate, bytes);
}

Result<double> Prober::launch_overhead() {
  const auto measuring = client_.exclusive();
  const std::lock_guard lock(mutex_);
  return known_or_measured(launch());
}

Result<std::vector<Prober::Asked>> Prober::everything() {
  std::vector<Asked> all;
  std::set<std::string> keys;  // a rate that serves several types is measured for the first
  for (const ProbeKind kind : {ProbeKind::compute, ProbeKind::matrix}) {
    for (const DType dtype : kComputeTypes) {
      auto asked = peak(kind, dtype);
      if (!asked && asked.error().kind == ErrorKind::unsupported) continue;
      if (!asked) return std::unexpected(asked.error());
      if (keys.insert(asked->key).second) all.push_back(*std::move(asked));
    }
  }
  // After the compute probes the largest sets, which care least for the clock that those leave
  // behind.
  const auto points = curve_points(client_.capabilities(), false);
  for (const double bytes : std::views::reverse(points)) {
    for (const ProbeKind kind : kMemoryKinds) all.push_back(point(kind, bytes));
  }
  all.push_back(launch());
  return all;
}

Result<ProbeReport> Prober::all(bool fresh) {
  const auto measuring = client_.exclusive();
  const std::lock_guard lock(mutex_);
  const double seconds_before = seconds_;
  const std::uint64_t launches_before = launches_;
  auto asked = everything();
  if (!asked) return std::unexpected(asked.error());
  if (!fresh) std::erase_if(*asked, [&](const Asked& one) { return is_known(one.key); });
  if (!asked->empty()) {
    if (Status done = measure(*asked); !done) return std::unexpected(done.error());
  }
  ProbeReport report = report_of_known();
  report.seconds = seconds_ - seconds_before;
  report.launches = launches_ - launches_before;
  return report;
}

ProbeReport Prober::report_of_known() {
  ProbeReport report;
  const auto rate_of = [&](const Asked& asked) {
    const auto found = known_.find(asked.key);
    return found != known_.end() ? found->second : 0;
  };
  for (const ProbeKind kind : {ProbeKind::compute, ProbeKind::matrix}) {
    for (const DType dtype : kComputeTypes) {
      const auto asked = peak(kind, dtype);
      if (!asked) continue;
      double rate = rate_of(*asked);
      if (kind == ProbeKind::compute) rate = std::max(rate, widened_rate(dtype).value_or(0));
      report.compute.push_back({dtype, kind == ProbeKind::matrix, rate});
    }
  }
  for (const double bytes : curve_points(client_.capabilities(), false)) {
    report.memory.push_back({bytes, rate_of(point(ProbeKind::copy, bytes)),
                             rate_of(point(ProbeKind::read, bytes)),
                             rate_of(point(ProbeKind::write, bytes))});
  }
  report.launch_overhead_s = rate_of(launch());
  return report;
}
void Prober::reset() {
  const std::lock_guard lock(mutex_);
  known_.clear();
  distrusted_.clear();
}

void Prober::distrust(DType dtype, bool matrix_units) {
  const std::lock_guard lock(mutex_);
  const auto asked = peak_or_plain(dtype, matrix_units);
  if (!asked) return;  // and nothing is known
  known_.erase(asked->key);
  distrusted_[asked->key] = true;
}

void Prober::distrust_memory() {
  const std::lock_guard lock(mutex_);
  for (const ProbeKind kind : kMemoryKinds) {
    for (const double bytes : curve_points(client_.capabilities(), true)) {
      const std::string key = point(kind, bytes).key;
      known_.erase(key);
      distrusted_[key] = true;
    }
  }
}

double Prober::seconds_spent() const {
  const std::lock_guard lock(mutex_);
  return seconds_;
}

std::uint64_t Prober::launches_spent() const {
  const std::lock_guard lock(mutex_);
  return launches_;
}

}  // namespace rooftune
