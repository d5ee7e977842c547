// The beginning of a key's tune by its calls, its rounds, and its end.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <thread>
#include <utility>

#include "tune/call_tune.h"
#include "tune/exclusion.h"
#include "tune/stored_decision.h"

namespace rooftune::detail {
namespace {

// Seconds between two writes of what is known so far: what a process that dies can lose.
constexpr double kKeepEvery = 0.5;

bool runs_here(const Decision& decision, const Problem& problem) {
  for (std::size_t i = 0; i < problem.size(); ++i) {
    const auto& ranking = decision.ranking;
    if (std::find(ranking.begin(), ranking.end(), problem.name(i)) != ranking.end() &&
        problem.illegal_because(i) == nullptr) {
      return true;
    }
  }
  return false;
}

}  // namespace

CallTune::CallTune(TuneContext& context, std::string tuner, std::shared_ptr<const Decision> prior)
    : context_(context),
      settings_(context.settings().autotune),
      client_(context.client()),
      tuner_(std::move(tuner)),
      prior_(std::move(prior)),
      owner_(getpid()) {}

CallTune::~CallTune() {
  // In the child of a fork its threads do not exist: there is nobody to wait for.
  if (getpid() != owner_) {
    for (auto& each : preparations_) static_cast<void>(each.release());
    static_cast<void>(rehearsal_.release());
    return;
  }
  keep_unfinished();
}

CallTune::Outcome CallTune::ended_with(std::shared_ptr<const Decision> decision) {
  ended_ = true;
  return {std::nullopt, false, std::move(decision)};
}

// --- The beginning -------------------------------------------------------------------------------

std::shared_ptr<const Decision> CallTune::begin(const Problem& problem) {
  keeper().start();
  kept_at_s_ = client_.now_s();
  if (!turn_) turn_.emplace(context_, tuner_, problem);
  environment_ = context_.internals().environment();
  if (prior_ == nullptr) {
    if (auto stored = load_decision(context_, tuner_, problem)) {
      if (stored->complete && !stored->decision.partial && runs_here(stored->decision, problem)) {
        return std::make_shared<const Decision>(std::move(stored->decision));
      }
      prior_ = std::make_shared<const Decision>(std::move(stored->decision));
    }
  }
  plan_ = plan_of(problem);
  decision_ = begin_decision(settings_, tuner_, problem, plan_, prior_.get());
  decision_.mode = Mode::online;
  place_ = place_of(tuner_, problem);
  if (problem.size() > 1) {
    // What a process died of is found out by taking the turn. Who has it has found that out.
    if (turn_->take()) turn_->give_back();
    exclude(decision_, turn_->exclusions(), problem);
  }
  if (problem.size() == 1) {
    return conclude_here(only_candidate(std::move(decision_)));
  }
  visits_.assign(problem.size(), {});
  for (std::size_t i = 0; i < visits_.size(); ++i) {
    visits_[i].launched = evidence(i).verified || !evidence(i).samples.empty();
    visits_[i].checked = !settings_.verify || evidence(i).verified;
  }
  begun_ = true;
  round_ = 0;
  begin_round(problem, plan_.empty() ? std::vector<std::size_t>() : plan_.front());
  const bool in_turn = client_.capabilities().compiles_at_run_time;
  opening_ = !in_turn && first_launches_at_once(best_guess(problem));
  return nullptr;
}

void CallTune::begin_round(const Problem& problem, const std::vector<std::size_t>& round) {
  members_ = members_of_round(decision_, problem, round, later_);
  leave_far_guesses(problem);
  std::vector<std::vector<double>> prior;
  for (const std::size_t i : members_) prior.push_back(evidence(i).samples);
  schedule_.emplace(settings_, std::nullopt, std::move(prior));
  times_.clear();
  for (std::size_t i = 0; i < problem.size(); ++i) {
    times_.push_back(time_of(i).value_or(INFINITY));
  }
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

std::optional<double> CallTune::best_guess(const Problem& problem) const {
  std::optional<double> best;
  for (const std::size_t i : members_) {
    const auto guess = problem.predicted_s(i);
    if (guess && (!best || *guess < *best)) best = guess;
  }
  return best;
}

// A search of its own can afford to try more than a call can.
void CallTune::leave_far_guesses(const Problem& problem) {
  const auto best = best_guess(problem);
  std::erase_if(members_, [&](std::size_t i) {
    const auto guess = problem.predicted_s(i);
    if (!guess || *guess <= kFar * *best || !evidence(i).samples.empty()) return false;
    give_up(i);
    return true;
  });
}

void CallTune::give_up(std::size_t i) {
  evidence(i).verdict = Verdict::eliminated;
  evidence(i).reason = "expected to take too long for a call to try it";
  later_.push_back(i);
}

// --- The end -------------------------------------------------------------------------------------

// The next round where this one has ended without a time, or else the decision.
void CallTune::go_on(const Problem& problem, Outcome& outcome) {
  while (!schedule_->next()) {
    if (!schedule_->any_valid() && next_round(problem)) continue;
    // Without a decision nobody has a time or may be used: this call had the last resort.
    if (auto decided = decide(problem)) outcome.decision = conclude_here(*std::move(decided));
    return;
  }
  if (client_.now_s() - kept_at_s_ < kKeepEvery || keeper().busy()) return;
  kept_at_s_ = client_.now_s();
  keep_partial();
}

// On disk a little after the call, which does not wait for it.
std::shared_ptr<const Decision> CallTune::conclude_here(Decision decided) {
  const auto decision = std::make_shared<const Decision>(std::move(decided));
  keep(decision);
  return ended_with(decision).decision;
}

void CallTune::keep(std::shared_ptr<const Decision> decision) {
  keeper().run([&context = context_, place = environment_, decision = std::move(decision)] {
    Decision kept = *decision;
    keep_decision(context, kept, *place);
  });
}

// What is known so far: its verdicts are of the moment.
void CallTune::keep_partial() {
  Decision partial = decision_;
  record(partial, true);
  partial.partial = true;
  auto decided = conclude(std::move(partial), *kept_.back(), plan_, settings_, untimed());
  if (!decided) return;
  keeper().run([&context = context_, kept = *std::move(decided)] { keep_evidence(context, kept); });
}

// A session that closes early leaves to the next what it knows.
void CallTune::keep_unfinished() {
  if (!begun_ || ended_ || decision_.cost.launches == 0) return;
  // Of an environment that was left it is not to be told to another.
  if (environment_ != context_.internals().environment()) return;
  record(decision_, true);
  decision_.partial = true;
  auto partial = conclude(decision_, *kept_.back(), plan_, settings_, untimed());
  if (partial) keep_evidence(context_, *partial);
}

bool CallTune::next_round(const Problem& problem) {
  record(decision_, false);
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

void CallTune::record(Decision& decision, bool partial) const {
  record_round(decision, members_, *schedule_, settings_,
               partial ? "its turn was still to come" : "no call could try it");
  for (const std::size_t i : far_) {
    Verdict& verdict = decision.candidates[i].verdict;
    if (!disqualified(verdict)) verdict = Verdict::eliminated;
  }
}

Result<Decision> CallTune::decide(const Problem& problem) {
  record(decision_, false);
  return conclude(decision_, problem, plan_, settings_, untimed());
}

std::vector<bool> CallTune::untimed() const {
  std::vector<bool> all;
  for (const Visit& visit : visits_) all.push_back(visit.untimed);
  return all;
}

std::shared_ptr<OnlineTune> make_online_tune(TuneContext& context, std::string tuner,
                                             std::shared_ptr<const Decision> prior) {
  return std::make_shared<CallTune>(context, std::move(tuner), std::move(prior));
}

}  // namespace rooftune::detail
