#include "throughput/prober.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/clock.h"

namespace rooftune {
namespace {

// One launch should last this long: far above the clock's step and the launch overhead, short
// enough that a dozen of them cost a few milliseconds. Those of the compute probe are longer than
// it takes to wake a thread on a busy system, or the first thread would have done all of the work
// before the others come.
constexpr double kMemoryLaunchSeconds = 400e-6;
constexpr double kComputeLaunchSeconds = 2e-3;
// A probe ends when the best of its samples has been met again within this share, so often. Shared
// machines lose slices of time, so the best counts, not the mean.
constexpr double kRepeatable = 0.01;
constexpr int kAgreeing = 3;

// How long samples are taken. The least is longer than the slices in which a busy system hands out
// its processors: threads that share them with others all run in some of the samples only, and the
// rate of fewer threads repeats itself very well. The most bounds what a probe may cost.
// The count bounds a device whose clock stands still, or steps so coarsely that no two agree.
struct Patience {
  double least_s, most_s;
  std::size_t most_samples;
};
constexpr Patience kForCompute{12e-3, 30e-3, 100};  // of each type: a device may have six
constexpr Patience kForMemory{1e-3, 8e-3, 100};
constexpr Patience kForLaunch{0, 4e-3, 12};  // each sample is a row of launches

// Working sets of the curve: every step of 4 from well inside a first-level cache up to well
// beyond the last one.
constexpr double kSmallestSet = 16 << 10;
constexpr double kStep = 4;
// Beyond the last cache the rate no longer depends on the size. Twice the cache, for each of the
// regions a probe uses, keeps most of what a pass reads out of it; more would cost more to touch
// than to measure.
constexpr double kBeyondCache = 2;
// On a device with memory of its own touching more costs next to nothing, and its cache serves what
// the other half of a copy has not pushed out yet.
constexpr double kBeyondDeviceCache = 8;
constexpr double kCacheUnknown = 32 << 20;

std::string compute_key(ProbeKind kind, DType dtype, int threads) {
  return fmt::format("{}/{}/threads={}", to_string(kind), to_string(dtype), threads);
}

std::string memory_key(ProbeKind kind, double bytes, int threads) {
  return fmt::format("{}/{:.0f}/threads={}", to_string(kind), bytes, threads);
}

}  // namespace

std::vector<double> Prober::curve_points() const {
  const auto& capabilities = client_.capabilities();
  const double cache = capabilities.last_level_cache_bytes > 0
                           ? double(capabilities.last_level_cache_bytes)
                           : kCacheUnknown;
  const double largest = cache * (capabilities.host_memory ? kBeyondCache : kBeyondDeviceCache);
  std::vector<double> points;
  for (double bytes = kSmallestSet; bytes < largest; bytes *= kStep) points.push_back(bytes);
  points.push_back(largest);
  return points;
}

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

namespace {

// The best of at least kAgreeing samples of `measure`.
template <class Measure>
Result<double> best_of(const Client& client, const Patience& patience, Measure measure) {
  std::vector<double> samples;
  const double start = client.now_s();
  for (;;) {
    const Result<double> seconds = measure();
    if (!seconds) return seconds;
    samples.push_back(*seconds);
    const double best = *std::min_element(samples.begin(), samples.end());
    const auto close = std::count_if(samples.begin(), samples.end(),
                                     [&](double s) { return s <= best * (1 + kRepeatable); });
    const double spent = client.now_s() - start;
    const bool enough = samples.size() >= std::size_t{kAgreeing} && spent >= patience.least_s;
    if ((enough && (close >= kAgreeing || spent >= patience.most_s)) ||
        samples.size() >= patience.most_samples) {
      return best;
    }
  }
}

}  // namespace

Result<double> Prober::measure_compute(ProbeKind kind, DType dtype) {
  auto probe = client_.probe_kernel(kind, dtype);
  if (!probe) return std::unexpected(probe.error());
  const auto units = static_cast<std::uint64_t>(
      std::max(client_.capabilities().compute_units, client_.capabilities().threads));
  auto sink = client_.allocate(64 * (units + 1));
  if (!sink) return std::unexpected(sink.error());
  ProbeArgs args;
  args.sink = sink->address();
  // Grow the launch until it is long enough; this also wakes threads and raises clocks.
  double once = 0;
  for (;;) {
    const Result<double> seconds = timed(*probe, args, 1);
    if (!seconds) return seconds;
    once = *seconds;
    if (once >= kComputeLaunchSeconds / 2 || args.repeats > (1ull << 40)) break;
    const double factor = std::clamp(kComputeLaunchSeconds / once, 2.0, 64.0);
    args.repeats = static_cast<std::uint64_t>(std::ceil(double(args.repeats) * factor));
  }
  const Result<double> best = best_of(client_, kForCompute, [&] { return timed(*probe, args, 1); });
  if (!best) return best;
  return probe->operations_per_repeat * double(args.repeats) / *best;
}

Result<double> Prober::measure_memory(ProbeKind kind, double working_set_bytes) {
  auto probe = client_.probe_kernel(kind, DType::f32);
  if (!probe) return std::unexpected(probe.error());
  const auto units = static_cast<std::uint64_t>(
      std::max(client_.capabilities().compute_units, client_.capabilities().threads));
  auto sink = client_.allocate(64 * (units + 1));
  if (!sink) return std::unexpected(sink.error());
  // A copy works on two regions of half the set each.
  const auto set = static_cast<std::uint64_t>(working_set_bytes) & ~std::uint64_t{8191};
  if (scratch_.bytes() < set) {
    scratch_ = {};
    auto memory = client_.allocate(set);
    if (!memory) return std::unexpected(memory.error());
    scratch_ = *std::move(memory);
    const std::byte pattern[] = {std::byte{0x3f}, std::byte{0x12}, std::byte{0x80},
                                 std::byte{0x3f}};
    Status filled = own_stream();
    if (filled) filled = client_.fill(stream_, scratch_.address(), pattern, scratch_.bytes());
    if (!filled) return std::unexpected(filled.error());
  }
  ProbeArgs args;
  args.sink = sink->address();
  args.source = scratch_.address();
  args.destination = scratch_.address();
  args.bytes = set;
  double moved = double(set);
  if (kind == ProbeKind::copy) {
    args.bytes = set / 2;
    args.destination = static_cast<std::byte*>(scratch_.address()) + args.bytes;
  }
  // The first pass brings the data to where the working set keeps it.
  const Result<double> once = timed(*probe, args, 1);
  if (!once) return once;
  const Result<double> again = timed(*probe, args, 1);
  if (!again) return again;
  args.repeats = static_cast<std::uint64_t>(
      std::clamp(kMemoryLaunchSeconds / std::min(*once, *again), 1.0, 1e6));
  const Result<double> best = best_of(client_, kForMemory, [&] { return timed(*probe, args, 1); });
  if (!best) return best;
  return moved * double(args.repeats) / *best;
}

Result<double> Prober::measure_launch() {
  auto probe = client_.probe_kernel(ProbeKind::launch, DType::f32);
  if (!probe) return std::unexpected(probe.error());
  // Single launches are shorter than the clock's step on some devices: time a row of them.
  constexpr int kRow = 64;
  return best_of(client_, kForLaunch,
                 [&]() -> Result<double> { return timed(*probe, ProbeArgs{}, kRow); });
}

Result<double> Prober::known_or(const std::string& key, ProbeKind kind, DType dtype, double bytes,
                                bool fresh) {
  if (!fresh) {
    if (const auto found = known_.find(key); found != known_.end()) return found->second;
    if (store_ != nullptr && !distrusted_.contains(key)) {
      if (const auto stored = store_->load(key); stored && std::isfinite(*stored) && *stored > 0) {
        return known_[key] = *stored;
      }
    }
  }
  const double start = steady_now_s();
  Result<double> value = kind == ProbeKind::launch ? measure_launch()
                         : kind == ProbeKind::compute || kind == ProbeKind::matrix
                             ? measure_compute(kind, dtype)
                             : measure_memory(kind, bytes);
  const double now = steady_now_s();
  seconds_ += now - start;
  if (Subscriber* subscriber = client_.subscriber()) {
    subscriber->on_span({"probe", key, client_.name(), start, now});
  }
  if (!value) return value;
  known_[key] = *value;
  distrusted_.erase(key);
  if (store_ != nullptr) store_->save(key, *value);
  return value;
}

Result<Prober::PeakName> Prober::peak_name(ProbeKind kind, DType dtype) {
  const auto probe = client_.probe_kernel(kind, dtype);
  if (!probe) return std::unexpected(probe.error());
  const DType measured = probe->same_as.value_or(dtype);
  return PeakName{compute_key(kind, measured, client_.capabilities().threads), kind, measured};
}

Result<Prober::PeakName> Prober::peak_or_plain(DType dtype, bool matrix_units) {
  if (matrix_units) {
    auto peak = peak_name(ProbeKind::matrix, dtype);
    if (peak || peak.error().kind != ErrorKind::unsupported) return peak;
  }
  return peak_name(ProbeKind::compute, dtype);
}

Result<double> Prober::compute(DType dtype, bool matrix_units) {
  const auto measuring = client_.exclusive();
  const std::lock_guard lock(mutex_);
  const auto peak = peak_or_plain(dtype, matrix_units);
  if (!peak) return std::unexpected(peak.error());
  const auto rate = known_or(peak->key, peak->kind, peak->dtype, 0);
  if (!rate || peak->kind != ProbeKind::compute) return rate;
  const auto widened = widened_rate(dtype);
  return widened ? std::max(*rate, *widened) : rate;
}

std::optional<double> Prober::widened_rate(DType dtype) {
  if (dtype != DType::bf16 && dtype != DType::f16) return std::nullopt;
  const auto peak = peak_name(ProbeKind::compute, DType::f32);
  if (!peak) return std::nullopt;
  const auto rate = known_or(peak->key, peak->kind, peak->dtype, 0);
  return rate ? std::optional(*rate) : std::nullopt;
}

Result<double> Prober::memory(ProbeKind kind, double working_set_bytes) {
  const auto measuring = client_.exclusive();
  const std::lock_guard lock(mutex_);
  const int threads = client_.capabilities().threads;
  const std::vector<double> points = curve_points();
  const auto at = [&](double bytes) {
    return known_or(memory_key(kind, bytes, threads), kind, DType::f32, bytes);
  };
  // Only the two neighbours are measured: a product asks for one size, not for the whole curve.
  Result<double> rate = 0;
  if (working_set_bytes <= points.front()) {
    rate = at(points.front());
  } else if (working_set_bytes >= points.back()) {
    rate = at(points.back());
  } else {
    const auto above = std::upper_bound(points.begin(), points.end(), working_set_bytes);
    const double high = *above, low = *(above - 1);
    const Result<double> low_rate = at(low);
    if (!low_rate) {
      rate = low_rate;
    } else if (const Result<double> high_rate = at(high); !high_rate) {
      rate = high_rate;
    } else {
      const double share = std::log(working_set_bytes / low) / std::log(high / low);
      rate = std::exp(std::lerp(std::log(*low_rate), std::log(*high_rate), share));
    }
  }
  scratch_ = {};
  return rate;
}

Result<double> Prober::launch_overhead() {
  const auto measuring = client_.exclusive();
  const std::lock_guard lock(mutex_);
  return known_or(fmt::format("launch/threads={}", client_.capabilities().threads),
                  ProbeKind::launch, DType::f32, 0);
}

Result<ProbeReport> Prober::all(bool fresh) {
  const auto measuring = client_.exclusive();
  const std::lock_guard lock(mutex_);
  const double seconds_before = seconds_;
  const std::uint64_t launches_before = launches_;
  const int threads = client_.capabilities().threads;
  ProbeReport report;
  std::set<std::string> asked;  // a rate that serves several types is measured for the first
  for (const ProbeKind kind : {ProbeKind::compute, ProbeKind::matrix}) {
    for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i8, DType::u8,
                              DType::f8e4m3, DType::f8e5m2}) {
      const auto peak = peak_name(kind, dtype);
      if (!peak && peak.error().kind == ErrorKind::unsupported) continue;
      if (!peak) return std::unexpected(peak.error());
      const bool measure = fresh && asked.insert(peak->key).second;
      Result<double> rate = known_or(peak->key, kind, peak->dtype, 0, measure);
      if (rate) {
        const auto widened = kind == ProbeKind::compute ? widened_rate(dtype) : std::nullopt;
        if (widened) rate = std::max(*rate, *widened);
        report.compute.push_back({dtype, kind == ProbeKind::matrix, *rate});
      } else if (rate.error().kind != ErrorKind::unsupported) {
        return std::unexpected(rate.error());
      }
    }
  }
  for (const double bytes : curve_points()) {
    MemoryPoint point{bytes, 0, 0, 0};
    for (const auto& [kind, rate] : {std::pair{ProbeKind::copy, &point.copy},
                                     {ProbeKind::read, &point.read},
                                     {ProbeKind::write, &point.write}}) {
      const Result<double> value =
          known_or(memory_key(kind, bytes, threads), kind, DType::f32, bytes, fresh);
      if (value) {
        *rate = *value;
      } else if (value.error().kind != ErrorKind::unsupported) {
        scratch_ = {};
        return std::unexpected(value.error());
      }
    }
    report.memory.push_back(point);
  }
  scratch_ = {};
  const Result<double> overhead =
      known_or(fmt::format("launch/threads={}", threads), ProbeKind::launch, DType::f32, 0, fresh);
  if (!overhead) return std::unexpected(overhead.error());
  report.launch_overhead_s = *overhead;
  report.seconds = seconds_ - seconds_before;
  report.launches = launches_ - launches_before;
  return report;
}

void Prober::reset() {
  const std::lock_guard lock(mutex_);
  known_.clear();
  distrusted_.clear();
}

void Prober::distrust(DType dtype, bool matrix_units) {
  const std::lock_guard lock(mutex_);
  const auto peak = peak_or_plain(dtype, matrix_units);
  if (!peak) return;  // and nothing is known
  known_.erase(peak->key);
  distrusted_[peak->key] = true;
}

void Prober::distrust_memory() {
  const std::lock_guard lock(mutex_);
  for (const ProbeKind kind : {ProbeKind::copy, ProbeKind::read, ProbeKind::write}) {
    for (const double bytes : curve_points()) {
      const std::string key = memory_key(kind, bytes, client_.capabilities().threads);
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
