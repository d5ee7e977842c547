// rooftune bench: is it right, how fast is it, how near the roofline, and how do others do.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/environment_variables.h"
#include "cli/interleaved.h"
#include "cli/interrupt.h"
#include "cli/list_command.h"
#include "cli/opened.h"
#include "cli/operands.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "device/cpu/isa.h"
#include "fmt/format.h"
#include "ops/matmul/matmul_set.h"
#include "ops/matmul/problem.h"
#include "ops/matmul/rivals.h"
#include "ops/matmul/trial_memory.h"
#include "ops/matmul/verify.h"
#include "rooftune/tuner.h"
#include "throughput/prober.h"
#include "throughput/roofline.h"
#include "tune/estimator.h"

namespace rooftune::cli {
namespace {

struct RivalTime {
  std::optional<double> median_s;
  std::string reason;  // why there is none
};

struct Row {
  std::string skipped, failed;  // the reason; at most one of them
  std::string winner;
  double median_s = 0, min_s = 0, ops_per_s = 0, bytes_per_s = 0;
  std::optional<double> share;
  bool correct = false;
  double error = 0;
  std::vector<RivalTime> rivals;  // in the order of the command line

  bool measured() const { return skipped.empty() && failed.empty(); }
};

Row refused(const Error& error) {
  Row row;
  if (error.kind == ErrorKind::unsupported) {
    row.skipped = "unsupported: " + error.text;
  } else {
    row.failed = error.text;
  }
  return row;
}

// What the device can do for a product at the moment.
struct Roofline {
  double compute_s, memory_s, overhead_s;  // the shortest that each alone allows
  double share_of(double median_s) const {
    return (std::max(compute_s, memory_s) + overhead_s) / median_s;
  }
};

// The mean of two looks, before and after what they are compared with.
std::optional<double> mean(std::optional<double> before, std::optional<double> after) {
  if (before && after) return (*before + *after) / 2;
  return before ? before : after;
}

class Bench {
 public:
  Bench(Session& session, Stream stream, std::vector<Rival> rivals, bool prepacked)
      : session_(session),
        client_(session.client()),
        stream_(stream),
        rivals_(std::move(rivals)),
        prepacked_(prepacked),
        prober_(client_, nullptr) {}
  ~Bench() { client_.destroy_stream(stream_); }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  const std::vector<Rival>& rivals() const { return rivals_; }

  Row run(const Product& product, std::uint64_t seed) {
    const auto views = views_of(product);
    if (!views) return refused(views.error());
    MatmulOptions options;
    options.precision = product.precision;
    options.stream = stream_;
    if (auto known = session_.matmul_decision(views->lhs, views->rhs, views->out, options);
        !known) {
      return refused(known.error());
    }
    Row row;
    if (product.batch == 0 || product.m == 0 || product.n == 0 || product.k == 0) {
      row.skipped = "nothing to compute";
      return row;
    }
    const auto count = count_sets(product, *views, options);
    if (!count) return refused(count.error());
    auto operands = make_operands(client_, product, seed, *count);
    if (!operands) return refused(operands.error());
    std::vector<GemmArgs> sets;
    for (const ProductViews& set : operands->sets) {
      MatmulProblem problem;
      if (Status made = make_matmul_problem(set.lhs, set.rhs, set.out, options, problem); !made) {
        return refused(made.error());
      }
      sets.push_back(problem.gemm);
    }
    packed_.reset();
    if (prepacked_) {
      if (product.batch != 1) {
        row.skipped = "unsupported: a packed operand is one matrix, not a batch";
        return row;
      }
      auto packed = session_.pack_rhs(operands->views().rhs);
      if (!packed) return refused(packed.error());
      packed_ = *std::move(packed);
    }

    CallReport report;
    options.report = &report;
    if (Status right = check(sets, operands->views(), options, row); !right) {
      return refused(right.error());
    }
    row.winner = report.candidate;
    options.report = nullptr;
    if (Status timed = time(sets, operands->sets, options, row); !timed) {
      return refused(timed.error());
    }
    return row;
  }

 private:
  // Launches on the processor run in the caller, with the operands as warm as repeated calls have
  // them. Other devices have a clock and a queue of their own.
  bool on_processor() const { return runtime_of(client_) == "cpu"; }

  // On a device with a queue, launches in a row would find small operands in the cache, which no
  // program does that uses its results: a product that memory bounds takes turns among sets.
  Result<int> count_sets(const Product& product, const ProductViews& views,
                         const MatmulOptions& options) {
    if (on_processor() || prepacked_) return 1;
    MatmulProblem problem;
    if (Status made = make_matmul_problem(views.lhs, views.rhs, views.out, options, problem);
        !made) {
      return std::unexpected(made.error());
    }
    const int sets = sets_beyond_cache(client_, product);
    const auto roofline = look(matmul_work(problem.gemm, client_.capabilities()), sets);
    return roofline && roofline->memory_s > roofline->compute_s ? sets : 1;
  }

  // Peaks measured by a prober that keeps nothing beyond this command. Those of a processor change
  // with whatever else it does, so they are measured each time.
  std::optional<Roofline> look(const Work& work, int sets) {
    if (on_processor()) prober_.reset();
    const auto compute = prober_.compute(work.dtype, work.matrix_units);
    const auto memory = prober_.memory(ProbeKind::read, work.bytes * sets);
    const auto overhead = prober_.launch_overhead();
    if (!compute || !memory || !overhead) return std::nullopt;
    if (!ideal_time_s({work.ops, work.bytes, *compute, *memory, *overhead})) return std::nullopt;
    return Roofline{work.ops / *compute, work.bytes / *memory, *overhead};
  }

  Status enqueue(const ProductViews& views, const MatmulOptions& options) {
    return packed_ ? session_.matmul(views.lhs, *packed_, views.out, options)
                   : session_.matmul(views.lhs, views.rhs, views.out, options);
  }

  Status call(const ProductViews& views, const MatmulOptions& options) {
    if (Status done = enqueue(views, options); !done) return done;
    return client_.synchronize(stream_);
  }

  // Tunes when needed, then looks at the output of one call of the winner.
  Status check(const std::vector<GemmArgs>& sets, const ProductViews& views,
               const MatmulOptions& options, Row& row) {
    // A search that ran out of its budget goes on at later calls: those are not the ones to time.
    constexpr int kMostSearches = 30;
    for (int i = 0; i < kMostSearches; ++i) {
      if (Status done = call(views, options); !done) return done;
      if (!options.report->tuned) break;
    }
    const auto reference = ProductCheck::make(sets.front(), matrix_passes(client_, stream_),
                                              high_policy_error(client_.capabilities()));
    if (!reference) return std::unexpected(reference.error());
    const auto checked = [&](auto run) -> Result<Check> {
      if (Status filled = fill_nan(client_, stream_, views.out); !filled) {
        return std::unexpected(filled.error());
      }
      Status done = run();
      if (done) done = client_.synchronize(stream_);
      if (!done) return std::unexpected(done.error());
      return reference->check(sets.front());
    };
    const auto found = checked([&] { return enqueue(views, options); });
    if (!found) return std::unexpected(found.error());
    row.correct = found->right();
    row.error = found->error;
    // A rival that is called wrongly would be fast for the wrong reason.
    for (const Rival& rival : rivals_) {
      RivalTime& time = row.rivals.emplace_back();
      if (rival.choose) {
        if (Status chosen = rival.choose(sets, stream_); !chosen) {
          time.reason = chosen.error().text;
          continue;
        }
      }
      const auto theirs = checked([&] { return rival.run(sets.front(), stream_); });
      if (!theirs) {
        time.reason = theirs.error().text;
      } else if (!theirs->right()) {
        time.reason = fmt::format("wrong result: relative error {:.1e}", theirs->error);
      }
    }
    return {};
  }

  // Contestant::time of what `run` enqueues or does for one of `count` sets.
  std::function<Result<double>(int)> timer(std::function<Status(std::size_t set)> run,
                                           std::size_t count) {
    if (on_processor()) return by_host_clock([run = std::move(run)] { return run(0); });
    return [this, run = std::move(run), count](int runs) -> Result<double> {
      // Whole turns of all sets; at least two runs, since a device that replays what it was given
      // may do so for several only.
      const std::size_t turns = (static_cast<std::size_t>(std::max(runs, 2)) + count - 1) / count;
      const std::size_t all = turns * count;
      std::size_t next = 0;
      const auto seconds = client_.profile(
          stream_, [&] { return run(next++ % count); }, static_cast<int>(all));
      if (!seconds) return seconds;
      return *seconds / static_cast<double>(all);
    };
  }

  Status time(const std::vector<GemmArgs>& sets, const std::vector<ProductViews>& views,
              const MatmulOptions& options, Row& row) {
    std::vector<Contestant> contestants;
    contestants.push_back(
        {"rooftune",
         timer([&](std::size_t set) { return enqueue(views[set], options); }, sets.size())});
    for (std::size_t i = 0; i < rivals_.size(); ++i) {
      Contestant contestant{
          rivals_[i].name,
          timer([&, i](std::size_t set) { return rivals_[i].run(sets[set], stream_); },
                sets.size())};
      if (!row.rivals[i].reason.empty()) {
        contestant.status = fail(ErrorKind::unsupported, row.rivals[i].reason);
      }
      contestants.push_back(std::move(contestant));
    }
    const Work work = matmul_work(sets.front(), client_.capabilities());
    const int count = static_cast<int>(sets.size());
    const auto before = look(work, count);
    time_interleaved(contestants, on_processor() ? kProcessorPace : kDevicePace);
    const auto after = look(work, count);

    const Contestant& ours = contestants.front();
    if (!ours.status) return ours.status;
    row.median_s = percentile(ours.samples_s, 0.5).value();
    row.min_s = percentile(ours.samples_s, 0).value();
    row.ops_per_s = matmul_ops(sets.front()) / row.median_s;
    row.bytes_per_s = work.bytes / row.median_s;
    const auto share = [&](const std::optional<Roofline>& roofline) {
      return roofline ? std::optional(roofline->share_of(row.median_s)) : std::nullopt;
    };
    row.share = mean(share(before), share(after));
    for (std::size_t i = 0; i < rivals_.size(); ++i) {
      const Contestant& rival = contestants[i + 1];
      if (rival.status) {
        row.rivals[i].median_s = percentile(rival.samples_s, 0.5);
      } else {
        row.rivals[i].reason = rival.status.error().text;
      }
    }
    return {};
  }

  Session& session_;
  Client& client_;
  const Stream stream_;
  std::vector<Rival> rivals_;
  const bool prepacked_;
  std::optional<PackedMatrix> packed_;  // the right operand of the product at hand
  Prober prober_;
};

Json to_json(const Product& product, const Row& row, const std::vector<Rival>& rivals) {
  const bool measured = row.measured();
  const auto number = [&](double value) { return measured ? Json(value) : Json(nullptr); };
  const std::string layout = {product.lhs_transposed ? 'T' : 'N',
                              product.rhs_transposed ? 'T' : 'N'};
  Json times = Json::object();
  for (std::size_t i = 0; measured && i < rivals.size(); ++i) {
    const auto& median_s = row.rivals[i].median_s;
    times[rivals[i].name] = median_s ? Json(*median_s) : Json(nullptr);
  }
  Json json = {{"product", product.text},
               {"in", to_string(product.in)},
               {"out", to_string(product.out)},
               {"layout", layout},
               {"precision", to_string(product.precision)},
               {"winner", measured ? Json(row.winner) : Json(nullptr)},
               {"median_s", number(row.median_s)},
               {"min_s", number(row.min_s)},
               {"ops_per_s", number(row.ops_per_s)},
               {"bytes_per_s", number(row.bytes_per_s)},
               {"share", row.share ? Json(*row.share) : Json(nullptr)},
               {"correct", measured ? Json(row.correct) : Json(nullptr)},
               {"error", number(row.error)},
               {"rivals", std::move(times)}};
  if (!row.skipped.empty()) json["skipped"] = row.skipped;
  if (!row.failed.empty()) json["failed"] = row.failed;
  return json;
}

std::vector<std::string> to_cells(const Product& product, const Row& row) {
  if (!row.measured()) {
    return {product.text, type_text(product),
            row.skipped.empty() ? "failed: " + row.failed : "skipped: " + row.skipped};
  }
  std::vector<std::string> cells = {product.text,
                                    type_text(product),
                                    row.correct ? "yes" : "WRONG",
                                    fmt::format("{:.1e}", row.error),
                                    format_seconds(row.median_s),
                                    format_ops_rate(row.ops_per_s),
                                    format_bytes_rate(row.bytes_per_s),
                                    row.share ? fmt::format("{:.0f} %", 100 * *row.share) : "-"};
  for (const RivalTime& rival : row.rivals) {
    cells.push_back(rival.median_s ? fmt::format("{:.2f}", *rival.median_s / row.median_s) : "-");
  }
  cells.push_back(row.winner);
  return cells;
}

Table table_for(const ProductList& list, const std::vector<Rival>& rivals) {
  std::vector<Column> columns = {{"product", Align::left, product_width(list)},
                                 {"type", Align::left, 4},
                                 {"right", Align::left, 5},
                                 {"error", Align::right, 7},
                                 {"median", Align::right, 7},
                                 {"rate", Align::right, 13},
                                 {"memory", Align::right, 10},
                                 {"roofline", Align::right}};
  for (const Rival& rival : rivals) columns.push_back({"vs " + rival.name, Align::right, 5});
  columns.push_back({"winner", Align::left});
  return Table(std::move(columns));
}

// Those that are installed; the others get a note. One for another kind of device is a mistake of
// the user's, but that the fake device has the memory of the processor.
Outcome<std::vector<Rival>> load_rivals(const std::vector<std::string>& names, Session& session) {
  Client& client = session.client();
  const bool on_fake = runtime_of(client) == "fake";
  for (const std::string& name : names) {
    const std::string_view runtime = runtime_of_rival(name);
    if (runtime == runtime_of(client) || (on_fake && runtime == "cpu")) continue;
    return stop(Exit::usage,
                fmt::format("--vs {}: it works on {}, but the products run on {}", name,
                            runtime == "cpu" ? "the processor" : "a CUDA device", client.name()));
  }
  if (on_fake && !names.empty()) {
    note("the libraries of --vs run on the processor, the products on " + client.name());
  }
  RivalOptions options;
  options.threads = client.capabilities().threads;
  options.client = &client;
  options.folders = split_folders(session.settings().vendor_path);
  options.set_variable = set_variable_for_library;
  options.avx512 = detect(read_cpuid()).level >= Isa::avx512;
  std::vector<Rival> rivals;
  for (const std::string& name : names) {
    auto rival = load_rival(name, options);
    if (rival) {
      const std::string threads =
          runtime_of_rival(name) == "cpu" ? fmt::format("{} threads, ", options.threads) : "";
      note(fmt::format("comparing with {}, {}of {}", rival->version, threads, rival->file));
      for (const std::string& other : rival->passed_over) note("  not with: " + other);
      rivals.push_back(*std::move(rival));
    } else {
      note(rival.error().text + "; going on without it");
    }
  }
  return rivals;
}

// How much faster than each rival, and than the best of them in each line, over the products that
// both have run.
void print_summary(const std::vector<Row>& rows, const std::vector<Rival>& rivals,
                   const Tally& tally, std::size_t wrong) {
  print_line(fmt::format("\n{} measured{}{}", tally.done,
                         wrong == 0 ? "" : fmt::format(", {} WRONG", wrong),
                         exceptions_text(tally)));
  const auto print_mean = [&](const std::string& name, auto rival_s) {
    double logarithms = 0, least = 0;
    int count = 0;
    for (const Row& row : rows) {
      const std::optional<double> rival = row.measured() ? rival_s(row) : std::nullopt;
      if (!rival) continue;
      const double ratio = *rival / row.median_s;
      logarithms += std::log(ratio);
      least = count == 0 ? ratio : std::min(least, ratio);
      ++count;
    }
    if (count == 0) return;
    print_line(fmt::format("{:.2f} times as fast as {} (geometric mean of {}, least {:.2f})",
                           std::exp(logarithms / count), name, count, least));
  };
  for (std::size_t i = 0; i < rivals.size(); ++i) {
    print_mean(rivals[i].version, [i](const Row& row) { return row.rivals[i].median_s; });
  }
  if (rivals.size() < 2) return;
  print_mean("the best of them in each line", [](const Row& row) {
    std::optional<double> best;
    for (const RivalTime& rival : row.rivals) {
      if (rival.median_s && (!best || *rival.median_s < *best)) best = rival.median_s;
    }
    return best;
  });
}

}  // namespace

Outcome<Exit> run_bench(const CommonOptions& common, const ListOptions& options) {
  const auto list = open_list(options);
  if (!list) return std::unexpected(list.error());
  auto opened = open_session(common, Disk::used);
  if (!opened) return std::unexpected(opened.error());
  Session& session = (*opened)->session();
  auto rivals = load_rivals(options.rivals, session);
  if (!rivals) return std::unexpected(rivals.error());
  const auto stream = session.client().create_stream();
  if (!stream) return stop(stream.error());
  Bench bench(session, *stream, *std::move(rivals), options.prepacked);
  catch_interrupts();

  const Table table = table_for(*list, bench.rivals());
  if (!common.json) print_line(table.head());
  Tally tally;
  tally.bad_lines = list->bad.size();
  std::size_t wrong = 0;
  std::vector<Row> rows;
  {
    Progress progress("benchmarking", list->products.size());
    for (std::size_t i = 0; i < list->products.size(); ++i) {
      if (interrupted()) {
        tally.not_reached = list->products.size() - i;
        break;
      }
      const Product& product = list->products[i].product;
      progress.at(i, product.text);
      const Row& row = rows.emplace_back(bench.run(product, i + 1));
      if (row.measured()) {
        ++tally.done;
        if (!row.correct) ++wrong;
      } else {
        ++(row.failed.empty() ? tally.skipped : tally.failed);
      }
      progress.aside([&] {
        common.json ? print_json(to_json(product, row, bench.rivals()))
                    : print_line(table.line(to_cells(product, row)));
      });
    }
  }
  if (!common.json) print_summary(rows, bench.rivals(), tally, wrong);
  if (tally.not_reached > 0) note("interrupted; decisions that were made are kept");
  return wrong > 0 ? Exit::failed : tally.exit();
}

}  // namespace rooftune::cli
