// How near the quick probes come to the ceilings measured at length, in the same run: fresh probes
// of everything in turn with slices of a long measurement of each ceiling, since machines drift.
//
//   bench_probe_accuracy [--device NAME] [--rounds N] [--slice S]     cpu, 6 and 0.1 without
//
// Each ceiling is measured for S seconds before every round of probes and after the last, by
// launches ten times as long as a probe's. A probe is compared with the best launch of the two
// slices around it, and beside that with their 95th percentile. How much the best of two such
// slices differ says how well the ceiling is known: nothing is found out about a probe on a machine
// that does not agree with itself. Between the points of the memory curve what is interpolated is
// compared in the same way.
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
#include "rooftune/device.h"
#include "rooftune/session.h"
#include "throughput/prober.h"
#include "tune/estimator.h"

namespace rooftune {
namespace {

constexpr double kAsked = 0.05;
constexpr double kAskedSeconds = 0.3;
constexpr std::uint64_t kAskedLaunches = 2000;

constexpr double kComputeLaunchSeconds = 20e-3, kMemoryLaunchSeconds = 4e-3;

// The rates of the launches of a slice.
struct Slice {
  double best = 0, high = 0;  // `high`: the 95th percentile
};

// One ceiling, and what was found of it.
struct Ceiling {
  std::string name;
  ProbeKind kind = ProbeKind::read;
  DType dtype = DType::f32;
  double bytes = 0;             // of a point of the memory curve
  bool between_points = false;  // of the curve: the probe interpolates
  std::vector<Slice> slices = {};
  std::vector<double> probes = {};  // of each round

  bool is_memory() const { return bytes > 0; }
  // What the probe of each round showed as a multiple of what the slices around it did.
  std::vector<double> ratios(double Slice::*of) const {
    std::vector<double> all;
    for (std::size_t i = 0; i < probes.size(); ++i) {
      all.push_back(probes[i] / std::max(slices[i].*of, slices[i + 1].*of));
    }
    return all;
  }
  // The lesser of two slices in a row as a multiple of the greater.
  double agreement() const {
    std::vector<double> all;
    for (std::size_t i = 0; i + 1 < slices.size(); ++i) {
      const auto [less, more] = std::minmax(slices[i].best, slices[i + 1].best);
      all.push_back(less / more);
    }
    return percentile(all, 0.5).value();
  }
};

bool is_peak(ProbeKind kind) { return kind == ProbeKind::compute || kind == ProbeKind::matrix; }

// Measures ceilings at length with the device's own probe kernels.
class LongMeasurement {
 public:
  LongMeasurement(Client& client, double slice_s) : client_(client), slice_s_(slice_s) {}
  ~LongMeasurement() { client_.destroy_stream(stream_); }
  LongMeasurement(const LongMeasurement&) = delete;
  LongMeasurement& operator=(const LongMeasurement&) = delete;

  Result<Slice> slice(const Ceiling& ceiling) {
    if (Status ready = own_stream(); !ready) return std::unexpected(ready.error());
    return ceiling.kind == ProbeKind::launch ? launch_slice() : rate_slice(ceiling);
  }

 private:
  // As many launches as fit into the time.
  Result<Slice> rate_slice(const Ceiling& ceiling) {
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
    std::vector<double> rates;
    const double begin = client_.now_s();
    while (rates.empty() || client_.now_s() - begin < slice_s_) {
      const auto seconds = launch(*probe, args);
      if (!seconds) return std::unexpected(seconds.error());
      if (*seconds >= wanted / 4) {
        rates.push_back(work * double(args.repeats) / *seconds);
      }
      // Also later: a launch that was interrupted only seemed to be long enough.
      if (*seconds < wanted / 2) {
        args.repeats *= std::uint64_t(std::clamp(std::ceil(wanted / *seconds), 2.0, 64.0));
      }
    }
    return slice_of(rates);
  }

  // Almost empty launches in a second, in rows.
  Result<Slice> launch_slice() {
    auto probe = client_.probe_kernel(ProbeKind::launch, DType::f32);
    if (!probe) return std::unexpected(probe.error());
    constexpr int kRow = 640;
    std::vector<double> rates;
    const double begin = client_.now_s();
    while (rates.empty() || client_.now_s() - begin < slice_s_) {
      const auto seconds = launch(*probe, ProbeArgs{}, kRow);
      if (!seconds) return std::unexpected(seconds.error());
      rates.push_back(kRow / *seconds);
    }
    return slice_of(rates);
  }

  static Slice slice_of(const std::vector<double>& rates) {
    return {*std::max_element(rates.begin(), rates.end()), percentile(rates, 0.95).value()};
  }

  // Where probes run on a stream of their own, so does this.
  Status own_stream() {
    if (stream_.native != 0 || !client_.capabilities().compiles_at_run_time) return {};
    const auto own = client_.create_stream();
    if (!own) return std::unexpected(own.error());
    stream_ = *own;
    return {};
  }

  Result<double> launch(const ProbeKernel& probe, const ProbeArgs& args, int repeats = 1) {
    const Launch launched{probe.kernel.get(), &args, sizeof args, probe.groups, probe.group_size,
                          /*shared_bytes=*/0, {}};
    return client_.profile(
        stream_, [&] { return client_.launch(stream_, launched); }, repeats);
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
    return client_.fill(stream_, memory_.address(), pattern, memory_.bytes());
  }

  Client& client_;
  const double slice_s_;
  Stream stream_;
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

struct Options {
  std::string device = "cpu";
  std::size_t rounds = 6;
  double slice_s = 0.1;
};

// All that was measured.
struct Campaign {
  std::vector<Ceiling> ceilings;
  std::vector<double> seconds, launches;  // of each round of probes
};

Result<Campaign> measured(Client& client, const Options& options) {
  Campaign campaign;
  LongMeasurement at_length(client, options.slice_s);
  for (std::size_t round = 0; round <= options.rounds; ++round) {
    Prober prober(client, nullptr);
    const auto report = prober.all(true);
    if (!report) return std::unexpected(report.error());
    if (round == 0) {
      // The first only says what there is.
      campaign.ceilings = ceilings_of(client, *report);
    } else {
      campaign.seconds.push_back(report->seconds);
      campaign.launches.push_back(double(report->launches));
      for (Ceiling& ceiling : campaign.ceilings) {
        const auto value = probed(prober, ceiling);
        if (!value) return std::unexpected(value.error());
        ceiling.probes.push_back(*value);
      }
    }
    for (Ceiling& ceiling : campaign.ceilings) {
      const auto slice = at_length.slice(ceiling);
      if (!slice) return std::unexpected(slice.error());
      ceiling.slices.push_back(*slice);
    }
  }
  return campaign;
}

// How many ceilings of a kind there are, and how many were missed.
struct Tally {
  int all = 0, off = 0;
  int known = 0, known_off = 0;  // of those whose long measurements agree with each other
  std::string text() const {
    return fmt::format("{} of {}; of those that are known as well as that: {} of {}", off, all,
                       known_off, known);
  }
};

bool within(double ratio) { return std::abs(ratio - 1) <= kAsked; }

std::vector<std::string> row_of(const Ceiling& ceiling, Tally& tally) {
  const std::vector<double> ratios = ceiling.ratios(&Slice::best);
  const double median = percentile(ratios, 0.5).value();
  const double of_high = percentile(ceiling.ratios(&Slice::high), 0.5).value();
  const double agreement = ceiling.agreement();
  const bool good = within(median), is_known = within(agreement);
  tally.all += 1;
  tally.off += good ? 0 : 1;
  tally.known += is_known ? 1 : 0;
  tally.known_off += is_known && !good ? 1 : 0;
  double best = 0;
  for (const Slice& slice : ceiling.slices) best = std::max(best, slice.best);
  const std::string value = ceiling.kind == ProbeKind::launch ? format_seconds(1 / best)
                            : is_peak(ceiling.kind)           ? format_ops_rate(best)
                                                              : format_bytes_rate(best);
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  return {
      ceiling.name + (ceiling.between_points ? " (between points)" : ""),
      value,
      fmt::format("{:.3f}", agreement),
      fmt::format("{:.3f}{}", median,
                  good       ? ""
                  : is_known ? " OFF"
                             : " off"),
      fmt::format("{:.3f}", *least),
      fmt::format("{:.3f}", *most),
      fmt::format("{:.3f}", of_high),
      fmt::format("{} of {}", std::count_if(ratios.begin(), ratios.end(), within), ratios.size())};
}

// Whether the probes do what is asked of them.
bool print(const Campaign& campaign) {
  cli::Table table({{"ceiling"},
                    {"at length", cli::Align::right},
                    {"agrees with itself", cli::Align::right},
                    {"probed / at length: median", cli::Align::right},
                    {"least", cli::Align::right},
                    {"most", cli::Align::right},
                    {"/ 95th percentile", cli::Align::right},
                    {"rounds within 5 %", cli::Align::right}});
  Tally points, between;
  for (const Ceiling& ceiling : campaign.ceilings) {
    table.add(row_of(ceiling, ceiling.between_points ? between : points));
  }
  fmt::print("{}\n\noff by more than {:g} % in the median\n", table.text(), 100 * kAsked);
  fmt::print("  ceilings: {}\n  between points: {}\n", points.text(), between.text());
  const double median_s = percentile(campaign.seconds, 0.5).value();
  const double longest = *std::max_element(campaign.seconds.begin(), campaign.seconds.end());
  const double most = *std::max_element(campaign.launches.begin(), campaign.launches.end());
  fmt::print("all probes: median {:.3f} s, longest {:.3f} s; at most {:.0f} launches\n", median_s,
             longest, most);
  return points.off == 0 && median_s < kAskedSeconds && most < double(kAskedLaunches);
}

int run(const Options& options) {
  const cli::LoadOfOthers others;
  Settings settings;
  settings.autotune.cache = false;
  auto session = Session::open({.device = options.device, .settings = settings});
  const auto stop = [](const Error& error) {
    fmt::print(stderr, "{}\n", error.text);
    return 1;
  };
  if (!session) return stop(session.error());
  Client& client = (*session)->client();
  const auto campaign = measured(client, options);
  if (!campaign) return stop(campaign.error());
  fmt::print("{}: {} rounds, slices of {:g} s\n\n", client.name(), options.rounds, options.slice_s);
  const bool good = print(*campaign);
  fmt::print("{}\n", others.text());
  return good ? 0 : 1;
}

// Nothing when the command line is wrong.
std::optional<Options> read_options(int argc, char** argv) {
  Options options;
  if (argc % 2 == 0) return std::nullopt;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view option = argv[i], value = argv[i + 1];
    const char* const end = value.data() + value.size();
    std::from_chars_result parsed{end, std::errc()};
    if (option == "--device") {
      options.device = value;
    } else if (option == "--rounds") {
      parsed = std::from_chars(value.data(), end, options.rounds);
    } else if (option == "--slice") {
      parsed = std::from_chars(value.data(), end, options.slice_s);
    } else {
      return std::nullopt;
    }
    if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  }
  if (options.rounds == 0 || !(options.slice_s > 0)) return std::nullopt;
  return options;
}

}  // namespace
}  // namespace rooftune

int main(int argc, char** argv) {
  const auto options = rooftune::read_options(argc, argv);
  if (!options) {
    fmt::print(stderr, "usage: {} [--device NAME] [--rounds N] [--slice SECONDS]\n", argv[0]);
    return 2;
  }
  return rooftune::run(*options);
}
