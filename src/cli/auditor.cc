#include "cli/auditor.h"

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "cli/interrupt.h"
#include "fmt/format.h"
#include "ops/matmul/matmul_set.h"
#include "ops/matmul/problem.h"
#include "ops/matmul/trial_memory.h"
#include "ops/matmul/verify.h"
#include "tune/context_internals.h"
#include "tune/operand_places.h"
#include "tune/preparation.h"

namespace rooftune::cli {
namespace {

Regime regime_of(rooftune::Operands state) {
  return state == rooftune::Operands::cold ? Regime::cold : Regime::warm;
}

// A launch so long that those of the slowest candidates would take minutes; and how long one of a
// corner of its product may be.
constexpr double kLong_s = 20e-3, kCorner_s = 2e-3;

// About that share of a product: its first rows, and its first columns where that is not enough.
GemmArgs corner(const GemmArgs& whole, double share) {
  constexpr std::int64_t kLeast = 64;  // what fills the tiles of most kernels
  GemmArgs part = whole;
  for (std::int64_t* extent : {&part.m, &part.n}) {
    const auto wanted = static_cast<std::int64_t>(share * double(*extent));
    const std::int64_t kept = std::min(*extent, std::max(wanted, kLeast));
    share *= double(*extent) / double(kept);
    *extent = kept;
  }
  return part;
}

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

struct Auditor::Field {
  Product product;
  Operands operands;
  std::vector<GemmArgs> sets;
  MatmulKey key;
  Regime used = Regime::warm;  // as the settings have it
  // Candidates that a contest of this field, or one of its corner, has shown to be out of the
  // question.
  std::vector<std::string> hopeless;
  // Those that a search or a check here has found right, or that it could not use.
  std::vector<std::string> right, unusable;
  std::size_t next = 0;  // set of a cold launch
  bool looked_at_corner = false;

  const ProductViews& views() const { return operands.views(); }
  const GemmArgs& next_set() {
    next = next + 1 == sets.size() ? 0 : next + 1;
    return sets[next];
  }
};

Auditor::Auditor(Session& session, Stream stream, const AuditPlan& plan)
    : session_(session),
      client_(session.client()),
      stream_(stream),
      plan_(plan),
      tuner_(static_cast<MatmulTuner&>(session.tuner("matmul", {}))) {}

Auditor::~Auditor() { client_.destroy_stream(stream_); }

Result<std::unique_ptr<Auditor>> Auditor::make(Session& session, const AuditPlan& plan) {
  const auto stream = session.client().create_stream();
  if (!stream) return std::unexpected(stream.error());
  return std::unique_ptr<Auditor>(new Auditor(session, *stream, plan));
}

MatmulOptions Auditor::options_for(const Product& product) const {
  MatmulOptions options;
  options.precision = product.precision;
  options.stream = stream_;
  return options;
}

Result<std::unique_ptr<Auditor::Field>> Auditor::make_field(const Product& product,
                                                            const Product& memory,
                                                            std::uint64_t seed, bool cold) {
  auto field = std::make_unique<Field>();
  field->product = product;
  const double bytes = operand_bytes(product);
  const std::uint64_t cache = client_.capabilities().last_level_cache_bytes;
  field->used =
      regime_of(operand_places(session_.settings().autotune.operands, bytes, cache).state);
  const std::size_t places =
      cold ? operand_places(rooftune::Operands::cold, bytes, cache).places : 1;
  auto operands = make_operands(client_, memory, seed, static_cast<int>(places));
  if (!operands) return std::unexpected(operands.error());
  field->operands = *std::move(operands);
  narrow(field->operands, product);
  for (const ProductViews& set : field->operands.sets) {
    MatmulProblem problem;
    if (Status made = make_matmul_problem(set.lhs, set.rhs, set.out, options_for(product), problem);
        !made) {
      return std::unexpected(made.error());
    }
    field->key = make_matmul_key(problem, session_.settings().autotune.level,
                                 client_.capabilities().threads);
    field->sets.push_back(problem.gemm);
  }
  return field;
}

Status Auditor::forget() {
  tuner_.reset();
  return session_.internals().environment()->clear("autotune");
}

Result<AuditedTune> Auditor::tune(Field& field) {
  if (Status forgotten = forget(); !forgotten) return std::unexpected(forgotten.error());
  CallReport report;
  MatmulOptions options = options_for(field.product);
  options.report = &report;
  const ProductViews& views = field.views();
  const double begin = steady_now_s();
  Status done = session_.matmul(views.lhs, views.rhs, views.out, options);
  if (done) done = client_.synchronize(stream_);
  if (!done) return std::unexpected(done.error());
  if (report.origin == Origin::memory || report.origin == Origin::store) {
    return fail(ErrorKind::internal, "a decision was remembered and not made");
  }
  AuditedTune tune;
  tune.call_s = steady_now_s() - begin;
  tune.chosen = report.candidate;
  const auto decision = tuner_.decision(field.key, field.sets.front());
  if (!decision || decision->ranking.empty()) {
    return fail(ErrorKind::not_timed,
                "no decision could be made: no candidate was right and timed");
  }
  tune.partial = decision->partial;
  tune.operands = regime_of(decision->operands);
  tune.cost = decision->cost;
  for (const CandidateEvidence& candidate : decision->candidates) {
    if (candidate.verified) field.right.push_back(candidate.name);
    const bool failed = candidate.verdict == Verdict::wrong ||
                        candidate.verdict == Verdict::build_failed ||
                        candidate.verdict == Verdict::launch_failed;
    if (failed) field.unusable.push_back(candidate.name);
  }
  return tune;
}

template <class Problem>
Result<double> Auditor::timed(std::size_t candidate, int runs, Problem problem) {
  const auto& set = tuner_.set();
  const auto lock = client_.exclusive();
  const auto seconds = client_.profile(
      stream_, [&] { return set.run(candidate, problem(), stream_); }, runs);
  if (!seconds) return seconds;
  return *seconds / runs;
}

void Auditor::find_hopeless(Field& field, const std::string& chosen) {
  const auto& set = tuner_.set();
  const GemmArgs& whole = field.sets.front();
  const auto once = [&](std::size_t candidate, const GemmArgs* problem) {
    return timed(candidate, 1, [problem]() -> const GemmArgs& { return *problem; }).value_or(0);
  };
  const std::size_t reference = *set.find(chosen);
  const double whole_s = once(reference, &whole);
  if (whole_s < kLong_s) return;
  const GemmArgs part = corner(whole, kCorner_s / whole_s);
  const auto part_s = [&](std::size_t candidate) {
    return std::min(once(candidate, &part), once(candidate, &part));
  };
  if (set.illegal_because(reference, part) != nullptr) return;
  const double limit = kHopeless * kHopeless * part_s(reference);
  for (std::size_t i = 0; i < set.size(); ++i) {
    if (i == reference || set.illegal_because(i, whole) != nullptr) continue;
    if (set.illegal_because(i, part) != nullptr || !set.prepare(i, part)) continue;
    if (part_s(i) > limit) field.hopeless.push_back(set.name(i));
  }
}

std::vector<Racer> Auditor::racers(Field& field, Regime regime,
                                   const std::vector<std::string>& named) {
  const auto& set = tuner_.set();
  const GemmArgs& problem = field.sets.front();
  std::vector<std::size_t> members;
  for (std::size_t i = 0; i < set.size(); ++i) {
    if (set.illegal_because(i, problem) != nullptr) continue;
    if (contains(field.unusable, set.name(i))) continue;
    if (contains(field.hopeless, set.name(i)) && !contains(named, set.name(i))) continue;
    members.push_back(i);
  }
  const std::size_t threads =
      client_.capabilities().compiles_at_run_time ? std::thread::hardware_concurrency() : 0;
  detail::Preparation preparation(
      client_, members, [&](std::size_t i) { return set.prepare(i, problem); }, threads);
  std::vector<Racer> racers;
  for (const std::size_t i : members) {
    Racer racer;
    racer.name = set.name(i);
    racer.kept = contains(named, racer.name);
    racer.status = preparation.wait(i).status;
    racer.time = [this, &field, regime, i](int runs) {
      return timed(i, runs, [&field, regime]() -> const GemmArgs& {
        return regime == Regime::cold ? field.next_set() : field.sets.front();
      });
    };
    racers.push_back(std::move(racer));
  }
  return racers;
}

Result<bool> Auditor::is_right(Field& field, std::size_t candidate) {
  const GemmArgs& problem = field.sets.front();
  const auto reference = ProductCheck::make(problem, matrix_passes(client_, stream_),
                                            high_policy_error(client_.capabilities()));
  if (!reference) return std::unexpected(reference.error());
  // Others have left their results there.
  Status done = fill_nan(client_, stream_, field.views().out);
  if (!done) return std::unexpected(done.error());
  done = tuner_.set().run(candidate, problem, stream_);
  if (done) done = client_.synchronize(stream_);
  if (!done) return false;
  const auto check = reference->check(problem);
  if (!check) return std::unexpected(check.error());
  return check->right();
}

Result<Contest> Auditor::contest(Field& field, Regime regime,
                                 const std::vector<std::string>& named) {
  const RacePlan plan = race_plan(client_, plan_.seconds);
  if (!std::exchange(field.looked_at_corner, true)) find_hopeless(field, named.back());
  std::vector<Racer> all = racers(field, regime, named);
  race(all, plan);
  Racer* best = fastest(all);
  // A wrong candidate may be fast for the wrong reason.
  while (best != nullptr && !contains(field.right, best->name)) {
    const auto right = is_right(field, *tuner_.set().find(best->name));
    if (!right) return std::unexpected(right.error());
    if (*right) {
      field.right.push_back(best->name);
    } else {
      field.unusable.push_back(best->name);
      best->status = fail(ErrorKind::internal, "its result is wrong");
      best = fastest(all);
    }
  }
  if (best == nullptr) return fail(ErrorKind::not_timed, "no candidate could be timed");
  Contest contest;
  contest.best = best->name;
  std::vector<Racer*> meeting = {best};
  for (Racer& racer : all) {
    if (racer.status) ++contest.candidates;
    if (&racer != best && racer.kept) {
      if (!racer.status) return std::unexpected(racer.status.error());
      meeting.push_back(&racer);
    }
    // No other regime makes that good.
    if (racer.estimate_s() > kHopeless * kHopeless * best->estimate_s()) {
      field.hopeless.push_back(racer.name);
    }
  }
  auto met = duel(meeting, plan);
  if (!met) return std::unexpected(met.error());
  contest.duel = *std::move(met);
  for (const std::string& name : named) {
    if (contest.duel.find(name) == nullptr) {
      return fail(ErrorKind::internal, fmt::format("{} was chosen and cannot be timed", name));
    }
  }
  return contest;
}

Result<std::string> Auditor::called(const Field& field, Strategy strategy) {
  CallReport report;
  MatmulOptions options = options_for(field.product);
  options.strategy = strategy;
  options.report = &report;
  const ProductViews& views = field.views();
  Status done = session_.matmul(views.lhs, views.rhs, views.out, options);
  if (done) done = client_.synchronize(stream_);
  if (!done) return std::unexpected(done.error());
  return std::string(report.candidate);
}

Result<AuditedMember::Later> Auditor::settle(const Field& field) {
  const RacePlan plan = race_plan(client_, plan_.settle_s);
  const GemmArgs& problem = field.sets.front();
  AuditedMember::Later later;
  const double begin = plan.now_s();
  const auto spent_s = [&] { return plan.now_s() - begin; };
  while (!tuner_.settled(field.key, problem) && spent_s() < plan.seconds && !interrupted()) {
    // Several between two looks at the clock, which takes as long as a small product.
    constexpr int kBetweenLooks = 16;
    for (int call = 0; call < kBetweenLooks; ++call) {
      if (auto done = called(field); !done) return std::unexpected(done.error());
      ++later.calls;
    }
  }
  later.seconds = spent_s();
  later.settled = tuner_.settled(field.key, problem);
  auto chosen = called(field);
  if (!chosen) return std::unexpected(chosen.error());
  later.chosen = *std::move(chosen);
  const auto decision = tuner_.decision(field.key, problem);
  later.split = decision && decision->apart;
  return later;
}

Result<std::vector<AuditedMember>> Auditor::members(const Product& product, const MatmulKey& key,
                                                    std::uint64_t seed) {
  std::vector<AuditedMember> all;
  const std::vector<BucketMember> members =
      bucket_members(product, session_.settings().autotune.level);
  // What is measured for one may change what runs for another: first all as the tune has left it.
  std::vector<std::optional<std::string>> at_once;
  for (const BucketMember& member : members) {
    auto field = make_field(member.product, member.memory, seed, false);
    if (!field) return std::unexpected(field.error());
    at_once.emplace_back();
    // Fields of the key that sizes and pitches alone do not decide.
    if (!((*field)->key == key)) continue;
    auto chosen = called(**field);
    if (!chosen) return std::unexpected(chosen.error());
    at_once.back() = *std::move(chosen);
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (!at_once[i]) continue;
    auto field = make_field(members[i].product, members[i].memory, seed);
    if (!field) return std::unexpected(field.error());
    auto later = settle(**field);
    if (!later) return std::unexpected(later.error());
    const std::string& chosen = *at_once[i];
    std::vector<std::string> named = {chosen};
    if (later->chosen != chosen) named.push_back(later->chosen);
    auto met = contest(**field, (*field)->used, named);
    if (!met) return std::unexpected(met.error());
    later->regret = met->regret(later->chosen);
    all.push_back({members[i].name, members[i].product.text, chosen, met->best, met->regret(chosen),
                   *std::move(later)});
  }
  return all;
}

Result<ProductAudit> Auditor::run(const Product& product, std::uint64_t seed) {
  const auto views = views_of(product);
  if (!views) return std::unexpected(views.error());
  if (auto known =
          session_.matmul_decision(views->lhs, views->rhs, views->out, options_for(product));
      !known) {
    return std::unexpected(known.error());
  }
  if (product.batch == 0 || product.m == 0 || product.n == 0 || product.k == 0) {
    return fail(ErrorKind::unsupported, "nothing to compute");
  }
  auto made = make_field(product, product, seed);
  if (!made) return std::unexpected(made.error());
  Field& field = **made;
  ProductAudit audit;
  for (int i = 0; i < plan_.tunes; ++i) {
    auto once = tune(field);
    if (!once) return std::unexpected(once.error());
    audit.tunes.push_back(*std::move(once));
  }
  audit.decided = audit.tunes.front().operands;
  auto without = called(field, Strategy::untuned);
  if (!without) return std::unexpected(without.error());
  std::vector<std::string> named;
  if (!contains(field.unusable, *without)) {
    named.push_back(*without);
    audit.untuned = *std::move(without);
  }
  for (const AuditedTune& each : audit.tunes) {
    if (!contains(named, each.chosen)) named.push_back(each.chosen);
  }
  for (const Regime regime : kRegimes) {
    // One set is more than the cache holds: it is cold in any case.
    if (regime == Regime::cold && field.sets.size() == 1) {
      audit.contests[1] = audit.contests[0];
      continue;
    }
    auto met = contest(field, regime, named);
    if (!met) return std::unexpected(met.error());
    audit.contests[static_cast<std::size_t>(regime)] = *std::move(met);
  }
  if (plan_.transfer) {
    const MatmulKey key = field.key;
    made->reset();  // its memory
    auto others = members(product, key, seed);
    if (!others) return std::unexpected(others.error());
    audit.members = *std::move(others);
  }
  return audit;
}

}  // namespace rooftune::cli
