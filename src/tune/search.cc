// Measures the candidates of a problem and makes a decision.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/units.h"
#include "rooftune/detail/problem.h"
#include "rooftune/tuner.h"
#include "throughput/roofline.h"
#include "tune/charge.h"
#include "tune/conclusion.h"
#include "tune/context_internals.h"
#include "tune/guesses.h"
#include "tune/measurement.h"
#include "tune/own_stream.h"
#include "tune/preparation.h"
#include "tune/schedule.h"
#include "tune/search_mark.h"
#include "tune/trial_setup.h"
#include "tune/turn.h"

namespace rooftune::detail {
namespace {

class Search {
 public:
  Search(TuneContext& context, const std::string& tuner, Problem& problem, const Decision* prior,
         TuningTurn& turn)
      : context_(context),
        settings_(context.settings().autotune),
        problem_(problem),
        prior_(prior),
        client_(problem.client()),
        plan_(plan_of(problem)),
        decision_(begin_decision(settings_, tuner, problem, plan_, prior)),
        measurement_(context, problem, decision_, turn) {
    if (settings_.mode == Mode::online) {
      decision_.not_online = "the operation has no check of a call's own result";
    }
    if (problem.size() > 1) exclude(decision_, turn.exclusions(), problem);
  }

  Result<Decision> run() {
    if (problem_.size() == 1) return only_candidate(std::move(decision_));
    const OwnStream own(client_, problem_);
    if (!own.error.has_value()) return std::unexpected(own.error.error());
    std::vector<std::size_t> members;
    const auto begin_round = [&](const std::vector<std::size_t>& round) {
      members = members_of_round(decision_, problem_, round, later_);
      launched_ = 0;
      const std::size_t threads =
          client_.capabilities().compiles_at_run_time ? std::thread::hardware_concurrency() : 0;
      preparation_.emplace(
          client_, members, [this](std::size_t i) { return problem_.prepare(i); }, threads);
    };
    // The first round is built while the inputs are made and the device is probed.
    if (!plan_.empty()) begin_round(plan_[0]);
    const auto setup = set_up_trial(problem_, settings_, decision_.cost);
    if (!setup) return std::unexpected(setup.error());
    work_ = problem_.work();
    working_set_ = setup->working_set;
    decision_.operands = setup->operands;
    if (prior_ != nullptr && prior_->operands != decision_.operands) {
      // Of another problem of this key: such times cannot be compared with those to come.
      for (CandidateEvidence& candidate : decision_.candidates) candidate.samples.clear();
    }
    find_limit();
    start_s_ = client_.now_s();
    bool served = false;
    for (std::size_t r = 0; r < plan_.size() && !served; ++r) {
      if (r > 0) begin_round(plan_[r]);
      served = run_round(members);
      // Nobody ran: those that were not expected to be good have their turn, some at a time.
      while (!served && !later_.empty() && !measurement_.trial_error() && !decision_.partial) {
        for (const std::size_t i : later_) {
          evidence(i).verdict = Verdict::not_tried;
          evidence(i).reason.clear();
        }
        begin_round(std::exchange(later_, {}));
        served = run_round(members);
      }
      if (const auto& error = measurement_.trial_error()) return std::unexpected(*error);
      if (!served && decision_.partial) break;
    }
    preparation_.reset();
    std::vector<bool> untimed;
    for (std::size_t i = 0; i < problem_.size(); ++i) untimed.push_back(measurement_.untimed(i));
    return conclude(std::move(decision_), problem_, plan_, settings_, untimed);
  }

 private:
  CandidateEvidence& evidence(std::size_t i) { return decision_.candidates[i]; }

  // --- The bound -----------------------------------------------------------------------------

  void find_limit() {
    const auto threshold = threshold_of(settings_.level);
    if (!work_ || !threshold) return;
    if (!ask_peaks(*threshold)) return;
    limit_s_ = decision_.limit_s;
  }

  bool ask_peaks(double threshold) {
    const Charge charge(client_, decision_.cost.probe_s);
    const auto peaks = context_.peaks(work_->dtype, work_->matrix_units, working_set_);
    if (!peaks) return false;  // no probes: no limit, every candidate of the round is measured
    const bool broken = decision_.bound && decision_.bound->broken;
    decision_.bound = BoundRecord{work_->ops,
                                  work_->bytes,
                                  peaks->ops_per_s,
                                  peaks->bytes_per_s,
                                  threshold,
                                  peaks->launch_overhead_s,
                                  broken};
    decision_.limit_s = rooftune::limit_s(roofline(), threshold);
    return true;
  }

  RooflineInput roofline() const {
    const BoundRecord& bound = *decision_.bound;
    return {bound.ops, bound.bytes, bound.peak_ops_per_s, bound.peak_bytes_per_s,
            bound.launch_overhead_s};
  }

  // A sample that is faster than the roofline allows proves a probe wrong: nothing may end this
  // search early, and the probe is measured again for the next ones.
  void check_roofline(double seconds, Schedule& schedule) {
    if (!decision_.bound || decision_.bound->broken || !breaks_roofline(seconds, roofline())) {
      return;
    }
    decision_.bound->broken = true;
    limit_s_.reset();
    schedule.drop_limit();
    const auto prober = context_.internals().prober();
    prober->distrust(work_->dtype, work_->matrix_units);
    prober->distrust_memory();
    ask_peaks(decision_.bound->threshold);
  }

  // --- Measuring -----------------------------------------------------------------------------

  // Never before something was measured: whoever failed until then is no reason to stop.
  bool out_of_budget(const Schedule& schedule) const {
    if (decision_.cost.launches == 0 || !schedule.any_valid()) return false;
    // The budget is for measuring: kernels are compiled once, not for every key.
    const double compiling_s =
        client_.capabilities().compiles_at_run_time ? measurement_.waited_s() : 0;
    return client_.now_s() - start_s_ - compiling_s >= settings_.budget_s;
  }

  // Measures the members of a round; true when at least one has a valid time.
  bool run_round(const std::vector<std::size_t>& members) {
    std::vector<std::vector<double>> prior;
    for (const std::size_t i : members) prior.push_back(evidence(i).samples);
    Schedule schedule(settings_, limit_s_, std::move(prior));
    for (std::size_t m = 0; m < members.size(); ++m) {
      // It took longer than the budget before, and would again.
      const auto best = evidence(members[m]).min_s();
      if (best && *best > settings_.budget_s) schedule.retire(m);
    }

    while (const auto member = measurement_.trial_error() ? std::nullopt : schedule.next()) {
      if (out_of_budget(schedule)) {
        decision_.partial = true;
        break;
      }
      const std::size_t i = members[*member];
      if (!measurement_.launched(i) && !worth_measuring(i, schedule)) {
        schedule.retire(*member);
        continue;
      }
      take_sample(i, *member, schedule);
    }
    if (const auto ended_by = schedule.short_circuit()) {
      decision_.short_circuit = problem_.name(members[*ended_by]);
    }
    record_round(decision_, members, schedule, settings_,
                 schedule.short_circuit() ? "the search had ended at the limit"
                                          : "the budget was spent before its turn");
    return schedule.any_valid();
  }

  // Guesses are checked against the times measured so far: most of a round need not be launched
  // once these show what its members can be expected to take. (What threads have begun to build is
  // built all the same.)
  bool worth_measuring(std::size_t i, const Schedule& schedule) {
    const auto guess = problem_.predicted_s(i);
    const auto leader = schedule.leader();
    if (!guess || !leader) return true;
    const bool promising =
        guesses_.promising(problem_.kind(i), *guess, *leader, problem_.shortlist().sibling_ratio);
    if (promising && launched_ < problem_.shortlist().most_measured) return true;
    evidence(i).verdict = Verdict::eliminated;
    evidence(i).reason =
        promising ? "better guesses had been measured, as many as a search is to launch"
                  : "not expected to come near the leader, as others kept to their guesses";
    later_.push_back(i);
    return false;
  }

  // The first row of a candidate. One sample ends the race for a slow one: a disturbed one should
  // not, and is taken again where it surprises.
  std::optional<double> first_row(std::size_t i, double shortest, const Schedule& schedule) {
    const auto each = measurement_.row(i, shortest);
    if (!each || !surprising(i, *each, schedule)) return each;
    const auto again = measurement_.row(i, shortest);
    if (!again) return std::nullopt;
    return std::min(*each, *again);
  }

  // By its guess; and a short row surprises where it would end the race for a candidate that may
  // well be a good one, or begin it with a leader that is none.
  bool surprising(std::size_t i, double seconds, const Schedule& schedule) const {
    constexpr double kShort = 50e-6, kHopeless = 4;
    const auto guess = problem_.predicted_s(i);
    if (guess && guesses_.surprising(*guess, seconds)) return true;
    if (!guess || measurement_.row_s(i) > kShort) return false;
    const auto leader = schedule.leader();
    return !leader ||
           (seconds > settings_.eliminate_ratio * *leader && seconds < kHopeless * *leader);
  }

  // A sample of a candidate, and what it cost since `launches` had been made.
  void add_sample(std::size_t i, std::size_t member, double seconds, std::uint64_t launches,
                  Schedule& schedule) {
    const auto guess = problem_.predicted_s(i);
    if (guess && schedule.samples(member).empty()) guesses_.add(problem_.kind(i), *guess, seconds);
    schedule.add(member, seconds, decision_.cost.launches - launches);
    check_roofline(seconds, schedule);
  }

  // The shortest row of launches that the clock can tell. Who is left after the first pass is close
  // to the others, and is looked at more closely.
  double shortest_row(std::size_t member, const Schedule& schedule) const {
    constexpr double kCloser = 2;
    const double least = settings_.sample_resolutions * client_.capabilities().clock_resolution_s;
    return schedule.samples(member).empty() ? least : kCloser * least;
  }

  void take_sample(std::size_t i, std::size_t member, Schedule& schedule) {
    const double shortest = shortest_row(member, schedule);
    const std::uint64_t launches = decision_.cost.launches;
    double first_launch_s = INFINITY;
    if (!measurement_.launched(i)) {
      ++launched_;
      const auto once = measurement_.first_launch(i, *preparation_);
      if (!once) {
        schedule.fail(member);
        return;
      }
      if (*once > settings_.budget_s) {
        schedule.add(member, *once);
        schedule.retire(member);
        evidence(i).reason = "one launch took " + std::to_string(*once) +
                             " s, longer than the budget of " + std::to_string(settings_.budget_s) +
                             " s";
        decision_.partial = true;
        return;
      }
      if (*once >= shortest && tells(i, *once, schedule)) {
        add_sample(i, member, *once, launches, schedule);
        return;
      }
      measurement_.expect(i, *once, shortest);
      if (*once >= shortest) first_launch_s = *once;
    }
    const bool first = schedule.samples(member).empty();
    const auto each = first ? first_row(i, shortest, schedule) : measurement_.row(i, shortest);
    if (!each) {
      schedule.fail(member);
      return;
    }
    // A first launch is rarely faster than what follows: then it is that which was disturbed.
    add_sample(i, member, std::min(*each, first_launch_s), launches, schedule);
  }

  // Whether the time of a first launch may stand for a candidate. It finds operands, code and
  // scratch memory cold, and the first candidate of a round finds the operands colder than the
  // others do, which costs up to a few milliseconds: little beside a long launch. A short one is
  // repeated, unless it is so slow that no warmth can save it.
  bool tells(std::size_t i, double once, const Schedule& schedule) const {
    constexpr double kLong = 5e-3, kHopeless = 4, kWorthSaving = 0.2e-3;
    // Where kernels are compiled, the first launch also loads code and takes memory from the
    // system.
    constexpr double kLongAfterLoading = 0.1;
    if (client_.capabilities().compiles_at_run_time) return once >= kLongAfterLoading;
    const auto leader = schedule.leader();
    const auto guess = problem_.predicted_s(i);
    if (once >= kLong) return true;
    return leader && once > kHopeless * *leader && once - *leader > kWorthSaving &&
           !(guess && guesses_.surprising(*guess, once));
  }

  TuneContext& context_;
  const AutotuneSettings& settings_;
  Problem& problem_;
  const Decision* const prior_;
  Client& client_;
  const Plan plan_;
  Decision decision_;
  std::optional<Work> work_;
  double working_set_ = 0;         // bytes that launches go over before they meet the same again
  std::optional<double> limit_s_;  // in force; the record keeps its own
  double start_s_ = 0;
  std::vector<std::size_t> later_;          // of the round in progress: cut off by their guesses
  std::optional<Preparation> preparation_;  // likewise
  GuessCheck guesses_;
  std::size_t launched_ = 0;  // candidates of the round in progress
  Measurement measurement_;
};

}  // namespace

Result<Decision> search(TuneContext& context, const std::string& tuner, Problem& problem,
                        const Decision* prior, TuningTurn& turn) {
  const SearchMark mark;
  const double begin = steady_now_s();
  Result<Decision> decision = Search(context, tuner, problem, prior, turn).run();
  context.internals().span("tune", tuner, begin);
  return decision;
}

}  // namespace rooftune::detail
