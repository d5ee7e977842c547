#include "throughput/probe_run.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace rooftune {
namespace {

// One launch should last this long: far above the clock's step and the launch overhead, short
// enough that many of them fit between two interruptions. Those of the compute probe are longer
// than it takes to wake a thread on a busy system, or the first thread would have done all of the
// work before the others come.
constexpr double kMemoryLaunchSeconds = 200e-6;
constexpr double kComputeLaunchSeconds = 2e-3;
// And so many times as long as the shortest time that the device's clock can tell from zero.
constexpr double kClockSteps = 200;
// A turn takes so many samples, or fewer when they take long.
constexpr int kSamples = 3;
constexpr double kTurnSeconds = 450e-6;
// Shared machines lose slices of time, so the best counts, not the mean.
constexpr double kRepeatable = 0.02;
constexpr std::size_t kAgreeing = 3;
// Turns that follow each other at once are all in the same slice of the time that a busy system
// hands out: threads that share their processors with others all run in some slices only, and the
// rate of fewer threads repeats itself very well.
constexpr double kLeastComputeSeconds = 8e-3, kLeastMemorySeconds = 1.5e-3;
// Where one pass over a set takes longer than this, a sample goes over a part of it instead, which
// was not used since all others were: as cold as in passes over all.
constexpr double kLongPassSeconds = 2e-3;
constexpr std::uint64_t kPartBytes = 16 << 20;
constexpr std::uint64_t kMostRepeats = std::uint64_t{1} << 40;
// Before the samples of a turn a set is passed over so often, or for so long: by then it lies in
// the caches as it will lie there, and what others left is gone.
constexpr double kWarmPasses = 4;
constexpr double kWarmSeconds = 1e-3;
// Single launches are shorter than the clock's step on some devices, and on a CPU than reading it:
// rows of them are timed, after one that brings their code back.
constexpr int kWarmRow = 32, kRow = 208;
// Those are most of the launches that all probes may take together.
constexpr std::size_t kMostRows = 4;

// The shorter one, where 0 is none.
void shorten(double& shortest, double seconds) {
  shortest = shortest > 0 ? std::min(shortest, seconds) : seconds;
}

}  // namespace

void TurnBests::add(double rate) {
  if (rate > best_ * (1 + kRepeatable)) settled_ = rates_.size();
  best_ = std::max(best_, rate);
  rates_.push_back(rate);
}

bool TurnBests::agree() const {
  const auto close = std::count_if(rates_.begin(), rates_.end(),
                                   [&](double rate) { return rate >= best_ * (1 - kRepeatable); });
  return std::size_t(close) >= kAgreeing && rates_.size() - settled_ >= kAgreeing;
}

ProbeRun::ProbeRun(ProbeKernel kernel, ProbeKind kind, void* sink)
    : kernel_(std::move(kernel)), kind_(kind) {
  args_.sink = sink;
}

ProbeRun::ProbeRun(ProbeKernel kernel, ProbeKind kind, void* sink, void* memory,
                   std::uint64_t bytes)
    : ProbeRun(std::move(kernel), kind, sink) {
  memory_ = static_cast<std::byte*>(memory);
  bytes_ = part_ = bytes;
}

// Repeats of a compute probe, passes of a memory probe.
Result<double> ProbeRun::launch(Timed timed, std::uint64_t repeats) {
  args_.repeats = repeats;
  if (is_memory()) {
    // A copy works on two regions of half the set each.
    const std::uint64_t regions = kind_ == ProbeKind::copy ? 2 : 1;
    if (cursor_ + part_ > bytes_) cursor_ = 0;
    std::byte* const from = memory_ + cursor_ / regions;
    if (in_parts()) cursor_ += part_;
    args_.bytes = part_ / regions;
    args_.source = from;
    args_.destination = regions == 2 ? from + bytes_ / 2 : from;
  }
  return timed(kernel_, args_, 1);
}

// Until a launch is long enough; this also wakes threads and raises clocks.
Status ProbeRun::lengthen(Timed timed) {
  while (!in_parts() && repeats_ < kMostRepeats) {
    const auto seconds = launch(timed, repeats_);
    if (!seconds) return std::unexpected(seconds.error());
    shorten(shortest_s_, *seconds);
    if (shortest_s_ >= wanted_s_ / 2) break;
    const double factor = std::clamp(wanted_s_ / shortest_s_, 2.0, 64.0);
    repeats_ = static_cast<std::uint64_t>(std::ceil(double(repeats_) * factor));
    shortest_s_ = 0;
  }
  return {};
}

Status ProbeRun::prepare(Timed timed, double clock_resolution_s) {
  if (kind_ == ProbeKind::launch) return {};
  wanted_s_ = std::max(is_memory() ? kMemoryLaunchSeconds : kComputeLaunchSeconds,
                       kClockSteps * clock_resolution_s);
  if (is_memory() && bytes_ > kPartBytes) {
    const std::uint64_t parts = (bytes_ + kPartBytes - 1) / kPartBytes;
    part_ = bytes_ / parts & ~std::uint64_t{8191};
    const auto seconds = launch(timed, 1);
    if (!seconds) return std::unexpected(seconds.error());
    if (*seconds * double(parts) <= kLongPassSeconds) part_ = bytes_;
    cursor_ = 0;
  }
  return lengthen(timed);
}

Result<double> ProbeRun::launch_sample(Timed timed) {
  const auto warm = timed(kernel_, args_, kWarmRow);
  if (!warm) return warm;
  const auto seconds = timed(kernel_, args_, kRow);
  return seconds ? Result<double>(1 / *seconds) : seconds;
}

Status ProbeRun::warm_up(Timed timed) {
  const double pass_s = shortest_s_ / double(repeats_);
  const double passes = in_parts() ? 1 : std::clamp(kWarmSeconds / pass_s, 1.0, kWarmPasses);
  const auto seconds = launch(timed, std::uint64_t(passes));
  return seconds ? Status{} : std::unexpected(seconds.error());
}

Status ProbeRun::turn(Timed timed, double now_s) {
  if (turns_.size() == 0) began_s_ = now_s;
  if (kind_ == ProbeKind::launch) {
    const auto launches_per_s = launch_sample(timed);
    if (!launches_per_s) return std::unexpected(launches_per_s.error());
    turns_.add(*launches_per_s);
    return {};
  }
  if (is_memory()) {
    if (Status warm = warm_up(timed); !warm) return warm;
  }
  double best = 0, spent = 0;
  for (int i = 0; i < kSamples && spent < kTurnSeconds; ++i) {
    const auto seconds = launch(timed, repeats_);
    if (!seconds) return std::unexpected(seconds.error());
    shorten(shortest_s_, *seconds);
    const double work = is_memory() ? double(part_) : kernel_.operations_per_repeat;
    best = std::max(best, work * double(repeats_) / *seconds);
    spent += *seconds;
  }
  turns_.add(best);
  // The launch that seemed long enough was interrupted: those of a few passes are mostly overhead,
  // which looks like passes.
  return shortest_s_ < wanted_s_ / 4 ? lengthen(timed) : Status{};
}

bool ProbeRun::done(double now_s, std::size_t most_turns) const {
  const bool launches = kind_ == ProbeKind::launch;
  if (turns_.size() >= (launches ? std::min(most_turns, kMostRows) : most_turns)) return true;
  const double least = launches ? 0 : is_memory() ? kLeastMemorySeconds : kLeastComputeSeconds;
  return turns_.agree() && now_s - began_s_ >= least;
}

double ProbeRun::value() const {
  return kind_ == ProbeKind::launch ? 1 / turns_.best() : turns_.best();
}

}  // namespace rooftune
