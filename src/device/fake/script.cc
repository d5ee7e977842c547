#include "device/fake/script.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numbers>
#include <utility>

namespace rooftune {
namespace {

// Of a compute or matrix probe, per repetition and compute unit.
constexpr double kProbeOperations = 1 << 16;

// A generator that can be entered at any index, so that the times of one kernel do not depend on
// what other kernels or threads did in between. (SplitMix64, Steele et al. 2014.)
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// In (0, 1): never 0, for the logarithm below.
double uniform(std::uint64_t x) { return (static_cast<double>(mix(x) >> 11) + 0.5) * 0x1p-53; }

std::uint64_t mix_text(std::uint64_t state, std::string_view text) {
  for (const char c : text) state = mix(state ^ static_cast<unsigned char>(c));
  return state;
}

}  // namespace

void FakeGate::arrive_and_wait() {
  std::unique_lock lock(mutex_);
  ++arrivals_;
  changed_.notify_all();
  changed_.wait(lock, [this] { return open_; });
}

void FakeGate::open() {
  const std::lock_guard lock(mutex_);
  open_ = true;
  changed_.notify_all();
}

bool FakeGate::wait_for_arrivals(int count, double limit_s) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::duration<double>(limit_s),
                           [this, count] { return arrivals_ >= count; });
}

FakeScript::FakeScript() {
  capabilities.types = {DType::f64, DType::f32};
  capabilities.compute_units = 8;
  capabilities.vector_bytes = 16;
  capabilities.memory_bytes = 4ull << 30;
  // Small, because probers touch a multiple of it, and that takes real time.
  capabilities.last_level_cache_bytes = 1 << 20;
  capabilities.clock_resolution_s = 1e-9;
  fingerprint = {{"runtime", "fake 1"}, {"name", "fake device"}, {"memory", "4294967296"}};
}

std::function<double(double)> swinging_drift(double amplitude, double period_s) {
  return [amplitude, period_s](double now_s) {
    return 1 + amplitude * std::sin(2 * std::numbers::pi * now_s / period_s);
  };
}

std::function<double(double)> rising_drift(double most, double seconds) {
  return [most, seconds](double now_s) {
    return 1 + (most - 1) * std::clamp(now_s / seconds, 0.0, 1.0);
  };
}

double rate_at(const std::vector<FakeLevel>& levels, double bytes) {
  for (const FakeLevel& level : levels) {
    if (bytes <= level.bytes) return level.bytes_per_s;
  }
  return levels.empty() ? 0 : levels.back().bytes_per_s;
}

double probe_operations(ProbeKind kind, int compute_units) {
  const bool computes = kind == ProbeKind::compute || kind == ProbeKind::matrix;
  return computes ? kProbeOperations * compute_units : 0;
}

double probe_seconds(const FakeProbes& probes, ProbeKind kind, DType dtype, int compute_units,
                     const ProbeArgs& args, std::uint64_t index) {
  const auto lie = probes.lies.find(kind);
  const double shown = lie == probes.lies.end() || index >= probes.lies_until ? 1 : lie->second;
  const auto rate = [dtype](const std::map<DType, double>& rates) {
    const auto found = rates.find(dtype);
    return found == rates.end() ? 0 : found->second;
  };
  const auto bytes = static_cast<double>(args.bytes);
  double per_second = 0;
  double work = probe_operations(kind, compute_units);
  switch (kind) {
    case ProbeKind::launch:
      return probes.launch_overhead_s * shown;
    case ProbeKind::compute:
      per_second = rate(probes.compute);
      break;
    case ProbeKind::matrix:
      per_second = rate(probes.matrix);
      break;
    case ProbeKind::copy:
      work = 2 * bytes;
      per_second = rate_at(probes.copy, 2 * bytes);
      break;
    case ProbeKind::read:
      work = bytes;
      per_second = rate_at(probes.read, bytes);
      break;
    case ProbeKind::write:
      work = bytes;
      per_second = rate_at(probes.write, bytes);
      break;
  }
  return probes.launch_overhead_s + work * static_cast<double>(args.repeats) / (per_second * shown);
}

double noise_factor(const FakeNoise& noise, std::uint64_t seed, std::string_view kernel,
                    std::uint64_t index) {
  const std::uint64_t state = mix(mix_text(mix(seed), kernel) ^ index);
  double factor = 1;
  if (noise.sigma > 0) {
    const double gaussian = std::sqrt(-2 * std::log(uniform(state ^ 1))) *
                            std::cos(2 * std::numbers::pi * uniform(state ^ 2));
    factor = std::max(0.1, 1 + noise.sigma * gaussian);
  }
  if (uniform(state ^ 3) < noise.outlier_chance) factor *= noise.outlier_factor;
  if (uniform(state ^ 4) < noise.lucky_chance) factor *= noise.lucky_factor;
  return factor;
}

std::function<double(const FakeLaunch&)> roofline_time(const FakeProbes& probes, DType dtype,
                                                       double share, FakeWorkFn work) {
  const auto found = probes.compute.find(dtype);
  const double peak = found == probes.compute.end() ? 0 : found->second;
  return [peak, levels = probes.read, overhead = probes.launch_overhead_s, share,
          work = std::move(work)](const FakeLaunch& launch) {
    const FakeWork todo = work(launch);
    const double compute_s = todo.operations > 0 ? todo.operations / peak : 0;
    const double memory_s = todo.bytes > 0 ? todo.bytes / rate_at(levels, todo.bytes) : 0;
    return std::max(compute_s, memory_s) / share + overhead;
  };
}

FakeScript demo_script(FakeWorkFn work) {
  FakeScript script;
  script.capabilities.clock_resolution_s = 1e-7;
  script.fingerprint["name"] = "demonstration device";
  script.transfer_bytes_per_s = 16e9;
  script.otherwise.noise = {.sigma = 0.01, .outlier_chance = 0.02, .outlier_factor = 4};
  if (work == nullptr) {
    work = [](const FakeLaunch&) { return FakeWork{.operations = 1e8, .bytes = 1e6}; };
  }
  script.otherwise.seconds_of = [probes = script.probes,
                                 work = std::move(work)](const FakeLaunch& launch) {
    const double share = 0.25 + 0.6 * uniform(mix_text(0, launch.kernel));
    return roofline_time(probes, DType::f32, share, work)(launch);
  };
  return script;
}

}  // namespace rooftune
