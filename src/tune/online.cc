// One call of a key that is tuned by its calls.
#include "tune/online.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/clock.h"
#include "tune/call_tune.h"
#include "tune/estimator.h"
#include "tune/exclusion.h"

namespace rooftune::detail {
namespace {

// Calls in a row for which the candidate whose turn it is could not be tried.
constexpr int kMostRefused = 16;
// Results that said nothing about a candidate, until it is used without having been verified.
constexpr int kMostChecks = 3;
// Calls that are added up to one sample where kernels are shorter than the clock can tell.
constexpr int kMostCallsPerSample = 32;
// Seconds of first launches in the first call: a few times what it takes by itself, to begin.
constexpr double kMostOpening = 1e-3;

}  // namespace

Result<CallTune::Outcome> CallTune::call(Problem& problem) {
  if (taken_.exchange(true, std::memory_order_acquire)) return Outcome{};
  struct Leave {
    std::atomic<bool>& taken;
    std::unique_ptr<ResultCheck>& check;  // of this call's operands
    ~Leave() {
      check.reset();
      taken.store(false, std::memory_order_release);
    }
  } leave{taken_, check_};
  if (ended_) return Outcome{};
  if (!begun_) {
    if (auto known = begin(problem)) return ended_with(std::move(known));
  }
  auto outcome = sample(problem);
  publish_order();
  if (ended_) close_rehearsal();
  return outcome;
}

std::vector<std::size_t> CallTune::order() const {
  const std::lock_guard lock(order_mutex_);
  return order_;
}

Result<CallTune::Outcome> CallTune::sample(Problem& problem) {
  std::optional<Likeness::Size> size;
  if (const auto work = problem.work()) size = Likeness::Size{work->ops, work->bytes};
  const auto scale = likeness_.scale(size);
  const auto member = scale ? next_member(problem) : std::nullopt;
  if (lost_) return std::unexpected(*lost_);
  Outcome outcome;
  const auto try_one = [&](std::size_t i, std::optional<std::size_t> as) {
    if (outcome.ran || lost_ || problem.illegal_because(i) != nullptr ||
        disqualified(evidence(i).verdict)) {
      return;
    }
    if (!run(problem, i, as, scale.value_or(1), Resort::usual)) return;
    outcome.ran = i;
    outcome.sampled = outcome.sampled || as.has_value();
  };
  if (member) try_one(members_[*member], member);
  if (std::exchange(opening_, false) && outcome.ran) open(problem, outcome);
  if (!outcome.ran) {
    std::vector<std::size_t> order = order_now();
    if (!anybody_right()) order.insert(order.end(), members_.begin(), members_.end());
    for (const std::size_t i : order) {
      if (!member || i != members_[*member] || right(i)) try_one(i, std::nullopt);
    }
  }
  if (lost_) return std::unexpected(*lost_);
  // The last resort of a call is everybody who was not asked yet, and a fallback that is only
  // suspected.
  for (const bool suspected : {false, true}) {
    for (std::size_t i = 0; i < problem.size() && !outcome.ran; ++i) {
      if (problem.illegal_because(i) != nullptr) continue;
      if (suspected ? i > 0 || !evidence(i).quarantined : disqualified(evidence(i).verdict)) {
        continue;
      }
      if (run(problem, i, std::nullopt, 1, Resort::last)) outcome.ran = i;
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

// First launches of all members, in the first call, whose output the last right one leaves. Nothing
// has run when none is left.
void CallTune::open(Problem& problem, Outcome& outcome) {
  if (check_ == nullptr || !right(*outcome.ran)) return;
  const double until = client_.now_s() + kMostOpening;
  for (std::size_t m = 0; m < members_.size() && client_.now_s() < until; ++m) {
    const std::size_t i = members_[m];
    if (visits_[i].ran || visits_[i].launched || disqualified(evidence(i).verdict)) continue;
    if (!worth_trying(problem, i)) continue;  // its turn to be given up comes
    outcome.ran.reset();
    if (!restore(problem)) return;
    if (run(problem, i, m, 1, Resort::usual)) outcome.ran = i;
    if (lost_) return;
  }
}

// Whose turn it is; nothing when this call is no sample.
std::optional<std::size_t> CallTune::next_member(const Problem& problem) {
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
    if (first_launch(problem, i) == FirstLaunch::not_now) return std::nullopt;
    if (lost_) return std::nullopt;
    if (disqualified(evidence(i).verdict)) continue;  // in its rehearsal
    return member;
  }
  return std::nullopt;
}

bool CallTune::too_far(std::size_t i) const {
  const auto known = time_of(i), leader = schedule_->leader();
  return known && leader && *known > kFar * *leader;
}

bool CallTune::worth_trying(const Problem& problem, std::size_t i) const {
  const auto guess = problem.predicted_s(i);
  const auto leader = schedule_->leader();
  const auto expected = guess ? guesses_.expected_s(problem.kind(i), *guess) : std::nullopt;
  if (!leader || !expected) return true;
  const auto tried = std::ranges::count_if(
      visits_, [](const Visit& visit) { return visit.ran || visit.launched; });
  const Shortlist limits = problem.shortlist();
  if (static_cast<std::size_t>(tried) >= limits.most_measured) return false;
  const double check_s = visits_[i].checked ? 0 : check_s_;
  return *expected <= most_expected_ratio(*leader, check_s) * *leader &&
         guesses_.promising(problem.kind(i), *guess, *leader, limits.sibling_ratio);
}

// --- First launches ------------------------------------------------------------------------------

// Whether a call can have the first launch of a candidate and what belongs to it.
bool CallTune::has_time(std::size_t i) const {
  const auto leader = schedule_->leader();
  const double check_s = visits_[i].checked ? 0 : check_s_;
  if (client_.capabilities().compiles_at_run_time) {
    return leader && fits_in_call_on_stream(*leader, check_s);
  }
  return !leader || fits_in_call(*leader, check_s);
}

CallTune::FirstLaunch CallTune::first_launch(const Problem& problem, std::size_t i) {
  Visit& visit = visits_[i];
  if (visit.ran || (visit.launched && visit.checked)) return FirstLaunch::over;
  if (visit.in_calls || !problem.rehearses()) return FirstLaunch::in_this_call;
  if (!anybody_right()) {
    // The first call takes long anyway: a short one could not afford to make a thread.
    if (client_.capabilities().compiles_at_run_time) context_.internals().rehearser->start();
    return FirstLaunch::in_this_call;
  }
  if (getpid() != owner_) {
    // A child of the process that began: it has no thread for this.
    static_cast<void>(rehearsal_.release());
    visit.in_calls = true;
    return FirstLaunch::in_this_call;
  }
  if (rehearsal_ == nullptr) {
    if (has_time(i)) return FirstLaunch::in_this_call;
    rehearsal_ = std::make_unique<Rehearsal>(context_, tuner_, problem.kept());
  }
  if (rehearsal_->unavailable()) {
    visit.in_calls = true;
    return FirstLaunch::in_this_call;
  }
  const auto outcome = rehearsal_->outcome(i);
  if (!outcome) {
    if (!rehearsal_->asked(i)) {
      // Those that come next have theirs meanwhile.
      std::vector<std::size_t> wanted = {i};
      for (const std::size_t other : members_) {
        if (!visits_[other].ran && worth_trying(problem, other)) wanted.push_back(other);
      }
      rehearsal_->ask(wanted);
    }
    return FirstLaunch::not_now;
  }
  take_rehearsal(i, *outcome);
  return FirstLaunch::over;
}

void CallTune::take_rehearsal(std::size_t i, const Rehearsal::Outcome& outcome) {
  Visit& visit = visits_[i];
  if (outcome.excluded) {
    out(i, Verdict::launch_failed, "in quarantine: a process died while running it");
    evidence(i).quarantined = true;
    return;
  }
  if (!outcome.done) {
    failed_with(i, outcome.built ? Verdict::launch_failed : Verdict::build_failed,
                outcome.done.error());
    return;
  }
  visit.in_calls = !outcome.ran;
  if (!outcome.ran) return;
  visit.launched = true;
  ++decision_.cost.launches;
  decision_.cost.verify_s += outcome.verify_s;
  if (!outcome.check || !take_check(i, *outcome.check)) return;
  visit.checked = evidence(i).verified;
  visit.in_calls = !visit.checked;
}

// After the decision: what it holds on the device would stay for as long as the tuner lives.
void CallTune::close_rehearsal() {
  if (rehearsal_ != nullptr && getpid() == owner_) rehearsal_->close();
}

// --- Running -------------------------------------------------------------------------------------

// Runs a candidate on the caller's output. False: there is no right result, and the output is as if
// nothing had run.
bool CallTune::run(Problem& problem, std::size_t i, std::optional<std::size_t> member, double scale,
                   Resort resort) {
  Visit& visit = visits_[i];
  if (Status built = problem.prepare(i); !built) {
    failed_with(i, Verdict::build_failed, built.error());
    return false;
  }
  if (visit.launched) {
    if (visit.checked && !member) {
      Status done = problem.run(i);
      if (!done) failed_with(i, Verdict::launch_failed, done.error());
      visit.ran = visit.ran || done.has_value();
      return done.has_value();
    }
    return run_sample(problem, i, member, scale);
  }
  // Somebody else has the turn, for a first launch or a search. What comes of that may be that this
  // candidate is deadly: only who has nobody else goes on without a note.
  const bool noted = turn_->take();
  if (!noted && resort == Resort::usual) return false;
  struct GiveBack {
    TuningTurn& turn;
    ~GiveBack() { turn.give_back(); }
  } give_back{*turn_};
  if (!evidence(i).quarantined && turn_->excludes(evidence(i))) {
    out(i, Verdict::launch_failed, "in quarantine: a process died while running it");
    evidence(i).quarantined = true;
    return false;
  }
  const TuningTurn::FirstLaunch first(*turn_, evidence(i));
  // What goes wrong from here on is the candidate's fault, not that of what came before.
  if (Status ready = client_.synchronize(problem.stream()); !ready) {
    if (ready.error().kind == ErrorKind::device_lost) lost_ = std::move(ready.error());
    if (lost_) return false;
  }
  const bool done = run_sample(problem, i, member, scale);
  if (lost_) turn_->suspect(evidence(i));
  visit.launched = visit.ran;
  return done;
}

bool CallTune::run_sample(Problem& problem, std::size_t i, std::optional<std::size_t> member,
                          double scale) {
  Visit& visit = visits_[i];
  double checking_s = 0;
  if (!visit.checked && check_ == nullptr) {
    const double begin = client_.now_s();
    auto made = problem.make_result_check(settings_.memory_bytes);
    checking_s = client_.now_s() - begin;
    if (!made && anybody_right()) {
      // Somebody else serves this call. Memory that is short may be there at another.
      evidence(i).reason = "could not be verified: " + made.error().text;
      if (++visit.refused >= kMostChecks && member) schedule_->retire(*member);
      return false;
    }
    if (made) check_ = *std::move(made);
  }
  const double begin_s = steady_now_s();
  auto seconds = client_.profile(
      problem.stream(), [&] { return problem.run(i); }, 1);
  context_.internals().span("sample", problem.name(i), begin_s);
  if (!seconds && seconds.error().kind != ErrorKind::not_timed) {
    failed_with(i, Verdict::launch_failed, seconds.error());
    restore(problem);
    return false;
  }
  const bool first = !std::exchange(visit.ran, true);
  if (!visit.checked && !verify(problem, i, checking_s)) return false;
  if (member) take_time(problem, i, *member, seconds.value_or(0), first, scale);
  return true;
}

// False when that failed, which comes back when the next candidate is run on the same memory.
bool CallTune::restore(Problem& problem) {
  if (check_ == nullptr) return true;
  try {
    return check_->restore(problem.stream()).has_value();
  } catch (...) {
    return false;
  }
}

// Whether the caller may have this result.
bool CallTune::verify(Problem& problem, std::size_t i, double checking_s) {
  const double begin = client_.now_s(), begin_s = steady_now_s();
  const Result<Check> found = [&]() -> Result<Check> {
    if (check_ == nullptr) return fail(ErrorKind::unsupported, "there is no check");
    try {
      return check_->check(problem.stream());
    } catch (...) {
      return fail(ErrorKind::unsupported, exception_text("the check of a result"));
    }
  }();
  context_.internals().span("verify", problem.name(i), begin_s);
  checking_s += client_.now_s() - begin;
  // The first check of a process may have compiled what checks.
  const bool tells = !client_.capabilities().compiles_at_run_time || decision_.cost.verify_s > 0;
  decision_.cost.verify_s += checking_s;
  if (tells) check_s_ = checking_s;
  if (!take_check(i, found)) {
    restore(problem);
    return false;
  }
  // Operands that say nothing may be followed by others that do.
  const bool again = found && !found->conclusive && ++visits_[i].checks < kMostChecks;
  visits_[i].checked = !again;
  return true;
}

// False for a candidate that is wrong, and out.
bool CallTune::take_check(std::size_t i, const Result<Check>& found) {
  if (record_check(evidence(i), found)) return true;
  context_.internals().found_wrong.add(
      place_, {evidence(i).name, evidence(i).version, Verdict::wrong, evidence(i).reason});
  failed(i);
  return false;
}

void CallTune::failed_with(std::size_t i, Verdict verdict, const Error& error) {
  // A shortage of memory passes: what comes of this is not to be believed later. And a device
  // that is lost says nothing of candidates.
  if (error.kind == ErrorKind::out_of_memory) decision_.storable = false;
  if (error.kind == ErrorKind::device_lost) {
    lost_ = error;
  } else {
    out(i, verdict, error.text);
  }
}

void CallTune::out(std::size_t i, Verdict verdict, std::string reason) {
  disqualify(evidence(i), verdict, std::move(reason));
  failed(i);
}

void CallTune::failed(std::size_t i) {
  const auto at = std::find(members_.begin(), members_.end(), i);
  if (at != members_.end()) schedule_->fail(static_cast<std::size_t>(at - members_.begin()));
  begin_sample();
}

// --- Times ---------------------------------------------------------------------------------------

void CallTune::begin_sample() {
  sum_s_ = 0;
  calls_ = 0;
}

void CallTune::take_time(const Problem& problem, std::size_t i, std::size_t member, double seconds,
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
  const double shortest = settings_.sample_resolutions * client_.capabilities().clock_resolution_s;
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
    if (guess) guesses_.add(problem.kind(i), *guess, each);
  }
  schedule_->add(member, each);
  times_[i] = time_of(i).value_or(INFINITY);
  refused_ = 0;
}

// One sample ends the race for a slow one: a disturbed one should not, and is taken again. Where
// there is no guess to hold it against, candidates of a round are rarely so far apart.
bool CallTune::doubtful(std::size_t i, double seconds, const std::optional<double>& guess) const {
  const auto leader = schedule_->leader();
  if (visits_[i].doubtful_s || !leader || seconds <= kFar * *leader) return false;
  return !guess || guesses_.surprising(*guess, seconds);
}

// Whether the time of a candidate's first run may stand for it: it finds code and scratch memory
// cold, which costs up to a millisecond or so, and more where code has to be loaded.
bool CallTune::tells(double seconds) const {
  constexpr double kLong = 5e-3, kLongAfterLoading = 0.1, kMostForWarmth = 1e-3, kHopeless = 3;
  if (client_.capabilities().compiles_at_run_time) return seconds >= kLongAfterLoading;
  const auto leader = schedule_->leader();
  return seconds >= kLong ||
         (leader && seconds > kHopeless * *leader && seconds - *leader > kMostForWarmth);
}

// --- Who is known --------------------------------------------------------------------------------

// May serve a call without being checked.
bool CallTune::right(std::size_t i) const {
  return visits_[i].checked && (visits_[i].ran || decision_.candidates[i].verified) &&
         !disqualified(decision_.candidates[i].verdict);
}

bool CallTune::anybody_right() const {
  for (std::size_t i = 0; i < visits_.size(); ++i) {
    if (right(i)) return true;
  }
  return false;
}

const std::vector<double>& CallTune::samples_of(std::size_t i) const {
  const auto at = std::find(members_.begin(), members_.end(), i);
  if (at == members_.end()) return decision_.candidates[i].samples;
  return schedule_->samples(static_cast<std::size_t>(at - members_.begin()));
}

std::optional<double> CallTune::time_of(std::size_t i) const { return estimate_s(samples_of(i)); }

// As order(), of now.
std::vector<std::size_t> CallTune::order_now() const {
  std::vector<std::size_t> order;
  order.reserve(visits_.size() + 1);
  for (std::size_t i = 0; i < visits_.size(); ++i) {
    if (right(i)) order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(times_[a], a) < std::pair(times_[b], b);
  });
  return order;
}

void CallTune::publish_order() {
  if (!begun_) return;
  std::vector<std::size_t> order = order_now();
  // Nobody looks at what these calls are given: behind those that are known to be right there is
  // only the fallback.
  if (!right(0) && evidence(0).verdict != Verdict::wrong) order.push_back(0);
  if (order == order_) return;  // which nobody else writes
  const std::lock_guard lock(order_mutex_);
  order_ = std::move(order);
}

}  // namespace rooftune::detail
