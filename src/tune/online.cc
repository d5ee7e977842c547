#include "tune/online.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "rooftune/detail/online_tune.h"
#include "rooftune/tuner.h"
#include "tune/conclusion.h"
#include "tune/context_internals.h"
#include "tune/estimator.h"
#include "tune/exclusion.h"
#include "tune/guesses.h"
#include "tune/preparation.h"
#include "tune/schedule.h"
#include "tune/stored_decision.h"

namespace rooftune::detail {
namespace {

// Seconds between two writes of what is known so far: what a process that dies can lose.
constexpr double kKeepEvery = 0.5;
// Calls in a row for which the candidate whose turn it is could not be tried.
constexpr int kMostRefused = 16;
// Results that said nothing about a candidate, until it is used without having been verified.
constexpr int kMostChecks = 3;
// Calls that are added up to one sample where kernels are shorter than the clock can tell.
constexpr int kMostCallsPerSample = 32;

class Tune final : public OnlineTune {
 public:
  Tune(TuneContext& context, std::string tuner, std::shared_ptr<const Decision> prior)
      : context_(context),
        settings_(context.settings().autotune),
        client_(context.client()),
        tuner_(std::move(tuner)),
        prior_(std::move(prior)),
        owner_(getpid()) {}
  ~Tune() override {
    // In the child of a fork its threads do not exist: there is nobody to wait for.
    if (getpid() != owner_) {
      for (auto& each : preparations_) static_cast<void>(each.release());
      return;
    }
    keep_unfinished();
  }

  Result<Outcome> call(Problem& problem) override {
    if (taken_.exchange(true, std::memory_order_acquire)) return Outcome{};
    struct Leave {
      std::atomic<bool>& taken;
      ~Leave() { taken.store(false, std::memory_order_release); }
    } leave{taken_};
    if (ended_) return Outcome{};
    if (!begun_) {
      if (auto known = begin(problem)) return ended_with(*std::move(known));
    }
    auto outcome = sample(problem);
    publish_order();
    return outcome;
  }

  std::vector<std::size_t> order() const override {
    const std::lock_guard lock(order_mutex_);
    return order_;
  }

 private:
  // What has happened to a candidate.
  struct Visit {
    bool ran = false;      // here, in this process
    bool checked = false;  // not to be verified any more
    int checks = 0, refused = 0;
    std::optional<double>
        doubtful_s;  // a first sample that was far off, and may have been disturbed
    bool untimed = false;
  };

  CandidateEvidence& evidence(std::size_t i) { return decision_.candidates[i]; }

  Outcome ended_with(Decision decision) {
    ended_ = true;
    return {std::nullopt, false, std::make_shared<const Decision>(std::move(decision))};
  }

  // --- The beginning -------------------------------------------------------------------------

  // Gives the decision where none has to be made.
  std::optional<Decision> begin(const Problem& problem) {
    keeper().start();
    kept_at_s_ = client_.now_s();
    environment_ = context_.internals().environment();
    if (prior_ == nullptr) {
      if (auto stored = load_decision(context_, tuner_, problem)) {
        if (stored->complete && !stored->decision.partial && runs_here(stored->decision, problem)) {
          return std::move(stored->decision);
        }
        prior_ = std::make_shared<const Decision>(std::move(stored->decision));
      }
    }
    plan_ = plan_of(problem);
    decision_ = begin_decision(settings_, tuner_, problem, plan_, prior_.get());
    decision_.mode = Mode::online;
    place_ = place_of(tuner_, problem);
    if (problem.size() > 1) {
      exclude(decision_, quarantined(*environment_, place_), problem);
      exclude(decision_, context_.internals().found_wrong.at(place_), problem);
    }
    if (problem.size() == 1) {
      Decision only = only_candidate(std::move(decision_));
      keep(only);
      return only;
    }
    visits_.assign(problem.size(), {});
    for (std::size_t i = 0; i < visits_.size(); ++i) {
      visits_[i].checked = !settings_.verify || evidence(i).verified;
    }
    begun_ = true;
    round_ = 0;
    begin_round(problem, plan_.empty() ? std::vector<std::size_t>() : plan_.front());
    return std::nullopt;
  }

  static bool runs_here(const Decision& decision, const Problem& problem) {
    for (std::size_t i = 0; i < problem.size(); ++i) {
      const auto& ranking = decision.ranking;
      if (std::find(ranking.begin(), ranking.end(), problem.name(i)) != ranking.end() &&
          problem.illegal_because(i) == nullptr) {
        return true;
      }
    }
    return false;
  }

  void begin_round(const Problem& problem, const std::vector<std::size_t>& round) {
    members_ = members_of_round(decision_, problem, round, later_);
    leave_far_guesses(problem);
    std::vector<std::vector<double>> prior;
    for (const std::size_t i : members_) prior.push_back(evidence(i).samples);
    schedule_.emplace(settings_, std::nullopt, std::move(prior));
    refused_ = 0;
    begin_sample();
    kept_.push_back(problem.kept());
    if (!client_.capabilities().compiles_at_run_time) return;
    // The host has other things to do while it makes calls.
    const std::size_t threads = std::max(1u, std::thread::hardware_concurrency() / 2);
    preparations_.push_back(std::make_unique<Preparation>(
        client_, members_, [kept = kept_.back().get()](std::size_t i) { return kept->prepare(i); },
        threads));
  }

  // A search of its own can afford to try more than a call can.
  void leave_far_guesses(const Problem& problem) {
    std::optional<double> best;
    for (const std::size_t i : members_) {
      const auto guess = problem.predicted_s(i);
      if (guess && (!best || *guess < *best)) best = guess;
    }
    std::erase_if(members_, [&](std::size_t i) {
      const auto guess = problem.predicted_s(i);
      if (!guess || *guess <= kFar * *best || !evidence(i).samples.empty()) return false;
      give_up(i);
      return true;
    });
  }

  void give_up(std::size_t i) {
    evidence(i).verdict = Verdict::eliminated;
    evidence(i).reason = "expected to take too long for a call to try it";
    later_.push_back(i);
  }

  // --- One call ------------------------------------------------------------------------------

  Result<Outcome> sample(Problem& problem) {
    const auto scale = likeness_.scale(size_of(problem));
    const auto member = scale ? next_member(problem) : std::nullopt;
    std::vector<std::size_t> order = order_now();
    if (member) {
      std::erase(order, members_[*member]);
      order.insert(order.begin(), members_[*member]);
    }
    if (!anybody_right()) order.insert(order.end(), members_.begin(), members_.end());
    Outcome outcome;
    for (const std::size_t i : order) {
      if (problem.illegal_because(i) != nullptr || disqualified(evidence(i).verdict)) continue;
      const bool is_sample = member && i == members_[*member];
      if (!run(problem, i, is_sample ? member : std::nullopt, scale.value_or(1))) {
        if (lost_) return std::unexpected(*lost_);
        continue;
      }
      outcome.ran = i;
      outcome.sampled = is_sample;
      break;
    }
    if (!outcome.ran) {
      // The last resort of a call is everybody who was not asked yet.
      for (std::size_t i = 0; i < problem.size() && !outcome.ran; ++i) {
        if (problem.illegal_because(i) != nullptr || disqualified(evidence(i).verdict)) continue;
        if (run(problem, i, std::nullopt, 1)) outcome.ran = i;
        if (lost_) return std::unexpected(*lost_);
      }
    }
    if (!outcome.ran) {
      begun_ = false;
      auto none = conclude(decision_, problem, plan_, settings_, untimed());
      if (!none) return std::unexpected(none.error());
      return fail(ErrorKind::no_candidate, "no candidate of " + tuner_ + " could run this call");
    }
    go_on(problem, outcome);
    return outcome;
  }

  static std::optional<Likeness::Size> size_of(const Problem& problem) {
    const auto work = problem.work();
    if (!work) return std::nullopt;
    return Likeness::Size{work->ops, work->bytes};
  }

  // Whose turn it is; nothing when this call is no sample.
  std::optional<std::size_t> next_member(const Problem& problem) {
    while (const auto member = schedule_->next()) {
      const std::size_t i = members_[*member];
      if (problem.illegal_because(i) != nullptr) {
        if (++refused_ < kMostRefused) return std::nullopt;
        // Its problems do not come back.
        schedule_->retire(*member);
        continue;
      }
      if (!visits_[i].ran && !worth_trying(problem, i)) {
        give_up(i);
        schedule_->retire(*member);
        continue;
      }
      if (too_far(i)) {
        // The schedule keeps two to the end, and everybody to the end of a pass.
        evidence(i).reason = "too far behind the leader for a call to have it again";
        far_.push_back(i);
        schedule_->retire(*member);
        continue;
      }
      if (!preparations_.empty() && anybody_right()) {
        const auto built = preparations_.back()->ready(i);
        if (!built) return std::nullopt;  // this call does not wait for it
        evidence(i).compile_s = built->seconds;
      }
      return member;
    }
    return std::nullopt;
  }

  bool too_far(std::size_t i) const {
    const auto known = time_of(i), leader = schedule_->leader();
    return known && leader && *known > kFar * *leader;
  }

  bool worth_trying(const Problem& problem, std::size_t i) const {
    const auto guess = problem.predicted_s(i);
    const auto leader = schedule_->leader();
    const auto expected = guess ? guesses_.expected_s(*guess) : std::nullopt;
    if (!leader || !expected) return true;
    const double check_s = visits_[i].checked ? 0 : check_s_;
    return *expected <= most_expected_ratio(*leader, check_s) * *leader &&
           guesses_.promising(*guess, *leader);
  }

  // Runs a candidate on the caller's output. False: there is no right result, and the output is as
  // if nothing had run.
  bool run(Problem& problem, std::size_t i, std::optional<std::size_t> member, double scale) {
    Visit& visit = visits_[i];
    if (Status built = problem.prepare(i); !built) {
      failed_with(i, Verdict::build_failed, built.error());
      return false;
    }
    if (visit.checked && !member) {
      Status done = problem.run(i);
      if (!done) failed_with(i, Verdict::launch_failed, done.error());
      visit.ran = visit.ran || done.has_value();
      return done.has_value();
    }
    std::unique_ptr<ResultCheck> check;
    double checking_s = 0;
    if (!visit.checked) {
      const double begin = client_.now_s();
      auto made = problem.make_result_check(settings_.memory_bytes);
      checking_s = client_.now_s() - begin;
      if (!made && anybody_right()) {
        // Somebody else serves this call. Memory that is short may be there at another.
        evidence(i).reason = "could not be verified: " + made.error().text;
        if (++visit.refused >= kMostChecks && member) schedule_->retire(*member);
        return false;
      }
      if (made) check = *std::move(made);
    }
    const double begin_s = steady_now_s();
    auto seconds = client_.profile(
        problem.stream(), [&] { return problem.run(i); }, 1);
    context_.internals().span("sample", problem.name(i), begin_s);
    if (!seconds && seconds.error().kind != ErrorKind::not_timed) {
      failed_with(i, Verdict::launch_failed, seconds.error());
      restore(problem, check.get());
      return false;
    }
    if (!visit.checked && !verify(problem, i, check.get(), checking_s)) return false;
    const bool first = !std::exchange(visit.ran, true);
    if (member) take_time(problem, i, *member, seconds.value_or(0), first, scale);
    return true;
  }

  void restore(Problem& problem, ResultCheck* check) {
    if (check == nullptr) return;
    try {
      // An error here comes back when the next candidate is run, on the same memory.
      static_cast<void>(check->restore(problem.stream()));
    } catch (...) {
    }
  }

  // Whether the caller may have this result.
  bool verify(Problem& problem, std::size_t i, ResultCheck* check, double checking_s) {
    const double begin = client_.now_s(), begin_s = steady_now_s();
    const Result<Check> found = [&]() -> Result<Check> {
      if (check == nullptr) return fail(ErrorKind::unsupported, "there is no check");
      try {
        return check->check(problem.stream());
      } catch (...) {
        return fail(ErrorKind::unsupported, exception_text("the check of a result"));
      }
    }();
    context_.internals().span("verify", problem.name(i), begin_s);
    checking_s += client_.now_s() - begin;
    decision_.cost.verify_s += checking_s;
    check_s_ = checking_s;
    if (!record_check(evidence(i), found)) {
      context_.internals().found_wrong.add(
          place_, {evidence(i).name, evidence(i).version, Verdict::wrong, evidence(i).reason});
      failed(i);
      restore(problem, check);
      return false;
    }
    // Operands that say nothing may be followed by others that do.
    const bool again = found && !found->conclusive && ++visits_[i].checks < kMostChecks;
    visits_[i].checked = !again;
    return true;
  }

  void failed_with(std::size_t i, Verdict verdict, const Error& error) {
    // A shortage of memory passes: what comes of this is not to be believed later. And a device
    // that is lost says nothing of candidates.
    if (error.kind == ErrorKind::out_of_memory) decision_.storable = false;
    if (error.kind == ErrorKind::device_lost) {
      lost_ = error;
    } else {
      out(i, verdict, error.text);
    }
  }
  void out(std::size_t i, Verdict verdict, std::string reason) {
    disqualify(evidence(i), verdict, std::move(reason));
    failed(i);
  }
  void failed(std::size_t i) {
    const auto at = std::find(members_.begin(), members_.end(), i);
    if (at != members_.end()) schedule_->fail(static_cast<std::size_t>(at - members_.begin()));
    begin_sample();
  }

  // --- Times ---------------------------------------------------------------------------------

  void begin_sample() {
    sum_s_ = 0;
    calls_ = 0;
  }

  void take_time(const Problem& problem, std::size_t i, std::size_t member, double seconds,
                 bool first, double scale) {
    ++decision_.cost.launches;
    if (!(seconds >= 0) || !std::isfinite(seconds)) {
      visits_[i].untimed = true;
      out(i, Verdict::not_timed, "the clock gave " + std::to_string(seconds) + " s");
      return;
    }
    decision_.cost.measure_s += seconds;
    if (first && !tells(seconds)) return;
    sum_s_ += seconds;
    ++calls_;
    const double shortest =
        settings_.sample_resolutions * client_.capabilities().clock_resolution_s;
    if (sum_s_ < shortest && calls_ < kMostCallsPerSample) return;
    if (sum_s_ == 0) {
      visits_[i].untimed = true;
      out(i, Verdict::not_timed, "the clock stood still for " + std::to_string(calls_) + " calls");
      return;
    }
    double each = sum_s_ / calls_ * scale;
    begin_sample();
    if (schedule_->samples(member).empty()) {
      const auto guess = problem.predicted_s(i);
      if (doubtful(i, each, guess)) {
        visits_[i].doubtful_s = each;
        return;
      }
      each = std::min(each, visits_[i].doubtful_s.value_or(each));
      if (guess) guesses_.add(*guess, each);
    }
    schedule_->add(member, each);
    refused_ = 0;
  }

  // One sample ends the race for a slow one: a disturbed one should not, and is taken again. Where
  // there is no guess to hold it against, candidates of a round are rarely so far apart.
  bool doubtful(std::size_t i, double seconds, const std::optional<double>& guess) const {
    const auto leader = schedule_->leader();
    if (visits_[i].doubtful_s || !leader || seconds <= kFar * *leader) return false;
    return !guess || guesses_.surprising(*guess, seconds);
  }

  // Whether the time of a candidate's first run may stand for it: it finds code and scratch memory
  // cold, which costs up to a millisecond or so, and more where code has to be loaded.
  bool tells(double seconds) const {
    constexpr double kLong = 5e-3, kLongAfterLoading = 0.1, kMostForWarmth = 1e-3, kHopeless = 3;
    if (client_.capabilities().compiles_at_run_time) return seconds >= kLongAfterLoading;
    const auto leader = schedule_->leader();
    return seconds >= kLong ||
           (leader && seconds > kHopeless * *leader && seconds - *leader > kMostForWarmth);
  }

  // --- Who is known --------------------------------------------------------------------------

  // May serve a call without being checked.
  bool right(std::size_t i) const {
    return visits_[i].checked && (visits_[i].ran || decision_.candidates[i].verified) &&
           !disqualified(decision_.candidates[i].verdict);
  }
  bool anybody_right() const {
    for (std::size_t i = 0; i < visits_.size(); ++i) {
      if (right(i)) return true;
    }
    return false;
  }
  const std::vector<double>& samples_of(std::size_t i) const {
    const auto at = std::find(members_.begin(), members_.end(), i);
    if (at == members_.end()) return decision_.candidates[i].samples;
    return schedule_->samples(static_cast<std::size_t>(at - members_.begin()));
  }
  std::optional<double> time_of(std::size_t i) const { return estimate_s(samples_of(i)); }

  // As order(), of now.
  std::vector<std::size_t> order_now() const {
    std::vector<std::pair<double, std::size_t>> known;
    for (std::size_t i = 0; i < visits_.size(); ++i) {
      if (right(i)) known.emplace_back(time_of(i).value_or(INFINITY), i);
    }
    std::stable_sort(known.begin(), known.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::size_t> order;
    for (const auto& [seconds, i] : known) order.push_back(i);
    return order;
  }
  void publish_order() {
    if (!begun_) return;
    std::vector<std::size_t> order = order_now();
    // Behind those that are known to be right, those that are not known to be wrong.
    for (std::size_t i = 0; i < visits_.size(); ++i) {
      if (disqualified(evidence(i).verdict) || right(i)) continue;
      order.push_back(i);
    }
    const std::lock_guard lock(order_mutex_);
    order_ = std::move(order);
  }

  std::vector<bool> untimed() const {
    std::vector<bool> all;
    for (const Visit& visit : visits_) all.push_back(visit.untimed);
    return all;
  }

  // --- The end -------------------------------------------------------------------------------

  // The next round where this one has ended without a time, or else the decision.
  void go_on(const Problem& problem, Outcome& outcome) {
    while (!schedule_->next()) {
      if (!schedule_->any_valid() && next_round(problem)) continue;
      auto decided = decide(problem, false);
      if (!decided) return;  // nobody has a time or may be used: this call had the last resort
      outcome.decision = ended_with(*std::move(decided)).decision;
      // On disk a little after the call, which does not wait for it.
      keep(*outcome.decision);
      return;
    }
    if (client_.now_s() - kept_at_s_ < kKeepEvery || keeper().busy()) return;
    kept_at_s_ = client_.now_s();
    if (auto partial = decide(problem, true)) {
      keeper().run(
          [&context = context_, kept = *std::move(partial)] { keep_evidence(context, kept); });
    }
  }

  Keeper& keeper() { return *context_.internals().keeper; }
  void keep(const Decision& decision) {
    keeper().run([&context = context_, place = environment_, kept = decision]() mutable {
      keep_decision(context, kept, *place);
    });
  }

  // A session that closes early leaves to the next what it knows.
  void keep_unfinished() {
    if (!begun_ || ended_ || decision_.cost.launches == 0) return;
    // Of an environment that was left it is not to be told to another.
    if (environment_ != context_.internals().environment()) return;
    if (auto partial = decide(*kept_.back(), true)) keep_evidence(context_, *partial);
  }

  bool next_round(const Problem& problem) {
    record(false);
    if (!later_.empty()) {
      const auto later = std::exchange(later_, {});
      for (const std::size_t i : later) {
        evidence(i).verdict = Verdict::not_tried;
        evidence(i).reason.clear();
      }
      begin_round(problem, later);
      return true;
    }
    if (round_ + 1 >= plan_.size()) return false;
    begin_round(problem, plan_[++round_]);
    return true;
  }

  void record(bool partial) {
    record_round(decision_, members_, *schedule_, settings_,
                 partial ? "its turn was still to come" : "no call could try it");
    for (const std::size_t i : far_) {
      if (!disqualified(evidence(i).verdict)) evidence(i).verdict = Verdict::eliminated;
    }
  }

  Result<Decision> decide(const Problem& problem, bool partial) {
    const Decision before = decision_;
    record(partial);
    auto decided = conclude(decision_, problem, plan_, settings_, untimed());
    if (decided) decided->partial = partial;
    if (partial) decision_ = before;  // its verdicts are of the moment
    return decided;
  }

  TuneContext& context_;
  const AutotuneSettings& settings_;
  Client& client_;
  const std::string tuner_;
  std::shared_ptr<const Decision> prior_;
  const pid_t owner_;

  std::atomic<bool> taken_{false};  // by the call that is a sample, whose is all that follows
  bool begun_ = false, ended_ = false;
  Decision decision_;
  Plan plan_;
  std::vector<Visit> visits_;  // by candidate
  GuessCheck guesses_;
  Likeness likeness_;
  double check_s_ = 0;  // that the last check took
  // Of the round in progress.
  std::size_t round_ = 0;
  std::vector<std::size_t> members_, later_, far_;
  std::optional<Schedule> schedule_;
  int refused_ = 0;
  // Of the sample in progress.
  double sum_s_ = 0;
  int calls_ = 0;
  std::shared_ptr<Environment> environment_;  // where the key was first met
  KeyPlace place_;
  std::optional<Error> lost_;  // the device
  double kept_at_s_ = 0;       // when the evidence was last written

  mutable std::mutex order_mutex_;
  std::vector<std::size_t> order_ = {0};

  std::vector<std::unique_ptr<Problem>> kept_;  // of each round, for what outlives a call
  std::vector<std::unique_ptr<Preparation>> preparations_;  // the last is of this round
};

}  // namespace

std::shared_ptr<OnlineTune> make_online_tune(TuneContext& context, std::string tuner,
                                             std::shared_ptr<const Decision> prior) {
  return std::make_shared<Tune>(context, std::move(tuner), std::move(prior));
}

}  // namespace rooftune::detail
