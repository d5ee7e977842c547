#include "tune/rehearsal.h"

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "tune/charge.h"
#include "tune/context_internals.h"
#include "tune/turn.h"

namespace rooftune::detail {

struct Rehearsal::Shared {
  Shared(TuneContext& in, const std::string& tuner, std::unique_ptr<Problem> kept)
      : context(in), turn(in, tuner, *kept), problem(std::move(kept)) {}

  // The job.
  void perform(std::size_t i) {
    {
      const std::lock_guard lock(mutex);
      if (stopping || no_trial) return;
      running = true;
    }
    std::optional<Outcome> outcome;
    try {
      outcome = launch(i);
    } catch (...) {
      // No memory, most likely: a call may have more luck.
      outcome.emplace();
    }
    const std::lock_guard lock(mutex);
    if (outcome) outcomes.insert_or_assign(i, *std::move(outcome));
    running = false;
    ended.notify_all();
  }

  // Nothing when there is no trial or no time left.
  std::optional<Outcome> launch(std::size_t i) {
    const AutotuneSettings& settings = context.settings().autotune;
    if (!std::exchange(tried_trial, true) && !problem->make_rehearsal(settings.memory_bytes)) {
      const std::lock_guard lock(mutex);
      no_trial = true;
    }
    if (no_trial) return std::nullopt;
    Outcome outcome;
    outcome.done = problem->prepare(i);
    outcome.built = outcome.done.has_value();
    if (!outcome.built) return outcome;
    if (Status poisoned = problem->poison(); !poisoned) return outcome;
    if (!wait_for_turn()) return std::nullopt;
    struct GiveBack {
      TuningTurn& turn;
      ~GiveBack() { turn.give_back(); }
    } give_back{turn};
    CandidateEvidence candidate;
    candidate.name = problem->name(i);
    candidate.version = problem->version(i);
    outcome.excluded = turn.excludes(candidate);
    if (outcome.excluded) return outcome;
    const TuningTurn::FirstLaunch first(turn, candidate);
    const double begin_s = steady_now_s();
    // Calls go on beside it: when the device is lost nobody can say by whom, and nobody is accused.
    outcome.done = problem->run_checked(i);
    if (outcome.done) outcome.done = problem->client().synchronize(problem->stream());
    outcome.ran = outcome.done.has_value();
    if (outcome.ran && settings.verify) {
      const Charge charge(problem->client(), outcome.verify_s);
      outcome.check = problem->check();
    }
    context.internals().span("rehearse", candidate.name, begin_s);
    return outcome;
  }

  // Others may have the key for a first launch of theirs, or for a whole search.
  bool wait_for_turn() {
    while (!turn.take()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      const std::lock_guard lock(mutex);
      if (stopping) return false;
    }
    return true;
  }

  TuneContext& context;
  TuningTurn turn;
  std::unique_ptr<Problem> problem;
  bool tried_trial = false;
  std::set<std::size_t> asked;  // of the thread that owns the rehearsal

  std::mutex mutex;  // guards what follows
  std::condition_variable ended;
  bool running = false, stopping = false, no_trial = false;
  std::map<std::size_t, Outcome> outcomes;
};

Rehearsal::Rehearsal(TuneContext& context, const std::string& tuner,
                     std::unique_ptr<Problem> problem)
    : context_(context), shared_(std::make_shared<Shared>(context, tuner, std::move(problem))) {}

Rehearsal::~Rehearsal() {
  std::unique_lock lock(shared_->mutex);
  shared_->stopping = true;
  shared_->ended.wait(lock, [this] { return !shared_->running; });
  // A job that is still in the queue has nothing to do with it any more.
  shared_->problem.reset();
}

void Rehearsal::ask(std::span<const std::size_t> candidates) {
  for (const std::size_t i : candidates) {
    if (!shared_->asked.insert(i).second) continue;
    context_.internals().rehearser->run([shared = shared_, i] { shared->perform(i); });
  }
}

bool Rehearsal::asked(std::size_t candidate) const { return shared_->asked.contains(candidate); }

std::optional<Rehearsal::Outcome> Rehearsal::outcome(std::size_t candidate) const {
  const std::lock_guard lock(shared_->mutex);
  const auto found = shared_->outcomes.find(candidate);
  return found == shared_->outcomes.end() ? std::nullopt : std::optional(found->second);
}

bool Rehearsal::unavailable() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->no_trial;
}

}  // namespace rooftune::detail
