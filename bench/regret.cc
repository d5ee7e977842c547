// Regret: how much slower the candidate that the tuner chose is than the best of all candidates,
// found by timing every legal one thoroughly.
//
//   bench_regret [FILE.csv] [--json]      without a file: bench/shapes/regret.csv
//
// For each product a session of its own tunes with nothing remembered. All candidates of the table
// are then timed in turn on the same operands, by calling their kernels directly. The best of many
// noisy estimates is too good to be true, so the chosen one and the best one meet once more in a
// duel of fresh samples, and the regret is the ratio of their times there.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/units.h"
#include "cli/operands.h"
#include "cli/output.h"
#include "cli/product_list.h"
#include "cli/table.h"
#include "device/cpu/client.h"
#include "load_of_others.h"
#include "ops/matmul/cpu/candidates.h"
#include "ops/matmul/problem.h"
#include "rooftune/session.h"
#include "rooftune/tuner.h"
#include "tune/estimator.h"

namespace rooftune {
namespace {

using cli::print_json;
using cli::print_line;

constexpr double kExhaustive_s = 1.5;  // for one product, but at least so many passes
constexpr int kPasses = 5;
constexpr double kDuel_s = 0.5;
constexpr int kDuelPasses = 9;
// Far above the cost of reading the clock and of a fork and join.
constexpr double kShortestSample_s = 200e-6;
// No noise makes a good candidate look so bad.
constexpr double kHopeless = 3;
// After the first passes only those near the best are worth the time.
constexpr double kInTheRace = 1.3;

struct Contender {
  const CpuMatmulCandidate* row = nullptr;
  CpuKernelFn kernel = nullptr;
  int repeats = 1;  // launches per sample
  bool dropped = false;
  std::vector<double> samples = {};

  double estimate() const { return estimate_s(samples).value_or(INFINITY); }
};

struct Regret {
  std::string chosen, best;
  std::size_t legal = 0;            // candidates that were timed
  double chosen_s = 0, best_s = 0;  // in the duel
  double exhaustive_ratio = 1;      // of the estimates before the duel
  double ratio = 1;                 // of the duel; below 1 when the chosen one wins it
};

class Race {
 public:
  Race(CpuExecutor& executor, const GemmArgs& gemm) : executor_(executor), gemm_(gemm) {}

  // A first look: one launch, more when that was short and not hopeless.
  void enter(Contender& contender, double best_s) {
    const double once = timed(contender, 1);
    contender.dropped = once > 3 * kHopeless * best_s && once > kShortestSample_s;
    contender.samples.push_back(once);
    if (contender.dropped) return;
    const double again = std::min(timed(contender, 1), once);
    contender.repeats = static_cast<int>(
        std::clamp(std::ceil(kShortestSample_s / std::max(again, 1e-9)), 1.0, 1e5));
    contender.samples = {timed(contender, contender.repeats)};
  }

  void sample(Contender& contender) {
    // Untimed: the one before has left its own panels in the caches.
    timed(contender, 1);
    contender.samples.push_back(timed(contender, contender.repeats));
  }

 private:
  double timed(const Contender& contender, int repeats) {
    const double begin = steady_now_s();
    for (int i = 0; i < repeats; ++i) executor_.run(contender.kernel, &gemm_);
    return (steady_now_s() - begin) / repeats;
  }

  CpuExecutor& executor_;
  const GemmArgs& gemm_;
};

std::vector<Contender> legal_contenders(const CpuClient& client, const GemmArgs& gemm) {
  std::vector<Contender> contenders;
  for (const CpuMatmulCandidate& row : cpu_matmul_candidates()) {
    if (!client.isa_report().has_level(row.isa)) continue;
    if (illegal_because(row, gemm, client.capabilities().threads) != nullptr) continue;
    contenders.push_back({.row = &row, .kernel = row.kernels.of(gemm.family)});
  }
  return contenders;
}

double best_estimate(const std::vector<Contender>& contenders) {
  double best = INFINITY;
  for (const Contender& contender : contenders) best = std::min(best, contender.estimate());
  return best;
}

// Times all of them; `chosen` first and to the end.
void run_exhaustively(Race& race, std::vector<Contender>& contenders, const Contender& chosen) {
  double best = INFINITY;
  for (Contender& contender : contenders) {
    race.enter(contender, best);
    best = std::min(best, contender.samples.front());
  }
  const double begin = steady_now_s();
  for (int pass = 1; pass < kPasses || steady_now_s() - begin < kExhaustive_s; ++pass) {
    const double limit = best_estimate(contenders) * (pass < kPasses ? kHopeless : kInTheRace);
    for (Contender& contender : contenders) {
      if (contender.dropped) continue;
      if (&contender != &chosen && contender.estimate() > limit) {
        contender.dropped = true;
      } else {
        race.sample(contender);
      }
    }
  }
}

void duel(Race& race, Contender& one, Contender& other) {
  one.samples.clear();
  other.samples.clear();
  const double begin = steady_now_s();
  for (int pass = 0; pass < kDuelPasses || steady_now_s() - begin < kDuel_s; ++pass) {
    // Whoever goes first finds the machine in another state: they take turns at it.
    race.sample(pass % 2 == 0 ? one : other);
    race.sample(pass % 2 == 0 ? other : one);
  }
}

Result<Regret> measure(const cli::Product& product, std::uint64_t seed) {
  Settings settings;
  settings.autotune.cache = false;
  auto session = Session::open({.device = "cpu", .settings = settings});
  if (!session) return std::unexpected(session.error());
  auto& client = static_cast<CpuClient&>((*session)->client());
  auto operands = cli::make_operands(client, product, seed);
  if (!operands) return std::unexpected(operands.error());
  const cli::ProductViews& views = operands->views();
  CallReport report;
  if (Status done = (*session)->matmul(views.lhs, views.rhs, views.out, {.report = &report});
      !done) {
    return std::unexpected(done.error());
  }
  MatmulProblem problem;
  if (Status made = make_matmul_problem(views.lhs, views.rhs, views.out, {}, problem); !made) {
    return std::unexpected(made.error());
  }

  std::vector<Contender> contenders = legal_contenders(client, problem.gemm);
  const auto chosen = std::find_if(contenders.begin(), contenders.end(), [&](const Contender& c) {
    return c.row->name == report.candidate;
  });
  if (chosen == contenders.end()) {
    return fail(ErrorKind::internal, fmt::format("{} is not in the table", report.candidate));
  }
  std::iter_swap(contenders.begin(), chosen);
  auto executor = CpuExecutor::make(client.capabilities().threads, client.topology());
  if (!executor) return std::unexpected(executor.error());
  Race race(**executor, problem.gemm);
  Contender& ours = contenders.front();
  run_exhaustively(race, contenders, ours);
  Contender& best = *std::min_element(
      contenders.begin(), contenders.end(),
      [](const Contender& a, const Contender& b) { return a.estimate() < b.estimate(); });

  Regret regret;
  regret.chosen = ours.row->name;
  regret.best = best.row->name;
  regret.legal = contenders.size();
  regret.exhaustive_ratio = ours.estimate() / best.estimate();
  if (&best == &ours) {
    regret.chosen_s = regret.best_s = ours.estimate();
    return regret;
  }
  duel(race, ours, best);
  regret.chosen_s = ours.estimate();
  regret.best_s = best.estimate();
  regret.ratio = regret.chosen_s / regret.best_s;
  return regret;
}

Json to_json(const cli::ListedProduct& listed, const Regret& regret) {
  return {{"id", listed.id},
          {"product", listed.product.text},
          {"type", to_string(listed.product.in)},
          {"chosen", regret.chosen},
          {"best", regret.best},
          {"candidates", regret.legal},
          {"chosen_s", regret.chosen_s},
          {"best_s", regret.best_s},
          {"exhaustive_ratio", regret.exhaustive_ratio},
          {"ratio", regret.ratio}};
}

std::vector<std::string> to_cells(const cli::ListedProduct& listed, const Regret& regret) {
  return {listed.product.text,
          std::string(to_string(listed.product.in)),
          format_seconds(regret.chosen_s),
          format_seconds(regret.best_s),
          fmt::format("{:.3f}", regret.ratio),
          std::to_string(regret.legal),
          regret.chosen,
          regret.chosen == regret.best ? "the same" : regret.best};
}

int run(const std::string& file, bool json) {
  const auto list = cli::read_product_list(file);
  if (!list) {
    cli::note(list.error().text);
    return 1;
  }
  for (const cli::BadLine& line : list->bad) cli::note(line.text);
  const cli::Table table({{"product", cli::Align::left, 16},
                          {"type", cli::Align::left, 4},
                          {"chosen", cli::Align::right, 7},
                          {"best", cli::Align::right, 7},
                          {"ratio", cli::Align::right, 5},
                          {"of", cli::Align::right, 3},
                          {"chosen by the tuner", cli::Align::left, 27},
                          {"best of all", cli::Align::left}});
  if (!json) print_line(table.head());
  const LoadOfOthers others;
  double sum = 0, worst = 0;
  std::size_t measured = 0;
  for (const cli::ListedProduct& listed : list->products) {
    const auto regret = measure(listed.product, listed.line);
    if (!regret) {
      cli::note(fmt::format("{}: {}", listed.product.text, regret.error().text));
      continue;
    }
    json ? print_json(to_json(listed, *regret)) : print_line(table.line(to_cells(listed, *regret)));
    // To have chosen better than the best is luck, not merit: it counts as 1.
    const double ratio = std::max(1.0, regret->ratio);
    sum += ratio;
    worst = std::max(worst, ratio);
    ++measured;
  }
  if (measured == 0) return 1;
  if (!json) {
    print_line(
        fmt::format("\n{} products: {:.1f} % slower than the best in the mean, {:.1f} % at "
                    "worst",
                    measured, 100 * (sum / double(measured) - 1), 100 * (worst - 1)));
    print_line(others.text());
  }
  return measured == list->products.size() && list->bad.empty() ? 0 : 1;
}

}  // namespace
}  // namespace rooftune

int main(int argc, char** argv) {
  std::string file = ROOFTUNE_SHAPES "/regret.csv";
  bool json = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--json") {
      json = true;
    } else if (!argument.starts_with('-')) {
      file = argument;
    } else {
      fmt::print(stderr, "usage: {} [FILE.csv] [--json]\n", argv[0]);
      return 2;
    }
  }
  return rooftune::run(file, json);
}
