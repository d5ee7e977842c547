// What calls cost while they are the samples (autotune.mode = "online"): of cold products, the time
// of each call until the key is decided, as multiples of what the winner takes after.
//   bench_online [device [product...]]          "cpu" and a list of its own when left out
// Each round has a session of its own, and nothing is kept on disk.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/units.h"
#include "cli/load_of_others.h"
#include "cli/operands.h"
#include "cli/product.h"
#include "cli/table.h"
#include "rooftune/session.h"
#include "rooftune/tuner.h"

namespace rooftune {
namespace {

constexpr int kRounds = 3;
constexpr double kMostSeconds = 30;  // of calls until the decision
constexpr std::size_t kHits = 41, kMostHits = 4'000;
constexpr double kAsked = 2.2;

// One cold product in a session of its own.
struct Round {
  std::vector<double> calls_s;  // until the first hit
  double final_s = 0;           // median of the hits
  double worst_hit_s = 0;       // what the machine does to a call that is no sample
  double check_s = 0;           // mean of the checks of results
  std::string winner;
  bool decided = false;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

Result<Round> run_round(const std::string& device, const cli::Product& product) {
  Settings settings;
  settings.device = device;
  settings.autotune.cache = false;
  settings.autotune.mode = Mode::online;
  auto session = Session::open({.settings = settings});
  if (!session) return std::unexpected(session.error());
  Client& client = (*session)->client();
  auto operands = cli::make_operands(client, product, 1);
  if (!operands) return std::unexpected(operands.error());
  auto stream = client.create_stream();
  if (!stream) return std::unexpected(stream.error());
  const auto& [lhs, rhs, out] = operands->views();
  Round round;
  CallReport report;
  const auto timed_call = [&]() -> Result<double> {
    const double begin = steady_now_s();
    Status done = (*session)->matmul(
        lhs, rhs, out, {.precision = product.precision, .stream = *stream, .report = &report});
    if (done) done = client.synchronize(*stream);
    if (!done) return std::unexpected(done.error());
    return steady_now_s() - begin;
  };
  std::vector<double> hits;
  std::size_t wanted = kHits;
  const double begin_s = steady_now_s();
  while (hits.size() < wanted && (!hits.empty() || steady_now_s() - begin_s < kMostSeconds)) {
    const auto seconds = timed_call();
    if (!seconds) return std::unexpected(seconds.error());
    (report.origin == Origin::memory ? hits : round.calls_s).push_back(*seconds);
    // As many as there were calls before, for comparison.
    wanted = std::clamp(round.calls_s.size(), kHits, kMostHits);
  }
  client.destroy_stream(*stream);
  round.decided = !hits.empty();
  round.final_s = median(round.decided ? hits : round.calls_s);
  round.worst_hit_s = round.decided ? *std::max_element(hits.begin(), hits.end()) : 0;
  round.winner = report.candidate;
  for (const Decision& decision : (*session)->decisions("matmul")) {
    const auto checked =
        std::count_if(decision.candidates.begin(), decision.candidates.end(),
                      [](const CandidateEvidence& each) { return each.error.has_value(); });
    if (checked > 0) round.check_s = decision.cost.verify_s / double(checked);
  }
  return round;
}

struct Figures {
  std::vector<double> first, worst, second_worst, mean, calls, over, worst_hit;
};

Status measure(const std::string& device, const cli::Product& product, cli::Table& table) {
  Figures figures;
  std::string winners;
  double final_s = 0, check_s = 0;
  for (int r = 0; r < kRounds; ++r) {
    const auto round = run_round(device, product);
    if (!round) return std::unexpected(round.error());
    if (!round->decided) return fail(ErrorKind::internal, product.text + ": no decision");
    final_s = round->final_s;
    check_s = round->check_s;
    if (winners.find(round->winner) == std::string::npos) {
      winners += (winners.empty() ? "" : ", ") + round->winner;
    }
    std::vector<double> ratios;
    for (const double seconds : round->calls_s) ratios.push_back(seconds / round->final_s);
    figures.first.push_back(ratios.front());
    figures.worst_hit.push_back(round->worst_hit_s / round->final_s);
    ratios.erase(ratios.begin());
    figures.calls.push_back(double(round->calls_s.size()));
    figures.over.push_back(double(
        std::count_if(ratios.begin(), ratios.end(), [](double ratio) { return ratio > kAsked; })));
    std::sort(ratios.rbegin(), ratios.rend());
    ratios.resize(std::max<std::size_t>(ratios.size(), 2), 1.0);
    figures.worst.push_back(ratios[0]);
    figures.second_worst.push_back(ratios[1]);
    double sum = 0;
    for (const double ratio : ratios) sum += ratio;
    figures.mean.push_back(sum / double(ratios.size()));
  }
  table.add({product.text, format_seconds(final_s), fmt::format("{:.2f}", check_s / final_s),
             fmt::format("{:.0f}", median(figures.calls)),
             fmt::format("{:.2f}", median(figures.first)),
             fmt::format("{:.2f}", median(figures.worst)),
             fmt::format("{:.2f}", *std::max_element(figures.worst.begin(), figures.worst.end())),
             fmt::format("{:.2f}", median(figures.second_worst)),
             fmt::format("{:.2f}", median(figures.worst_hit)),
             fmt::format("{:.0f}", median(figures.over)),
             fmt::format("{:.2f}", median(figures.mean)), winners});
  return {};
}

int run(int argc, char** argv) {
  const std::string device = argc > 1 ? argv[1] : "cpu";
  std::vector<std::string> products = {"2048",          "1024",        "1000",  "768",
                                       "512",           "256",         "128",   "64",
                                       "4096x64x512",   "64x4096x512", "1000T", "256x256x4096",
                                       "8x256x256x256", "1x4096x4096"};
  if (argc > 2) products.assign(argv + 2, argv + argc);
  const cli::LoadOfOthers others;
  cli::Table table({{"product"},
                    {"winner takes", cli::Align::right},
                    {"check", cli::Align::right},
                    {"calls", cli::Align::right},
                    {"first", cli::Align::right},
                    {"worst after", cli::Align::right},
                    {"of all rounds", cli::Align::right},
                    {"second worst", cli::Align::right},
                    {"worst hit", cli::Align::right},
                    {"over 2.2", cli::Align::right},
                    {"mean", cli::Align::right},
                    {"winner"}});
  for (const std::string& text : products) {
    const auto product = cli::parse_product(text);
    if (!product) {
      fmt::print(stderr, "{}\n", product.error().text);
      return 2;
    }
    if (Status done = measure(device, *product, table); !done) {
      fmt::print(stderr, "{}: {}\n", text, done.error().text);
      return 1;
    }
  }
  fmt::print("{} in multiples of what the winner takes; medians of {} rounds\n{}\n{}\n", device,
             kRounds, table.text(), others.text());
  return 0;
}

}  // namespace
}  // namespace rooftune

int main(int argc, char** argv) { return rooftune::run(argc, argv); }
