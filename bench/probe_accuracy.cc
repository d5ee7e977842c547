// How near the quick probes come to the ceilings measured at length, in the same run: fresh probes
// of everything in turn with slices of a long measurement of each ceiling, since machines drift.
//
//   bench_probe_accuracy [--rounds N] [--slice S]     10 and 0.2 without
//
// Each ceiling is measured for S seconds before every round of probes and after the last, by
// launches ten times as long as a probe's; of each slice the best counts. A probe is compared with
// the best of the two slices around it. Between the points of the memory curve what is interpolated
// is compared in the same way.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "cli/load_of_others.h"
#include "cli/table.h"
#include "device/cpu/client.h"
#include "rooftune/device.h"
#include "throughput/prober.h"
#include "tune/estimator.h"

namespace rooftune {
namespace {

constexpr double kAsked = 0.05;
constexpr double kAskedSeconds = 0.3;
constexpr std::uint64_t kAskedLaunches = 2000;

constexpr double kComputeLaunchSeconds = 20e-3, kMemoryLaunchSeconds = 4e-3;

// One ceiling, and what was found of it.
struct Ceiling {
  std::string name;
  ProbeKind kind = ProbeKind::read;
  DType dtype = DType::f32;
  double bytes = 0;                 // of a point of the memory curve
  bool between_points = false;      // of the curve: the probe interpolates
  std::vector<double> slices = {};  // the best of each
  std::vector<double> probes = {};  // of each round

  bool is_memory() const { return bytes > 0; }
  // What the probe of a round showed as a multiple of what the slices around it did.
  double ratio(std::size_t round) const {
    return probes[round] / std::max(slices[round], slices[round + 1]);
  }
  std::vector<double> ratios() const {
    std::vector<double> all;
    for (std::size_t round = 0; round < probes.size(); ++round) all.push_back(ratio(round));
    return all;
  }
};

bool is_peak(ProbeKind kind) { return kind == ProbeKind::compute || kind == ProbeKind::matrix; }

// Measures ceilings at length with the device's own probe kernels.
class LongMeasurement {
 public:
  LongMeasurement(Client& client, double slice_s) : client_(client), slice_s_(slice_s) {}

  // The best of as many launches as fit into a slice.
  Result<double> slice(const Ceiling& ceiling) {
    auto probe = client_.probe_kernel(ceiling.kind, ceiling.dtype);
    if (!probe) return std::unexpected(probe.error());
    ProbeArgs args;
    double work = probe->operations_per_repeat;
    if (ceiling.is_memory()) {
      if (Status there = provide(ceiling.bytes); !there) return std::unexpected(there.error());
      args.source = args.destination = memory_.address();
      args.bytes = static_cast<std::uint64_t>(ceiling.bytes);
      if (ceiling.kind == ProbeKind::copy) {
        args.bytes /= 2;
        args.destination = static_cast<std::byte*>(memory_.address()) + args.bytes;
      }
      work = ceiling.bytes;
    }
    auto sink = client_.allocate(
        64 * (1 + static_cast<std::uint64_t>(std::max(client_.capabilities().compute_units,
                                                      client_.capabilities().threads))));
    if (!sink) return std::unexpected(sink.error());
    args.sink = sink->address();
    const double wanted = ceiling.is_memory() ? kMemoryLaunchSeconds : kComputeLaunchSeconds;
    double best = 0;
    const double begin = client_.now_s();
    for (bool grown = false; !grown || client_.now_s() - begin < slice_s_;) {
      auto seconds = launch(*probe, args);
      if (!seconds) return seconds;
      grown = grown || *seconds >= wanted / 2;
      if (grown) {
        best = std::max(best, work * double(args.repeats) / *seconds);
      } else {
        args.repeats *= std::uint64_t(std::clamp(std::ceil(wanted / *seconds), 2.0, 64.0));
      }
    }
    return best;
  }

  // Almost empty launches in a second, in rows as a probe times them.
  Result<double> launch_slice() {
    auto probe = client_.probe_kernel(ProbeKind::launch, DType::f32);
    if (!probe) return std::unexpected(probe.error());
    constexpr int kRow = 640;
    double best = 0;
    const double begin = client_.now_s();
    while (client_.now_s() - begin < slice_s_) {
      auto seconds = launch(*probe, ProbeArgs{}, kRow);
      if (!seconds) return seconds;
      best = std::max(best, kRow / *seconds);
    }
    return best;
  }

 private:
  Result<double> launch(const ProbeKernel& probe, const ProbeArgs& args, int repeats = 1) {
    const Launch launched{probe.kernel.get(), &args, sizeof args, probe.groups, probe.group_size,
                          /*shared_bytes=*/0, {}};
    return client_.profile(
        Stream{}, [&] { return client_.launch(Stream{}, launched); }, repeats);
  }

  Status provide(double bytes) {
    const auto wanted = static_cast<std::uint64_t>(bytes);
    if (memory_.bytes() >= wanted) return {};
    memory_ = {};
    auto memory = client_.allocate(wanted);
    if (!memory) return std::unexpected(memory.error());
    memory_ = *std::move(memory);
    const std::byte pattern[] = {std::byte{0x3f}, std::byte{0x12}, std::byte{0x80},
                                 std::byte{0x3f}};
    return client_.fill(Stream{}, memory_.address(), pattern, memory_.bytes());
  }

  Client& client_;
  const double slice_s_;
  Buffer memory_;
};

// What a report of everything shows, as ceilings without figures.
std::vector<Ceiling> ceilings_of(Client& client, const ProbeReport& report) {
  std::vector<Ceiling> all;
  for (const ComputePeak& peak : report.compute) {
    const ProbeKind kind = peak.matrix_units ? ProbeKind::matrix : ProbeKind::compute;
    const auto probe = client.probe_kernel(kind, peak.dtype);
    if (!probe || probe->same_as) continue;  // it is there under the type that it shares with
    // Narrow numbers may run faster as f32, whose peak is then the ceiling.
    if (kind == ProbeKind::compute && peak.dtype == DType::bf16) continue;
    all.push_back({fmt::format("{} {}", to_string(peak.dtype),
                               peak.matrix_units ? "matrix units" : "plain units"),
                   kind, peak.dtype});
  }
  for (const ProbeKind kind : {ProbeKind::read, ProbeKind::write, ProbeKind::copy}) {
    double last = 0;
    for (const MemoryPoint& point : report.memory) {
      const auto add = [&](double bytes, bool between) {
        all.push_back({fmt::format("{} {}", to_string(kind), format_quantity(bytes, "B")), kind,
                       DType::f32, bytes, between});
      };
      if (last > 0) add(std::round(std::sqrt(last * point.working_set_bytes) / 8192) * 8192, true);
      add(point.working_set_bytes, false);
      last = point.working_set_bytes;
    }
  }
  all.push_back({"launch", ProbeKind::launch});
  return all;
}

Result<double> probed(Prober& prober, const Ceiling& ceiling) {
  if (ceiling.kind == ProbeKind::launch) {
    const auto seconds = prober.launch_overhead();
    return seconds ? Result<double>(1 / *seconds) : seconds;
  }
  if (ceiling.is_memory()) return prober.memory(ceiling.kind, ceiling.bytes);
  return prober.compute(ceiling.dtype, ceiling.kind == ProbeKind::matrix);
}

int run(std::size_t rounds, double slice_s) {
  const cli::LoadOfOthers others;
  auto client = CpuClient::make({});
  const auto stop = [](const Error& error) {
    fmt::print(stderr, "{}\n", error.text);
    return 1;
  };
  if (!client) return stop(client.error());
  LongMeasurement at_length(**client, slice_s);
  std::vector<Ceiling> ceilings;
  std::vector<double> seconds, launches;
  for (std::size_t round = 0; round <= rounds; ++round) {
    Prober prober(**client, nullptr);
    // The first only says what there is.
    const auto report = prober.all(true);
    if (!report) return stop(report.error());
    if (round == 0) {
      ceilings = ceilings_of(**client, *report);
    } else {
      seconds.push_back(report->seconds);
      launches.push_back(double(report->launches));
    }
    for (Ceiling& ceiling : ceilings) {
      if (round > 0) {
        const auto value = probed(prober, ceiling);
        if (!value) return stop(value.error());
        ceiling.probes.push_back(*value);
      }
    }
    for (Ceiling& ceiling : ceilings) {
      const auto value =
          ceiling.kind == ProbeKind::launch ? at_length.launch_slice() : at_length.slice(ceiling);
      if (!value) return stop(value.error());
      ceiling.slices.push_back(*value);
    }
  }

  cli::Table table({{"ceiling"},
                    {"at length", cli::Align::right},
                    {"probed / at length: median", cli::Align::right},
                    {"least", cli::Align::right},
                    {"most", cli::Align::right},
                    {"rounds within 5 %", cli::Align::right}});
  int off = 0, points = 0, off_between = 0, between = 0;
  for (const Ceiling& ceiling : ceilings) {
    const std::vector<double> ratios = ceiling.ratios();
    const double median = percentile(ratios, 0.5).value();
    const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
    const auto within = std::count_if(ratios.begin(), ratios.end(),
                                      [](double r) { return std::abs(r - 1) <= kAsked; });
    const bool good = std::abs(median - 1) <= kAsked;
    (ceiling.between_points ? between : points) += 1;
    (ceiling.between_points ? off_between : off) += good ? 0 : 1;
    const double best = *std::max_element(ceiling.slices.begin(), ceiling.slices.end());
    const std::string value = ceiling.kind == ProbeKind::launch ? format_seconds(1 / best)
                              : is_peak(ceiling.kind)           ? format_ops_rate(best)
                                                                : format_bytes_rate(best);
    table.add({ceiling.name + (ceiling.between_points ? " (between points)" : ""), value,
               fmt::format("{:.3f}{}", median, good ? "" : " OFF"), fmt::format("{:.3f}", *least),
               fmt::format("{:.3f}", *most), fmt::format("{} of {}", within, ratios.size())});
  }
  const double longest = *std::max_element(seconds.begin(), seconds.end());
  const double most = *std::max_element(launches.begin(), launches.end());
  const double median_s = percentile(seconds, 0.5).value();
  fmt::print("{}: {} rounds, slices of {:g} s\n\n{}\n\n", (*client)->name(), rounds, slice_s,
             table.text());
  fmt::print("off by more than {:g} % in the median: {} of {} ceilings, {} of {} between points\n",
             100 * kAsked, off, points, off_between, between);
  fmt::print("all probes: median {:.3f} s, longest {:.3f} s; at most {:.0f} launches\n{}\n",
             median_s, longest, most, others.text());
  return off == 0 && median_s < kAskedSeconds && most < double(kAskedLaunches) ? 0 : 1;
}

}  // namespace
}  // namespace rooftune

int main(int argc, char** argv) {
  std::size_t rounds = 10;
  double slice_s = 0.2;
  bool good = argc % 2 == 1;
  for (int i = 1; good && i + 1 < argc; i += 2) {
    const std::string_view option = argv[i], value = argv[i + 1];
    const char* const end = value.data() + value.size();
    const auto parsed = option == "--rounds" ? std::from_chars(value.data(), end, rounds)
                        : option == "--slice"
                            ? std::from_chars(value.data(), end, slice_s)
                            : std::from_chars_result{value.data(), std::errc::invalid_argument};
    good = parsed.ec == std::errc() && parsed.ptr == end && rounds > 0 && slice_s > 0;
  }
  if (!good) {
    fmt::print(stderr, "usage: {} [--rounds N] [--slice SECONDS]\n", argv[0]);
    return 2;
  }
  return rooftune::run(rounds, slice_s);
}
