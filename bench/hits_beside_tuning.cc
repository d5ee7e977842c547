// Whether hits wait for a thread that tunes: 32 threads call 16 products that were decided, first
// alone, then beside a thread that only computes, then beside one that tunes fresh keys all the
// time.
//
//   bench_hits_beside_tuning [--seconds N]      of each of the parts of a round; 1 without
//
// With more threads than processors the scheduler makes the tail of the latencies, so two things
// tell a wait from that: the control (a thread that takes as much processor time and no lock), and
// the voluntary context switches of the hitting threads. Who waits for a lock gives up its
// processor of its own accord; who is preempted does not.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <bit>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/units.h"
#include "cli/load_of_others.h"
#include "cli/table.h"
#include "rooftune/session.h"
#include "rooftune/tuner.h"

namespace rooftune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kThreads = 32;
constexpr int kRounds = 3;
constexpr std::int64_t kLargest = 256;  // side of any operand here

struct Size {
  std::int64_t m, n, k;
};

// 16 keys: no two of these sizes are rounded up to the same.
std::vector<Size> hit_sizes() {
  std::vector<Size> sizes;
  for (const std::int64_t m : {4, 8, 16, 32}) {
    for (const std::int64_t n : {4, 8, 16, 32}) sizes.push_back({m, n, 16});
  }
  return sizes;
}

// Keys that nobody has met: sizes above those, with either operand transposed or not.
struct Fresh {
  Size size;
  bool lhs_transposed, rhs_transposed;
};
std::vector<Fresh> fresh_keys() {
  std::vector<Fresh> keys;
  for (const bool lhs : {false, true}) {
    for (const bool rhs : {false, true}) {
      for (std::int64_t m = 64; m <= kLargest; m *= 2) {
        for (std::int64_t n = 1; n <= kLargest; n *= 2) {
          for (std::int64_t k = 1; k <= kLargest; k *= 2) keys.push_back({{m, n, k}, lhs, rhs});
        }
      }
    }
  }
  return keys;
}

// Operands of one thread.
struct Operands {
  Operands() {
    for (std::size_t i = 0; i < a.size(); ++i) {
      a[i] = float(i % 17) - 8.5f;
      b[i] = float(i % 13) - 6.5f;
    }
  }
  Status call(Session& session, const Size& size, bool lhs_transposed = false,
              bool rhs_transposed = false, CallReport* report = nullptr) {
    const auto operand = [](const float* data, std::int64_t rows, std::int64_t columns, bool t) {
      return t ? view(data, {columns, rows}).transposed() : view(data, {rows, columns});
    };
    return session.matmul(operand(a.data(), size.m, size.k, lhs_transposed),
                          operand(b.data(), size.k, size.n, rhs_transposed),
                          view(c.data(), {size.m, size.n}), {.report = report});
  }
  std::vector<float> a = std::vector<float>(kLargest * kLargest), b = a, c = a;
};

// Times in classes of 3 %: a list of millions would be what is measured.
class Latencies {
 public:
  void add(std::uint64_t ns) {
    ++counts_[std::min(class_of(ns), counts_.size() - 1)];
    largest_ = std::max(largest_, ns);
    ++count_;
  }
  void add(const Latencies& other) {
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
    largest_ = std::max(largest_, other.largest_);
    count_ += other.count_;
  }
  std::uint64_t count() const { return count_; }
  double largest_s() const { return 1e-9 * double(largest_); }
  double percentile_s(double share) const {
    const auto wanted = std::uint64_t(share * double(count_));
    std::uint64_t passed = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      passed += counts_[i];
      if (passed > wanted) return 1e-9 * double(begin_of(i));
    }
    return largest_s();
  }

 private:
  static constexpr std::uint64_t kFine = 32;  // classes of a power of two
  static std::size_t class_of(std::uint64_t ns) {
    if (ns < kFine) return ns;
    const int shift = std::bit_width(ns) - std::bit_width(kFine);
    return std::size_t(shift) * kFine + (ns >> shift);
  }
  static std::uint64_t begin_of(std::size_t at) {
    if (at < 2 * kFine) return at;
    const std::size_t shift = at / kFine - 1;
    return (at - shift * kFine) << shift;
  }

  std::array<std::uint32_t, 40 * kFine> counts_{};
  std::uint64_t largest_ = 0, count_ = 0;
};

// What the hitting threads did in one part of a round, or in all of a kind.
struct Part {
  Latencies latencies;
  long voluntary = 0, involuntary = 0;  // context switches
  std::uint64_t others = 0;             // keys tuned, or products computed, by the thread beside
  std::uint64_t faults = 0;             // calls that failed, or were no hits

  void add(const Part& other) {
    latencies.add(other.latencies);
    voluntary += other.voluntary;
    involuntary += other.involuntary;
    others += other.others;
    faults += other.faults;
  }
};

enum class Beside { nobody, computing, tuning };

class Bench {
 public:
  Bench(Session& session, double seconds) : session_(session), seconds_(seconds) {}

  // Decides the keys of the hits.
  bool prepare() {
    Operands operands;
    for (const Size& size : sizes_) {
      CallReport report;
      // A part of a search may be left to later calls.
      for (int i = 0; i < 1000 && report.origin != Origin::memory; ++i) {
        if (!operands.call(session_, size, false, false, &report)) return false;
      }
      if (report.origin != Origin::memory) return false;
    }
    return true;
  }

  Part run(Beside beside) {
    std::atomic<bool> stop{false};
    std::barrier begin(kThreads + (beside == Beside::nobody ? 1 : 2));
    std::vector<Part> each(kThreads);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] { hit(std::size_t(t), begin, stop, each[std::size_t(t)]); });
    }
    Part all;
    if (beside != Beside::nobody) {
      threads.emplace_back([&] {
        begin.arrive_and_wait();
        beside == Beside::tuning ? tune(stop, all) : compute(stop, all);
      });
    }
    begin.arrive_and_wait();
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds_));
    stop = true;
    for (std::thread& thread : threads) thread.join();
    for (const Part& part : each) all.add(part);
    return all;
  }

 private:
  void hit(std::size_t thread, std::barrier<>& begin, const std::atomic<bool>& stop, Part& part) {
    Operands operands;
    // Memory that is touched for the first time has the system wait.
    for (const Size& size : sizes_) part.faults += operands.call(session_, size) ? 0 : 1;
    begin.arrive_and_wait();
    rusage before{}, after{};
    getrusage(RUSAGE_THREAD, &before);
    CallReport report;
    for (std::size_t i = thread; !stop.load(std::memory_order_relaxed); ++i) {
      const Size& size = sizes_[i * 7 % sizes_.size()];
      const auto start = Clock::now();
      const Status done = operands.call(session_, size, false, false, &report);
      part.latencies.add(std::uint64_t((Clock::now() - start) / std::chrono::nanoseconds(1)));
      if (!done || report.origin != Origin::memory) ++part.faults;
    }
    getrusage(RUSAGE_THREAD, &after);
    part.voluntary = after.ru_nvcsw - before.ru_nvcsw;
    part.involuntary = after.ru_nivcsw - before.ru_nivcsw;
  }

  void tune(const std::atomic<bool>& stop, Part& part) {
    Operands operands;
    for (; !stop && next_fresh_ < fresh_.size(); ++next_fresh_) {
      const Fresh& key = fresh_[next_fresh_];
      CallReport report;
      const Status done =
          operands.call(session_, key.size, key.lhs_transposed, key.rhs_transposed, &report);
      if (!done || !report.tuned) ++part.faults;
      ++part.others;
    }
  }

  // Reads and writes as much memory as a product does, and takes no lock.
  static void compute(const std::atomic<bool>& stop, Part& part) {
    Operands operands;
    while (!stop) {
      for (std::size_t i = 0; i < operands.c.size(); ++i) {
        operands.c[i] = operands.c[i] * 0.5f + operands.a[i] * operands.b[i];
      }
      ++part.others;
    }
  }

  Session& session_;
  const double seconds_;
  const std::vector<Size> sizes_ = hit_sizes();
  const std::vector<Fresh> fresh_ = fresh_keys();
  std::size_t next_fresh_ = 0;
};

// One line for each of the three, with this share of the time for steps after hits. False: a call
// failed, or nothing was tuned.
Result<bool> measure(double background, double seconds, cli::Table& table) {
  std::string folder = std::filesystem::temp_directory_path() / "rooftune-hits-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return fail(ErrorKind::io, "no folder can be made");
  Settings settings;
  settings.autotune.background = background;
  std::array<Part, 3> parts;
  bool prepared = false;
  {
    auto session = Session::open({.environment = folder + "/", .settings = settings});
    if (!session) return std::unexpected(session.error());
    Bench bench(**session, seconds);
    prepared = bench.prepare();
    for (int round = 0; prepared && round < kRounds; ++round) {
      for (const Beside beside : {Beside::nobody, Beside::computing, Beside::tuning}) {
        parts[std::size_t(beside)].add(bench.run(beside));
      }
    }
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  if (!prepared) return fail(ErrorKind::internal, "the keys of the hits could not be decided");
  bool good = true;
  for (const Beside beside : {Beside::nobody, Beside::computing, Beside::tuning}) {
    const Part& part = parts[std::size_t(beside)];
    const auto time = [&](double share) {
      return format_seconds(part.latencies.percentile_s(share));
    };
    const std::string what = beside == Beside::nobody      ? "nobody"
                             : beside == Beside::computing ? "one that computes"
                                                           : "one that tunes";
    table.add({fmt::format("{:g}", background), what, std::to_string(part.latencies.count()),
               time(0.5), time(0.99), time(0.999), time(0.9999),
               format_seconds(part.latencies.largest_s()), std::to_string(part.voluntary),
               std::to_string(part.involuntary),
               beside == Beside::tuning ? std::to_string(part.others) : "-"});
    good = good && part.faults == 0 && (beside != Beside::tuning || part.others > 0);
  }
  return good;
}

int run(double seconds) {
  const cli::LoadOfOthers others;
  cli::Table table({{"background", cli::Align::right},
                    {"beside"},
                    {"hits", cli::Align::right},
                    {"median", cli::Align::right},
                    {"99 %", cli::Align::right},
                    {"99.9 %", cli::Align::right},
                    {"99.99 %", cli::Align::right},
                    {"longest", cli::Align::right},
                    {"gave up the processor", cli::Align::right},
                    {"were preempted", cli::Align::right},
                    {"keys tuned", cli::Align::right}});
  bool good = true;
  for (const double background : {0.0, 0.02}) {
    const auto done = measure(background, seconds, table);
    if (!done) {
      fmt::print(stderr, "{}\n", done.error().text);
      return 1;
    }
    good = good && *done;
  }
  fmt::print("{} threads, {} keys, {} rounds of {:g} s each\n\n{}\n\n{}\n", kThreads,
             hit_sizes().size(), kRounds, seconds, table.text(), others.text());
  if (!good) fmt::print("FAILED: a call failed, or was no hit, or nothing was tuned\n");
  return good ? 0 : 1;
}

}  // namespace
}  // namespace rooftune

int main(int argc, char** argv) {
  double seconds = 1;
  if (argc > 1) {
    const std::string_view value = argc == 3 ? argv[2] : "";
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), seconds);
    if (std::string_view(argv[1]) != "--seconds" || error != std::errc() ||
        end != value.data() + value.size() || !(seconds > 0)) {
      fmt::print(stderr, "usage: {} [--seconds N]\n", argv[0]);
      return 2;
    }
  }
  return rooftune::run(seconds);
}
