#include "rooftune/detail/background.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "rooftune/tuner.h"
#include "tune/agenda.h"
#include "tune/build_ahead.h"
#include "tune/charge.h"
#include "tune/comparison.h"
#include "tune/context_internals.h"
#include "tune/estimator.h"
#include "tune/parts.h"
#include "tune/search_mark.h"
#include "tune/side_by_side.h"
#include "tune/stored_decision.h"
#include "tune/turn.h"

namespace rooftune::detail {
namespace {

// Whether other processes have measured what this one has not.
bool knows_more(const Decision& stored, const Decision& ours) {
  return std::any_of(stored.candidates.begin(), stored.candidates.end(), [&](const auto& theirs) {
    const CandidateEvidence* mine = ours.find(theirs.name);
    return theirs.background && (mine == nullptr || mine->samples.empty());
  });
}

// One more candidate for a decision.
class CandidateStep {
 public:
  CandidateStep(TuneContext& context, Problem& problem, const Decision& decision)
      : settings_(context.settings().autotune),
        problem_(problem),
        next_(aligned(decision, problem)),
        beside_(context, problem, next_) {}

  // Leaves out who must not run now.
  void exclude(const TuningTurn& turn) { rooftune::exclude(next_, turn.exclusions(), problem_); }
  std::optional<Agenda> todo() const { return agenda(next_, problem_, settings_); }
  double expected_s(const Agenda& todo) const {
    return todo.rival_s + beside_.expected_s(1, todo.reference_s);
  }

  // False: it came to nothing, and nothing changes.
  bool run(const Agenda& todo, TuningTurn& turn) {
    const Operands searched = next_.operands;
    if (!beside_.run({todo.reference, todo.rival}, turn)) return false;
    // Ratios to the winner are all that is taken over.
    next_.operands = searched;
    const CandidateEvidence& reference = next_.candidates[todo.reference];
    CandidateEvidence& rival = next_.candidates[todo.rival];
    if (reference.verdict == Verdict::wrong) {
      std::erase(next_.ranking, reference.name);
      settle_winner(next_);
      return true;
    }
    std::erase(next_.ranking, rival.name);
    if (beside_.failed(1)) return true;  // its evidence says why
    if (settings_.verify && reference.verified && !rival.verified) {
      rival.verdict = Verdict::not_timed;
      return true;
    }
    if (beside_.samples(1).empty()) return false;
    place(todo, beside_.samples(0), beside_.samples(1));
    return true;
  }

  // After all that could be done.
  void conclude() {
    if (!next_.partial) return;
    const auto left = todo();
    next_.partial = left && left->missing;
  }
  Decision& decision() { return next_; }

 private:
  // Ranks the rival by what it took beside the reference.
  void place(const Agenda& todo, const std::vector<double>& beside, std::vector<double> samples) {
    CandidateEvidence& reference = next_.candidates[todo.reference];
    CandidateEvidence& rival = next_.candidates[todo.rival];
    const auto behind = compare(beside, samples, settings_.margin, settings_.confidence);
    const double ratio = *estimate_s(samples) / *estimate_s(beside);
    if (reference.samples.size() < static_cast<std::size_t>(settings_.min_samples)) {
      reference.samples = beside;
    } else {
      const double scale = *reference.estimate_s() / *estimate_s(beside);
      for (double& sample : samples) sample *= scale;
    }
    rival.samples = std::move(samples);
    // A guess in proportion to the reference's, like the samples.
    const auto here = problem_.predicted_s(todo.rival);
    const auto of_reference = problem_.predicted_s(todo.reference);
    if (here && of_reference && reference.guess_s) {
      rival.guess_s = *here * *reference.guess_s / *of_reference;
    }
    const auto at = std::find(next_.ranking.begin(), next_.ranking.end(), reference.name);
    if (beside_.better()) {
      const bool takes_over = at == next_.ranking.begin();
      next_.ranking.insert(at, rival.name);
      rival.verdict = takes_over ? Verdict::winner : Verdict::ranked;
      if (!takes_over) return;
      reference.verdict = Verdict::ranked;
      next_.replaced.push_back(std::exchange(next_.winner, rival.name));
      next_.same_as_winner.clear();
      next_.verified = rival.verified;
      return;
    }
    const bool hopeless = beside_.hopeless(1) || ratio > settings_.eliminate_ratio;
    rival.verdict = hopeless ? Verdict::eliminated : Verdict::ranked;
    if (hopeless && rival.reason.empty()) {
      rival.reason = "takes " + format_factor(ratio) + " times as long as the winner";
    }
    const bool same = !hopeless && as_good(behind, settings_.margin);
    if (same && at == next_.ranking.begin()) next_.same_as_winner.push_back(rival.name);
    const auto rank = [](const CandidateEvidence& candidate) {
      return std::pair(candidate.verdict == Verdict::eliminated,
                       candidate.estimate_s().value_or(INFINITY));
    };
    next_.ranking.insert(std::find_if(at + 1, next_.ranking.end(),
                                      [&](const std::string& name) {
                                        const CandidateEvidence* other = next_.find(name);
                                        return other != nullptr && rank(rival) < rank(*other);
                                      }),
                         rival.name);
  }

  static std::string format_factor(double factor) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2f", factor);
    return text;
  }

  const AutotuneSettings& settings_;
  Problem& problem_;
  Decision next_;
  SideBySide beside_;
};

// Waits for what a call has just given its stream. False when there was more to do.
bool is_done(Problem& problem, const Decision& decision) {
  Client& client = problem.client();
  if (!client.busy(problem.stream())) return true;
  const CandidateEvidence* winner = decision.find(decision.winner);
  if (winner == nullptr || !winner->estimate_s()) return false;
  const double call_s = winner_seconds(decision, *winner->estimate_s(), problem.work());
  const double overhead_s = decision.bound ? decision.bound->launch_overhead_s : 0;
  // The number of questions is bounded too, since a clock may stand.
  constexpr int kQuestions = 1'000'000;
  const Stopwatch watch(client);
  for (int i = 0; i < kQuestions && watch.seconds() < 2 * (call_s + overhead_s); ++i) {
    if (!client.busy(problem.stream())) return true;
  }
  return false;
}

// A step of the one kind or the other, with no regard to what it takes from the credit.
class Stepper {
 public:
  Stepper(TuneContext& context, Problem& problem, const Decision& decision, Progress& progress)
      : context_(context), problem_(problem), decision_(decision), progress_(progress) {}

  std::optional<Beyond> candidate() {
    std::optional<CandidateStep> step(std::in_place, context_, problem_, decision_);
    const Decision* known = &decision_;
    std::optional<Stored> stored;
    std::optional<Agenda> todo = step->todo();
    if (is_due(*step, todo)) {
      // Who is measuring on this device, or has this key, is not waited for.
      if (!can_begin({todo->reference, todo->rival})) return std::nullopt;
      turn_ = take_turn(context_, decision_.operation, problem_, 0);
      if (turn_ == nullptr) return std::nullopt;
      // Another process may have been at it.
      stored = load_decision(context_, decision_.operation, problem_);
      if (stored && knows_more(stored->decision, decision_)) {
        known = &stored->decision;
        step.emplace(context_, problem_, *known);
      }
      step->exclude(*turn_);
      todo = step->todo();
    }
    if (turn_ == nullptr || !is_due(*step, todo)) {
      if (todo || !known->partial) {
        if (known == &decision_) return std::nullopt;
        return Beyond{std::move(step->decision()), std::nullopt};
      }
      if (turn_ == nullptr) turn_ = take_turn(context_, decision_.operation, problem_, 0);
      if (turn_ == nullptr) {
        progress_.want(0, StepKind::candidate);
        return std::nullopt;
      }
    } else if (!built({todo->reference, todo->rival})) {
      return std::nullopt;
    } else if (!step->run(*todo, *turn_)) {
      progress_.set_back(StepKind::candidate);
      return std::nullopt;
    }
    progress_.advance(StepKind::candidate);
    step->conclude();
    Beyond beyond{std::move(step->decision()), std::nullopt};
    return keep(beyond) ? std::optional(std::move(beyond)) : std::nullopt;
  }

  std::optional<Beyond> part() {
    const std::uint64_t part = *problem_.part();
    PartStep step(context_, problem_, decision_);
    if (!step.worthwhile()) {
      progress_.learn(part);
      return std::nullopt;
    }
    if (!progress_.want(step.expected_s(), StepKind::part)) return std::nullopt;
    if (!can_begin(step.members())) return std::nullopt;
    turn_ = take_turn(context_, decision_.operation, problem_, 0);
    if (turn_ == nullptr) return std::nullopt;
    // Another process may have been at it.
    Beyond beyond{decision_, std::nullopt};
    beyond.decision.split = {part};
    auto parts = load_parts(context_, decision_.operation, problem_, beyond.decision);
    beyond.decision.split = decision_.split;
    if (!parts.empty()) {
      beyond.decision.split.push_back(part);
      beyond.apart = std::move(parts.front());
      return beyond;
    }
    step.exclude(*turn_);
    if (!step.worthwhile()) {
      progress_.learn(part);
      return std::nullopt;
    }
    if (!built(step.members())) return std::nullopt;
    if (!step.run(*turn_)) {
      progress_.set_back(StepKind::part);
      return std::nullopt;
    }
    progress_.advance(StepKind::part);
    progress_.learn(part);
    beyond.apart = step.apart();
    if (!beyond.apart) return std::nullopt;
    beyond.decision.split.push_back(part);
    return keep(beyond) ? std::optional(std::move(beyond)) : std::nullopt;
  }

 private:
  // Whether a step would wait for nothing but its own work.
  bool can_begin(const std::vector<std::size_t>& members) {
    return built(members) && is_done(problem_, decision_) && alone();
  }
  bool built(const std::vector<std::size_t>& members) {
    return progress_.build_ahead().ready(problem_, members);
  }

  bool is_due(const CandidateStep& step, const std::optional<Agenda>& todo) {
    if (todo) return progress_.want(step.expected_s(*todo), StepKind::candidate);
    progress_.finish(StepKind::candidate);
    return false;
  }

  // Measures on the device with nobody else, until the step is to be kept. False: another thread
  // measures now.
  bool alone() {
    alone_ = problem_.client().try_exclusive();
    return alone_.owns_lock();
  }

  // False: the environment was left meanwhile, and what was measured says nothing in the next.
  // Written behind the call, which would have to wait for a disk or for other processes. The turn
  // ends after that, so that whoever has it next finds what was written.
  bool keep(Beyond& beyond) {
    if (alone_.owns_lock()) alone_.unlock();
    if (context_.internals().environment().get() != &turn_->environment()) return false;
    const double took = watch_.seconds();
    if (beyond.apart) {
      beyond.apart->cost.background_s = took;
    } else {
      beyond.decision.cost.background_s += took;
    }
    context_.internals().keeper->run([&context = context_, kept = beyond, turn = turn_]() mutable {
      Environment& environment = turn->environment();
      // First, so that a process that reads of it finds it.
      if (kept.apart) keep_decision(context, *kept.apart, environment, &Cost::background_s);
      keep_decision(context, kept.decision, environment, &Cost::background_s);
    });
    return true;
  }

  TuneContext& context_;
  Problem& problem_;
  const Decision& decision_;
  Progress& progress_;
  std::unique_lock<std::recursive_mutex> alone_;
  std::shared_ptr<TuningTurn> turn_;
  const Stopwatch watch_{problem_.client()};
};

}  // namespace

BuildAhead& Progress::build_ahead() {
  if (build_ahead_ == nullptr) build_ahead_ = std::make_shared<BuildAhead>();
  return *build_ahead_;
}

double winner_seconds(const Decision& decision, double winner_s, const std::optional<Work>& work) {
  if (!work || !decision.bound) return winner_s;
  const BoundRecord& bound = *decision.bound;
  // The smaller of two guesses, so that the share is kept.
  double ratio = 1;
  if (bound.ops > 0 && work->ops > 0) ratio = work->ops / bound.ops;
  if (bound.bytes > 0 && work->bytes > 0) ratio = std::min(ratio, work->bytes / bound.bytes);
  return winner_s * ratio;
}

std::optional<Beyond> step_beyond(TuneContext& context, Problem& problem, const Decision& decision,
                                  Progress& progress, StepKind kind) {
  const SearchMark mark;
  const Stopwatch watch(problem.client());
  const double begin_s = steady_now_s();
  Stepper stepper(context, problem, decision, progress);
  std::optional<Beyond> beyond;
  try {
    beyond = kind == StepKind::part ? stepper.part() : stepper.candidate();
  } catch (...) {
    // No memory, say. Nobody has asked for this, so nobody is to hear of it.
    progress.set_back(kind);
  }
  progress.spend(watch.seconds());
  context.internals().span("refine", decision.operation, begin_s);
  return beyond;
}

}  // namespace rooftune::detail
