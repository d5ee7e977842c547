// Regret: how much slower the candidate that the tuner chose is than the best of all candidates,
// found by timing every legal one thoroughly.
//
//   bench_regret [FILE.csv] [--tunes N] [--json]      without a file: bench/shapes/regret.csv
//
// For each product N sessions (1 when not given) tune one after the other with nothing remembered.
// They may choose differently: a flip, which matters where the two differ by more than the margin.
// All candidates of the table are then timed in turn on the same operands, by calling their kernels
// directly. The best of many noisy estimates is too good to be true, so each chosen one and the
// best one meet once more in a duel of fresh samples, and the regret is the ratio of their times
// there. What tuning cost is in multiples of the chosen one's time: what was spent on measuring,
// without probes.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
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
  bool chosen = false;  // by one of the tunes: timed to the end
  std::vector<double> samples = {};

  double estimate() const { return estimate_s(samples).value_or(INFINITY); }
};

// One search.
struct Tune {
  std::string chosen;
  double ratio = 1;  // of its duel with the best; below 1 when the chosen one wins it
  double measure_s = 0;
  std::uint64_t launches = 0;
};

struct Regret {
  std::string best;
  std::size_t legal = 0;  // candidates that were timed
  double best_s = 0;
  std::vector<Tune> tunes;
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

// Times all of them, those that were chosen to the end.
void run_exhaustively(Race& race, std::vector<Contender>& contenders) {
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
      if (!contender.chosen && contender.estimate() > limit) {
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

// The operands and the problem of a product, with a device of their own.
struct Prepared {
  std::unique_ptr<Session> session;
  std::optional<cli::Operands> operands;
  MatmulProblem problem;
  CpuClient& client() const { return static_cast<CpuClient&>(session->client()); }
};

Result<Prepared> prepare(const cli::Product& product, std::uint64_t seed) {
  Settings settings;
  settings.autotune.cache = false;
  auto session = Session::open({.device = "cpu", .settings = settings});
  if (!session) return std::unexpected(session.error());
  Prepared prepared;
  prepared.session = *std::move(session);
  auto operands = cli::make_operands(prepared.client(), product, seed);
  if (!operands) return std::unexpected(operands.error());
  prepared.operands = *std::move(operands);
  const cli::ProductViews& views = prepared.operands->views();
  if (Status made = make_matmul_problem(views.lhs, views.rhs, views.out, {}, prepared.problem);
      !made) {
    return std::unexpected(made.error());
  }
  return prepared;
}

// One search in a session that remembers nothing.
Result<Tune> tune(const cli::Product& product, std::uint64_t seed) {
  auto prepared = prepare(product, seed);
  if (!prepared) return std::unexpected(prepared.error());
  const cli::ProductViews& views = prepared->operands->views();
  CallReport report;
  if (Status done = prepared->session->matmul(views.lhs, views.rhs, views.out, {.report = &report});
      !done) {
    return std::unexpected(done.error());
  }
  Tune result;
  result.chosen = report.candidate;
  for (const Decision& decision : prepared->session->decisions("matmul")) {
    result.measure_s = decision.cost.measure_s + decision.cost.verify_s;
    result.launches = decision.cost.launches;
  }
  return result;
}

Result<Regret> measure(const cli::Product& product, std::uint64_t seed, int tunes) {
  Regret regret;
  for (int i = 0; i < tunes; ++i) {
    auto once = tune(product, seed);
    if (!once) return std::unexpected(once.error());
    regret.tunes.push_back(*std::move(once));
  }
  const auto prepared = prepare(product, seed);
  if (!prepared) return std::unexpected(prepared.error());
  const CpuClient& client = prepared->client();
  const GemmArgs& gemm = prepared->problem.gemm;
  std::vector<Contender> contenders = legal_contenders(client, gemm);
  const auto named = [&](const std::string& name) {
    return std::find_if(contenders.begin(), contenders.end(),
                        [&](const Contender& c) { return c.row->name == name; });
  };
  for (const Tune& each : regret.tunes) {
    const auto chosen = named(each.chosen);
    if (chosen == contenders.end()) {
      return fail(ErrorKind::internal, fmt::format("{} is not in the table", each.chosen));
    }
    chosen->chosen = true;
  }
  auto executor = CpuExecutor::make(client.capabilities().threads, client.topology());
  if (!executor) return std::unexpected(executor.error());
  Race race(**executor, gemm);
  run_exhaustively(race, contenders);
  Contender& best = *std::min_element(
      contenders.begin(), contenders.end(),
      [](const Contender& a, const Contender& b) { return a.estimate() < b.estimate(); });
  regret.best = best.row->name;
  regret.legal = contenders.size();
  regret.best_s = best.estimate();
  for (Contender& contender : contenders) {
    if (!contender.chosen || &contender == &best) continue;
    duel(race, contender, best);
    const double ratio = contender.estimate() / best.estimate();
    for (Tune& each : regret.tunes) {
      if (each.chosen == contender.row->name) each.ratio = ratio;
    }
  }
  return regret;
}

// The tune whose choice most others made.
const Tune& usual(const Regret& regret) {
  const auto times = [&](const Tune& tune) {
    return std::count_if(regret.tunes.begin(), regret.tunes.end(),
                         [&](const Tune& other) { return other.chosen == tune.chosen; });
  };
  return *std::max_element(regret.tunes.begin(), regret.tunes.end(),
                           [&](const Tune& a, const Tune& b) { return times(a) < times(b); });
}

// Over all products and tunes.
struct Totals {
  std::vector<double> ratios, multiples;
  int flips = 0, flips_that_matter = 0;

  void add(const Regret& regret) {
    const Tune& most = usual(regret);
    for (const Tune& each : regret.tunes) {
      // To have chosen better than the best is luck, not merit: it counts as 1.
      ratios.push_back(std::max(1.0, each.ratio));
      multiples.push_back(each.measure_s / (regret.best_s * std::max(1.0, each.ratio)));
      if (each.chosen == most.chosen) continue;
      const double margin = AutotuneSettings{}.margin;
      ++flips;
      if (std::abs(std::log(each.ratio / most.ratio)) > std::log(1 + margin)) ++flips_that_matter;
    }
  }
  std::string text() const {
    double sum = 0;
    for (const double ratio : ratios) sum += ratio;
    const auto over = [](const std::vector<double>& of, double p) {
      return 100 * (*percentile(of, p) - 1);
    };
    const double count = double(ratios.size());
    return fmt::format(
        "{:.1f} % slower than the best in the mean, {:.1f} % at the 95th percentile, {:.1f} % at "
        "worst\n{:.1f} % of the tunes chose otherwise than the others of their product, {:.1f} % "
        "with a time that differs by more than the margin\nmeasuring cost {:.0f} times the chosen "
        "one's time in the median, {:.0f} at the 95th percentile, {:.0f} at worst",
        100 * (sum / count - 1), over(ratios, 0.95), over(ratios, 1), 100 * flips / count,
        100 * flips_that_matter / count, *percentile(multiples, 0.5), *percentile(multiples, 0.95),
        *percentile(multiples, 1));
  }
};

Json to_json(const cli::ListedProduct& listed, const Regret& regret) {
  Json json = {{"id", listed.id},
               {"product", listed.product.text},
               {"type", to_string(listed.product.in)},
               {"best", regret.best},
               {"candidates", regret.legal},
               {"best_s", regret.best_s}};
  json["tunes"] = Json::array();
  for (const Tune& each : regret.tunes) {
    json["tunes"].push_back({{"chosen", each.chosen},
                             {"ratio", each.ratio},
                             {"measure_s", each.measure_s},
                             {"launches", each.launches}});
  }
  return json;
}

std::vector<std::string> to_cells(const cli::ListedProduct& listed, const Regret& regret) {
  const Tune& most = usual(regret);
  std::vector<double> ratios, multiples;
  for (const Tune& each : regret.tunes) {
    ratios.push_back(each.ratio);
    multiples.push_back(each.measure_s / (regret.best_s * std::max(1.0, each.ratio)));
  }
  return {listed.product.text,
          std::string(to_string(listed.product.in)),
          format_seconds(regret.best_s),
          fmt::format("{:.3f}", most.ratio),
          fmt::format("{:.3f}", *percentile(ratios, 1)),
          fmt::format("{:.0f}", *percentile(multiples, 0.5)),
          std::to_string(regret.legal),
          most.chosen,
          most.chosen == regret.best ? "the same" : regret.best};
}

int run(const std::string& file, int tunes, bool json) {
  const auto list = cli::read_product_list(file);
  if (!list) {
    cli::note(list.error().text);
    return 1;
  }
  for (const cli::BadLine& line : list->bad) cli::note(line.text);
  const cli::Table table({{"product", cli::Align::left, 16},
                          {"type", cli::Align::left, 4},
                          {"best", cli::Align::right, 7},
                          {"ratio", cli::Align::right, 5},
                          {"worst", cli::Align::right, 5},
                          {"cost", cli::Align::right, 5},
                          {"of", cli::Align::right, 3},
                          {"chosen by the tuner", cli::Align::left, 27},
                          {"best of all", cli::Align::left}});
  if (!json) print_line(table.head());
  const LoadOfOthers others;
  Totals totals;
  std::size_t measured = 0;
  for (const cli::ListedProduct& listed : list->products) {
    const auto regret = measure(listed.product, listed.line, tunes);
    if (!regret) {
      cli::note(fmt::format("{}: {}", listed.product.text, regret.error().text));
      continue;
    }
    json ? print_json(to_json(listed, *regret)) : print_line(table.line(to_cells(listed, *regret)));
    totals.add(*regret);
    ++measured;
  }
  if (measured == 0) return 1;
  if (!json) {
    print_line(fmt::format("\n{} products, {} tunes each\n{}", measured, tunes, totals.text()));
    print_line(others.text());
  }
  return measured == list->products.size() && list->bad.empty() ? 0 : 1;
}

// A whole number above 0 and nothing else.
bool is_count(std::string_view text, int& count) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  return error == std::errc() && end == text.data() + text.size() && count > 0;
}

}  // namespace
}  // namespace rooftune

int main(int argc, char** argv) {
  std::string file = ROOFTUNE_SHAPES "/regret.csv";
  bool json = false;
  int tunes = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--json") {
      json = true;
    } else if (argument == "--tunes" && i + 1 < argc && rooftune::is_count(argv[i + 1], tunes)) {
      ++i;
    } else if (!argument.starts_with('-')) {
      file = argument;
    } else {
      fmt::print(stderr, "usage: {} [FILE.csv] [--tunes N] [--json]\n", argv[0]);
      return 2;
    }
  }
  return rooftune::run(file, tunes, json);
}
