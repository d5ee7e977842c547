#include "tune/rehearsal.h"

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "tune/charge.h"
#include "tune/context_internals.h"
#include "tune/turn.h"

namespace rooftune::detail {

struct Rehearsal::Shared {
  Shared(TuneContext& in, std::string tuner, std::unique_ptr<Problem> kept)
      : context(in),
        client(kept->client()),
        own_streams(client.capabilities().compiles_at_run_time),
        tuner_name(std::move(tuner)),
        problem(std::move(kept)) {}

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
    if (!std::exchange(tried, true)) ready = set_up();
    if (!ready) {
      const std::lock_guard lock(mutex);
      no_trial = true;
      return std::nullopt;
    }
    Outcome outcome;
    // Of the key's problems the one that is kept need not be one that it can run.
    if (problem->illegal_because(i) != nullptr) return outcome;
    outcome.done = problem->prepare(i);
    outcome.built = outcome.done.has_value();
    if (!outcome.built) return outcome;
    // What goes wrong from here on is the candidate's fault, not that of what came before.
    Status before = problem->poison();
    if (before && own_streams) before = client.synchronize(own);
    if (!before) {
      if (is_lost(before)) outcome.done = std::move(before);
      return outcome;
    }
    if (!wait_for_turn()) return std::nullopt;
    struct GiveBack {
      TuningTurn& turn;
      ~GiveBack() { turn.give_back(); }
    } give_back{*turn};
    perform_first(i, outcome);
    return outcome;
  }

  void perform_first(std::size_t i, Outcome& outcome) {
    CandidateEvidence candidate;
    candidate.name = problem->name(i);
    candidate.version = problem->version(i);
    outcome.excluded = turn->excludes(candidate);
    if (outcome.excluded) return;
    const TuningTurn::FirstLaunch first(*turn, candidate);
    const double begin_s = steady_now_s();
    outcome.done = problem->run_checked(i);
    if (outcome.done) outcome.done = client.synchronize(problem->stream());
    outcome.ran = outcome.done.has_value();
    if (outcome.ran && context.settings().autotune.verify) {
      const Charge charge(client, outcome.verify_s);
      outcome.check = problem->check();
      if (is_lost(*outcome.check)) outcome.done = std::unexpected(outcome.check->error());
    }
    context.internals().span("rehearse", candidate.name, begin_s);
    // Calls go on beside it. Those on streams run what was launched before; elsewhere nobody can
    // say by whom a device was lost, and nobody is accused.
    if (own_streams && is_lost(outcome.done)) turn->suspect(candidate);
  }

  static bool is_lost(const auto& result) {
    return !result && result.error().kind == ErrorKind::device_lost;
  }

  // On the thread, since each of these takes as long as a short call.
  bool set_up() {
    turn.emplace(context, tuner_name, *problem);
    if (own_streams) {
      const auto made = client.create_stream();
      if (!made) return false;
      own = *made;
      problem->use(own);
    }
    return problem->make_rehearsal(context.settings().autotune.memory_bytes).has_value();
  }

  // The caller holds the mutex, and nothing is running.
  void give_back() {
    // Memory goes when nothing on the stream has any use for it. An error is that of a candidate,
    // which has been told of.
    if (own.native != 0) static_cast<void>(client.synchronize(own));
    problem.reset();
    if (own.native != 0) client.destroy_stream(std::exchange(own, {}));
  }

  // Others may have the key for a first launch of theirs, or for a whole search.
  bool wait_for_turn() {
    while (!turn->take()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      const std::lock_guard lock(mutex);
      if (stopping) return false;
    }
    return true;
  }

  TuneContext& context;
  Client& client;
  const bool own_streams;
  const std::string tuner_name;
  std::unique_ptr<Problem> problem;
  // Of the thread.
  bool tried = false, ready = false;  // to set up
  std::optional<TuningTurn> turn;
  Stream own = {};
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
  shared_->give_back();
}

void Rehearsal::close() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->stopping = true;
  }
  context_.internals().rehearser->run([shared = shared_] {
    const std::lock_guard lock(shared->mutex);
    shared->give_back();
  });
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
