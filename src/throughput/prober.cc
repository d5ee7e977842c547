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
// A probe ends when the best of its samples has been met again within this share, so often, and was
// not bettered by more in as many: it takes some passes until a large set lies in a cache as it
// will lie there. Shared machines lose slices of time, so the best counts, not the mean.
constexpr double kRepeatable = 0.02;
constexpr int kAgreeing = 3;
// Where no samples agree, so many are enough once the time for them is over.
constexpr std::size_t kDisagreeing = 10;

// How long samples are taken. The least is longer than the slices in which a busy system hands out
// its processors: threads that share them with others all run in some of the samples only, and the
// rate of fewer threads repeats itself very well. The most bounds what a probe may cost.
// The count bounds a device whose clock stands still, or steps so coarsely that no two agree.
struct Patience {
  double least_s, most_s;
  std::size_t most_samples;
};
constexpr Patience kForCompute{8e-3, 30e-3, 100};  // of each type: a device may have six
constexpr Patience kForMemory{1.5e-3, 5e-3, 100};
constexpr Patience kForLaunch{0, 4e-3, 4};  // each sample is a row of launches

// Working sets of the curve: every step of 4 from well inside a first-level cache up to well
// beyond the last one. Three quarters of powers of two, as caches are mostly powers of two: how
// much of a set that just fits stays in a cache is an accident of where its pages lie.
constexpr double kSmallestSet = 12 << 10;
constexpr double kStep = 4;
// Beyond the last cache the rate no longer depends on the size. Twice the cache, for each of the
// regions a probe uses, keeps most of what a pass reads out of it; more would cost more to touch
// than to measure.
constexpr double kBeyondCache = 2;
// Memory that the system has to provide first costs more than all that is measured on it. Guests
// are told of all of their host's last cache, hundreds of megabytes, of which they get a share: so
// the curve ends here, and goes on to the second only when somebody asks for so large a set.
constexpr double kLargestHostSet = 64 << 20, kLargestAskedFor = 256 << 20;
// Where one pass over a set takes longer than this, a sample goes over a part of it instead, which
// was not used since all others were: as cold as in passes over all.
constexpr double kLongPassSeconds = 2e-3;
constexpr std::uint64_t kPartBytes = 32 << 20;
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

std::vector<double> Prober::curve_points(bool to_the_end) const {
  const auto& capabilities = client_.capabilities();
  const double cache = capabilities.last_level_cache_bytes > 0
                           ? double(capabilities.last_level_cache_bytes)
                           : kCacheUnknown;
  const double beyond = cache * (capabilities.host_memory ? kBeyondCache : kBeyondDeviceCache);
  const double largest = capabilities.host_memory ? std::min(beyond, kLargestHostSet) : beyond;
  std::vector<double> points;
  // None so close to the last one that it would tell the same.
  for (double bytes = kSmallestSet; 2 * bytes <= largest; bytes *= kStep) points.push_back(bytes);
  points.push_back(largest);
  if (to_the_end && beyond > largest) points.push_back(std::min(beyond, kLargestAskedFor));
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
  std::size_t settled = 0;  // samples from here on were not much better than the best before them
  double best = INFINITY;
  const double start = client.now_s();
  for (;;) {
    const Result<double> seconds = measure();
    if (!seconds) return seconds;
    if (*seconds < best * (1 - kRepeatable)) settled = samples.size();
    best = std::min(best, *seconds);
    samples.push_back(*seconds);
    const auto close = std::count_if(samples.begin(), samples.end(),
                                     [&](double s) { return s <= best * (1 + kRepeatable); });
    const bool agree = close >= kAgreeing && samples.size() - settled > kAgreeing;
    const double spent = client.now_s() - start;
    if ((agree && spent >= patience.least_s) ||
        (samples.size() >= kDisagreeing && spent >= patience.most_s) ||
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
  const auto set = static_cast<std::uint64_t>(working_set_bytes) & ~std::uint64_t{4095};
  if (Status there = provide_scratch(set); !there) return std::unexpected(there.error());
  // A copy works on two regions of half the set each.
  const bool copies = kind == ProbeKind::copy;
  auto* const memory = static_cast<std::byte*>(scratch_.address());
  std::uint64_t part = std::min(set, kPartBytes), repeats = 1;
  const auto sample = [&]() -> Result<double> {
    ProbeArgs args;
    args.sink = sink->address();
    args.repeats = repeats;
    args.bytes = copies ? part / 2 : part;
    std::byte* from = memory;
    if (part < set) {
      if (cursor_ + part > set) cursor_ = 0;
      from += copies ? cursor_ / 2 : cursor_;
      cursor_ += part;
    }
    args.source = from;
    args.destination = from + (copies ? set / 2 : 0);
    return timed(*probe, args, 1);
  };
  // The first pass brings the data to where the working set keeps it.
  Result<double> seconds = sample();
  if (!seconds) return seconds;
  if (part < set && *seconds * double(set) / double(part) <= kLongPassSeconds) part = set;
  // Launches of a few passes are mostly overhead, which looks like passes: grown until it is not.
  while (part == set && repeats < 1'000'000) {
    seconds = sample();
    if (!seconds) return seconds;
    if (*seconds >= kMemoryLaunchSeconds / 2) break;
    const double factor = std::clamp(kMemoryLaunchSeconds / *seconds, 2.0, 64.0);
    repeats = static_cast<std::uint64_t>(std::ceil(double(repeats) * factor));
  }
  const Result<double> best = best_of(client_, kForMemory, sample);
  if (!best) return best;
  return double(part) * double(repeats) / *best;
}

// Memory for a working set, all of which was written. On a host there is room for the whole curve
// from the start, so that small sets lie in large pages as well; what is not written costs nothing.
Status Prober::provide_scratch(std::uint64_t bytes) {
  const bool host = client_.capabilities().host_memory;
  if (scratch_.bytes() < bytes) {
    scratch_ = {};
    written_ = cursor_ = 0;
    const auto whole = static_cast<std::uint64_t>(curve_points(false).back());
    auto memory = client_.allocate(host ? std::max(bytes, whole) : bytes);
    if (!memory) return std::unexpected(memory.error());
    scratch_ = *std::move(memory);
  }
  if (written_ >= bytes) return {};
  cursor_ = 0;
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

Result<double> Prober::measure_launch() {
  auto probe = client_.probe_kernel(ProbeKind::launch, DType::f32);
  if (!probe) return std::unexpected(probe.error());
  // Single launches are shorter than the clock's step on some devices, and on a CPU than reading
  // it: time a row of them.
  constexpr int kRow = 256;
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
  const std::vector<double> points = curve_points(true);
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
    const auto above = std::lower_bound(points.begin(), points.end(), working_set_bytes);
    const double high = *above, low = *(above - 1);
    const Result<double> low_rate = at(working_set_bytes == high ? high : low);
    if (!low_rate || working_set_bytes == high) {
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
  for (const double bytes : curve_points(false)) {
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
    for (const double bytes : curve_points(true)) {
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
