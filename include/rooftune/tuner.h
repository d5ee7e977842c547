// The generic tuner: candidates, groups, and the path of every call.
//
// An operation describes itself once per device in a TunableSet: its candidates (the first is the
// fallback, which must accept every problem), the groups that order them, and how to make inputs
// for measuring. LocalTuner does the rest: it finds the fastest candidate for a key by measuring
// at first use, keeps the decision in the store, and runs it on every later call.
//
//   static rooftune::LocalTuner<SoftmaxKey, SoftmaxArgs> tuner{"mylib.softmax"};
//   Status done = tuner.execute(*session, key, args, [](auto& set) {
//     set.inputs(make_softmax_trial);
//     set.add("naive", softmax_naive).version("1");
//     set.add("blocked", softmax_blocked).version("1").illegal_because(needs_columns);
//   });
#ifndef ROOFTUNE_TUNER_H_
#define ROOFTUNE_TUNER_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rooftune/decision.h"
#include "rooftune/detail/background.h"
#include "rooftune/detail/decision_table.h"
#include "rooftune/detail/online_tune.h"
#include "rooftune/detail/problem.h"
#include "rooftune/device.h"
#include "rooftune/error.h"
#include "rooftune/key.h"
#include "rooftune/tunable_set.h"
#include "rooftune/tune_context.h"

namespace rooftune {

// What one call did, for those who want to know. Asked for by a pointer in the options of a call.
struct CallReport {
  Origin origin = Origin::fallback;
  std::string_view candidate;  // that ran; lives as long as the session
  bool tuned = false;          // this call measured
  bool online = false;         // and was itself what was measured (autotune.mode = "online")
};

namespace detail {

// What the typed tuner asks of the compiled part (src/tune/tuner.cc).

// The decision the store holds for this problem, with candidates that no longer exist at the same
// version taken out; nothing when there is none. `complete` is false when candidates of the
// decided rounds have no evidence (they are new, or changed).
struct Stored {
  Decision decision;
  bool complete = true;
};
std::optional<Stored> load_decision(TuneContext& context, const std::string& tuner,
                                    const Problem& problem);

// The right to tune a key, which one has at a time of all sessions and processes that share the
// environment; null when others have it, for `patience_s` seconds of waiting (where the settings
// and this thread allow it). What the store holds may have changed when it is got.
class TuningTurn;  // src/tune/turn.h
std::shared_ptr<TuningTurn> take_turn(TuneContext& context, const std::string& tuner,
                                      const Problem& problem, double patience_s);

// Measures. `prior` carries evidence that is still good, or is null. Never throws; an error means
// that nothing could be measured (device_lost: nor ever will be) or that nothing ran.
Result<Decision> search(TuneContext& context, const std::string& tuner, Problem& problem,
                        const Decision* prior, TuningTurn& turn);

// Writes the decision to the store (when it is storable) and to the record sink, and fills in the
// cost of doing so.
void keep_decision(TuneContext& context, Decision& decision, const TuningTurn& turn);

// All candidates in the order of the plan, the fallback last.
std::vector<std::size_t> untuned_order(const Problem& problem);
// The same without those that are known to be wrong for the key, or are in quarantine.
std::vector<std::size_t> trusted_untuned_order(TuneContext& context, const std::string& tuner,
                                               const Problem& problem);

// A time of the settings for a wait: one that no clock runs over with.
inline std::chrono::steady_clock::duration seconds_to_wait(double seconds) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(std::clamp(seconds, 0.0, 1e8)));
}

// True while this thread is inside search(): a nested call must not wait for another key.
bool is_searching();

}  // namespace detail

// The tuner of one operation on one device in one context. LocalTuner and the library's own
// operations make one each; a program has no need to.
class TunerBase {
 public:
  virtual ~TunerBase() = default;
  virtual void reset() = 0;  // forgets what memory holds; the store is untouched
  virtual std::vector<Decision> decisions() const = 0;  // of this process, in no particular order
  // Different for every pair of key and argument types: names alone do not tell tuners apart.
  virtual const void* type() const = 0;
};

template <class K, class Args>
class Tuner final : public TunerBase {
 public:
  Tuner(TuneContext& context, std::string name,
        const std::function<void(TunableSet<K, Args>&)>& describe)
      : context_(context), name_(std::move(name)), set_(context.client()) {
    describe(set_);
  }

  const TunableSet<K, Args>& set() const { return set_; }

  // Runs the best candidate for the key (already anchored) on args. See SYSTEM section 5; the
  // caller gets a right result or an error that lists why every candidate failed.
  Status execute(const K& key, const Args& args, Stream stream, CallReport* report = nullptr) {
    const detail::Entry<K>* entry = find(key);
    if (entry != nullptr) [[likely]] {
      if (Status done = hit(*entry, args, stream, report); done) [[likely]]
        return done;
    }
    return miss(key, args, stream, report);
  }

  // The two halves of a hit, for an operation that remembers entries between calls: see
  // DecisionTable::version() for how long an entry may be kept. Null when there is no decision,
  // or a partial one.
  const detail::Entry<K>* find(const K& key) const {
    const detail::Entry<K>* entry = table_.find(key, key_hash(key));
    return entry != nullptr && !entry->refine ? entry : nullptr;
  }
  std::uint64_t version() const { return table_.version(); }
  // Runs the first candidate of the ranking that is legal for args. An error means that nothing
  // was written yet or that the output is to be written again: execute() finds a way. Now and then
  // it measures after that for a while: see autotune.background.
  Status hit(const detail::Entry<K>& entry, const Args& args, Stream stream,
             CallReport* report = nullptr) {
    for (const std::size_t i : entry.parts.empty() ? entry.ranking : ranking_for(entry, args)) {
      if (set_.illegal_because(i, args) != nullptr) continue;
      Status done = set_.run(i, args, stream);
      if (done && report != nullptr) [[unlikely]]
        *report = {entry.origin, set_.name(i), false};
      if (--detail::hit_counter.left == 0) [[unlikely]] {
        done ? look_beyond(entry, args, stream) : detail::hit_counter.put_off();
      }
      return done;
    }
    return fail(ErrorKind::no_candidate, "no ranked candidate is legal for this problem");
  }

  // Runs a named candidate. Errors: not_found listing the names; illegal with the reason.
  Status force(std::string_view candidate, const Args& args, Stream stream,
               CallReport* report = nullptr) {
    const auto i = set_.find(candidate);
    if (!i)
      return fail(ErrorKind::not_found, context_.unknown_candidate(name_, candidate, names()));
    if (const char* reason = set_.illegal_because(*i, args)) {
      return fail(ErrorKind::illegal, "candidate " + set_.name(*i) + " cannot run this: " + reason);
    }
    if (Status built = set_.prepare(*i, args); !built) return built;
    if (report != nullptr) *report = {Origin::forced, set_.name(*i), false};
    return set_.run(*i, args, stream);
  }

  // Runs what the plan for the key would try first, without measuring or keeping anything.
  Status untuned(const K& key, const Args& args, Stream stream, CallReport* report = nullptr) {
    const detail::TypedProblem<K, Args> problem(set_, key, args, stream);
    return run_first(detail::trusted_untuned_order(context_, name_, problem), args, stream,
                     Origin::fallback, false, report);
  }

  // The decision for a key, from memory or else from the store; nothing when there is none.
  std::optional<Decision> decision(const K& key, const Args& args) {
    if (const auto* entry = table_.find(key, key_hash(key))) {
      Decision copy = *decision_for(*entry, args);
      copy.origin = entry->origin;
      return copy;
    }
    const detail::TypedProblem<K, Args> problem(set_, key, args, Stream{});
    auto stored = detail::load_decision(context_, name_, problem);
    if (!stored) return std::nullopt;
    for (Decision& own : detail::load_parts(context_, name_, problem, stored->decision)) {
      if (own.part == problem.part()) return std::move(own);
    }
    return std::move(stored->decision);
  }

  // Whether calls have let its part of the key (TunableSet::parts) be looked at, if any ever will.
  bool settled(const K& key, const Args& args) const;

  std::vector<Decision> decisions() const override {
    std::vector<Decision> all;
    const std::lock_guard lock(mutex_);
    table_.for_each([&](const detail::Entry<K>& entry) {
      all.push_back(*entry.decision);
      for (const detail::EntryPart& own : entry.parts) all.push_back(*own.decision);
    });
    return all;
  }
  static const void* type_of() {
    static const char tag = 0;
    return &tag;
  }
  const void* type() const override { return type_of(); }
  void reset() override {
    const std::lock_guard lock(mutex_);
    table_.clear();
    for (Online& each : online_) ended_.push_back(std::move(each.tune));
    online_.clear();
    ++generation_;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < set_.size(); ++i) all.push_back(set_.name(i));
    return all;
  }

 private:
  // Everything that is not a hit; kept out of line so that a hit stays small.
  [[gnu::noinline]] Status miss(const K& key, const Args& args, Stream stream, CallReport* report);
  // After a hit that stands for many: takes what they earned for measuring, and when that is enough
  // does the next step. On the thread of the caller, whose own work is done.
  [[gnu::noinline]] void look_beyond(const detail::Entry<K>& entry, const Args& args,
                                     Stream stream);
  // A miss on a stream that is captured: nothing on it runs before the graph does, so nothing can
  // be measured or waited for. Takes what memory or the store know, or else the untuned choice.
  Status record(const K& key, const Args& args, Stream stream, CallReport* report);
  // A miss in the mode "online". The decision that there may be cannot serve this call.
  Status sample(const K& key, const Args& args, Stream stream, CallReport* report);
  // The key's tune by calls; null when there is none.
  std::shared_ptr<detail::OnlineTune> online_tune(const K& key) const;
  bool tunes_online() const {
    const AutotuneSettings& settings = context_.settings().autotune;
    return settings.mode == Mode::online && (set_.checks_results() || !settings.verify);
  }
  // Runs on the caller's output the first legal candidate of `order` that succeeds.
  // `failed` takes those that were tried and could not (shortage of memory aside, which passes).
  Status run_first(const std::vector<std::size_t>& order, const Args& args, Stream stream,
                   Origin origin, bool tuned, CallReport* report,
                   std::vector<std::size_t>* failed = nullptr);
  // The ranking of a decision (or null) and behind it everything else that is known to be right:
  // what was verified, and the fallback, unless it was found wrong.
  std::vector<std::size_t> order_of(const Decision* decision) const;
  bool usable(const std::vector<std::size_t>& ranking, const Args& args) const;
  // What the part that args are in has for its own; null where it has nothing.
  const detail::EntryPart* part_for(const detail::Entry<K>& entry, const Args& args) const;
  [[gnu::noinline]] const std::vector<std::size_t>& ranking_for(const detail::Entry<K>& entry,
                                                                const Args& args) const {
    const detail::EntryPart* own = part_for(entry, args);
    return own != nullptr ? own->ranking : entry.ranking;
  }
  const std::shared_ptr<const Decision>& decision_for(const detail::Entry<K>& entry,
                                                      const Args& args) const {
    const detail::EntryPart* own = part_for(entry, args);
    return own != nullptr ? own->decision : entry.decision;
  }
  detail::EntryPart entry_part(Decision decision) const;
  std::vector<std::size_t> indices(const std::vector<std::string>& ranking) const;
  // Takes candidates that failed at a hit out of the ranking in memory.
  void demote(const detail::Entry<K>& entry, const std::vector<std::size_t>& failed);
  const detail::Entry<K>* publish(const K& key, std::shared_ptr<const Decision> decision,
                                  Origin origin, std::uint64_t generation,
                                  std::vector<detail::EntryPart> parts = {},
                                  std::shared_ptr<detail::Progress> progress = nullptr);
  // Marks a key as pending for as long as it lives. The caller holds the mutex when it is made.
  class PendingMark {
   public:
    PendingMark(Tuner& tuner, const K& key) : tuner_(tuner), key_(key) {
      tuner.pending_.push_back(key);
    }
    ~PendingMark() {
      const std::lock_guard lock(tuner_.mutex_);
      tuner_.pending_.erase(std::find(tuner_.pending_.begin(), tuner_.pending_.end(), key_));
      tuner_.pending_changed_.notify_all();
    }
    PendingMark(const PendingMark&) = delete;
    PendingMark& operator=(const PendingMark&) = delete;

   private:
    Tuner& tuner_;
    const K& key_;
  };

  TuneContext& context_;
  const std::string name_;
  TunableSet<K, Args> set_;
  detail::DecisionTable<K> table_;
  mutable std::mutex mutex_;  // guards table_ writes and all below
  std::condition_variable pending_changed_;
  std::vector<K> pending_;
  std::uint64_t generation_ = 0;
  struct Online {
    K key;
    std::shared_ptr<detail::OnlineTune> tune;
  };
  std::vector<Online> online_;  // keys that are being tuned by their calls
  // Over, but perhaps not written to disk yet: what waits for that is destroyed with the tuner.
  std::vector<std::shared_ptr<detail::OnlineTune>> ended_;
};

// ---------------------------------------------------------------------------------------------

template <class K, class Args>
std::vector<std::size_t> Tuner<K, Args>::indices(const std::vector<std::string>& ranking) const {
  std::vector<std::size_t> order;
  for (const std::string& name : ranking) {
    if (const auto i = set_.find(name)) order.push_back(*i);
  }
  return order;
}

template <class K, class Args>
const detail::Entry<K>* Tuner<K, Args>::publish(const K& key,
                                                std::shared_ptr<const Decision> decision,
                                                Origin origin, std::uint64_t generation,
                                                std::vector<detail::EntryPart> parts,
                                                std::shared_ptr<detail::Progress> progress) {
  detail::Entry<K> entry;
  entry.key = key;
  entry.hash = key_hash(key);
  entry.ranking = indices(decision->ranking);
  entry.origin = origin;
  const CandidateEvidence* winner = decision->find(decision->winner);
  const AutotuneSettings& settings = context_.settings().autotune;
  // In the mode "online" nothing is ever measured apart.
  const bool goes_on = settings.background > 0 && settings.mode == Mode::measure;
  if (goes_on && winner != nullptr && winner->estimate_s()) {
    entry.winner_s = *winner->estimate_s();
    entry.progress =
        progress != nullptr ? std::move(progress) : std::make_shared<detail::Progress>();
    // Else the problem of the search has a second look too, without anybody waiting for it.
    if (decision->part && decision->short_circuit) entry.progress->learn(*decision->part);
    for (const detail::EntryPart& own : parts) entry.progress->learn(own.part);
  }
  entry.parts = std::move(parts);
  entry.refine = decision->partial && entry.progress == nullptr;
  entry.decision = std::move(decision);
  // The environment was switched meanwhile: what was learned belongs to the old one.
  if (generation != generation_) return nullptr;
  return table_.insert(std::move(entry));
}

template <class K, class Args>
std::vector<std::size_t> Tuner<K, Args>::order_of(const Decision* decision) const {
  std::vector<std::size_t> order;
  if (decision != nullptr) order = indices(decision->ranking);
  bool suspect_fallback = false;
  for (std::size_t i = 0; i < set_.size(); ++i) {
    const CandidateEvidence* known = decision != nullptr ? decision->find(set_.name(i)) : nullptr;
    // A wrong result is worse than an error.
    if (known != nullptr ? known->verdict == Verdict::wrong || (i > 0 && !known->verified) : i > 0)
      continue;
    if (std::find(order.begin(), order.end(), i) != order.end()) continue;
    suspect_fallback = suspect_fallback || (known != nullptr && known->quarantined);
    if (known == nullptr || !known->quarantined) order.push_back(i);
  }
  if (suspect_fallback) order.push_back(0);
  return order;
}

template <class K, class Args>
bool Tuner<K, Args>::usable(const std::vector<std::size_t>& ranking, const Args& args) const {
  return std::any_of(ranking.begin(), ranking.end(),
                     [&](std::size_t i) { return set_.illegal_because(i, args) == nullptr; });
}

template <class K, class Args>
Status Tuner<K, Args>::run_first(const std::vector<std::size_t>& order, const Args& args,
                                 Stream stream, Origin origin, bool tuned, CallReport* report,
                                 std::vector<std::size_t>* failed) {
  std::string reasons;
  for (const std::size_t i : order) {
    std::string reason;
    Status done;
    if (const char* illegal = set_.illegal_because(i, args)) {
      reason = illegal;
    } else if (Status built = set_.prepare(i, args); !built) {
      if (built.error().kind == ErrorKind::device_lost) return built;
      reason = built.error().text;
      if (failed != nullptr) failed->push_back(i);
    } else if (done = set_.run(i, args, stream); !done) {
      if (done.error().kind == ErrorKind::device_lost) return done;
      reason = done.error().text;
      if (failed != nullptr && done.error().kind != ErrorKind::out_of_memory) failed->push_back(i);
    } else {
      if (report != nullptr) *report = {origin, set_.name(i), tuned};
      return done;
    }
    reasons += "\n  " + set_.name(i) + ": " + reason;
  }
  return fail(ErrorKind::no_candidate, "no candidate of " + name_ + " could run:" + reasons);
}

template <class K, class Args>
Status Tuner<K, Args>::miss(const K& key, const Args& args, Stream stream, CallReport* report) {
  if (set_.size() == 0) return fail(ErrorKind::no_candidate, name_ + " has no candidates");

  if (set_.client().recording(stream)) return record(key, args, stream, report);
  const AutotuneSettings& settings = context_.settings().autotune;
  const auto until =
      std::chrono::steady_clock::now() + detail::seconds_to_wait(settings.pending_timeout_s);
  std::unique_lock lock(mutex_);
  // Another thread may be at this key: wait for it, or do without.
  const auto find_pending = [&] { return std::find(pending_.begin(), pending_.end(), key); };
  const detail::Entry<K>* entry = table_.find(key, key_hash(key));
  if (find_pending() != pending_.end() && (entry == nullptr || !usable(entry->ranking, args))) {
    // A thread that is measuring something else must not wait: two such could wait for each other.
    if (settings.pending == Pending::wait && !detail::is_searching()) {
      pending_changed_.wait_until(lock, until, [&] { return find_pending() == pending_.end(); });
    }
    entry = table_.find(key, key_hash(key));
  }
  const bool taken = find_pending() != pending_.end();
  if (entry != nullptr && usable(entry->ranking, args) && (taken || !entry->refine)) {
    lock.unlock();
    std::vector<std::size_t> failed;
    Status done = run_first(order_of(decision_for(*entry, args).get()), args, stream, entry->origin,
                            false, report, &failed);
    if (!failed.empty()) demote(*entry, failed);
    return done;
  }
  if (tunes_online()) {
    lock.unlock();
    return sample(key, args, stream, report);
  }
  if (taken) {
    lock.unlock();
    return run_first(order_of(nullptr), args, stream, Origin::fallback, false, report);
  }
  const std::uint64_t generation = generation_;
  std::shared_ptr<const Decision> known = entry != nullptr ? entry->decision : nullptr;

  const PendingMark mark(*this, key);
  lock.unlock();

  detail::TypedProblem<K, Args> problem(set_, key, args, stream);
  // Whether the store has all that is wanted; what else it has is taken in where nothing is known.
  const auto is_stored = [&] {
    auto stored = detail::load_decision(context_, name_, problem);
    if (!stored) return false;
    const bool enough = stored->complete && !stored->decision.partial &&
                        usable(indices(stored->decision.ranking), args);
    if (!enough && known != nullptr) return false;
    known = std::make_shared<const Decision>(std::move(stored->decision));
    if (!enough) return false;
    std::vector<detail::EntryPart> parts;
    for (Decision& own : detail::load_parts(context_, name_, problem, *known)) {
      parts.push_back(entry_part(std::move(own)));
    }
    const std::lock_guard again(mutex_);
    const auto* taken_in = publish(key, known, Origin::memory, generation, std::move(parts));
    if (taken_in != nullptr) known = decision_for(*taken_in, args);
    return true;
  };
  const auto run_stored = [&] {
    return run_first(order_of(known.get()), args, stream, Origin::store, false, report);
  };
  if (known == nullptr && is_stored()) return run_stored();
  // Who can run already waits for nobody.
  const bool can_run = known != nullptr && usable(indices(known->ranking), args);
  const auto turn = detail::take_turn(
      context_, name_, problem,
      can_run ? 0
              : std::chrono::duration<double>(until - std::chrono::steady_clock::now()).count());
  // Another process may have decided meanwhile.
  if ((known == nullptr || known->partial) && is_stored()) return run_stored();
  if (turn == nullptr) {
    return run_first(order_of(known.get()), args, stream,
                     can_run ? Origin::memory : Origin::fallback, false, report);
  }

  Result<Decision> found = detail::search(context_, name_, problem, known.get(), *turn);
  if (!found) {
    if (found.error().kind == ErrorKind::no_candidate ||
        found.error().kind == ErrorKind::device_lost) {
      return std::unexpected(found.error());
    }
    // Nothing could be measured (no memory for it, say); the caller's own output is there.
    return run_first(order_of(known.get()), args, stream, Origin::fallback, false, report);
  }
  detail::keep_decision(context_, *found, *turn);
  auto decision = std::make_shared<const Decision>(*std::move(found));
  {
    const std::lock_guard again(mutex_);
    publish(key, decision, Origin::memory, generation);
  }
  return run_first(order_of(decision.get()), args, stream, decision->origin,
                   decision->cost.launches > 0, report);
}

template <class K, class Args>
std::shared_ptr<detail::OnlineTune> Tuner<K, Args>::online_tune(const K& key) const {
  const auto at = std::find_if(online_.begin(), online_.end(),
                               [&](const Online& each) { return same_key(each.key, key); });
  return at != online_.end() ? at->tune : nullptr;
}

template <class K, class Args>
Status Tuner<K, Args>::sample(const K& key, const Args& args, Stream stream, CallReport* report) {
  std::shared_ptr<detail::OnlineTune> tune;
  std::uint64_t generation = 0;
  {
    const std::lock_guard lock(mutex_);
    generation = generation_;
    tune = online_tune(key);
    if (tune == nullptr) {
      const detail::Entry<K>* entry = table_.find(key, key_hash(key));
      tune =
          detail::make_online_tune(context_, name_, entry != nullptr ? entry->decision : nullptr);
      online_.push_back({key, tune});
    }
  }
  detail::TypedProblem<K, Args> problem(set_, key, args, stream);
  auto outcome = tune->call(problem);
  if (!outcome || outcome->decision != nullptr) {
    const std::lock_guard lock(mutex_);
    if (outcome) publish(key, outcome->decision, Origin::memory, generation);
    std::erase_if(online_, [&](const Online& each) { return each.tune == tune; });
    if (outcome) ended_.push_back(tune);
  }
  if (!outcome) return std::unexpected(outcome.error());
  if (outcome->ran) {
    if (report != nullptr) {
      *report = {outcome->sampled ? Origin::measured : Origin::fallback, set_.name(*outcome->ran),
                 outcome->sampled, outcome->sampled};
    }
    return {};
  }
  if (const Decision* decision = outcome->decision.get()) {
    return run_first(order_of(decision), args, stream, decision->origin, false, report);
  }
  return run_first(tune->order(), args, stream, Origin::fallback, false, report);
}

template <class K, class Args>
Status Tuner<K, Args>::record(const K& key, const Args& args, Stream stream, CallReport* report) {
  const detail::Entry<K>* entry = table_.find(key, key_hash(key));
  if (entry != nullptr && usable(entry->ranking, args)) {
    return run_first(order_of(decision_for(*entry, args).get()), args, stream, entry->origin, false,
                     report);
  }
  if (tunes_online()) {
    std::unique_lock lock(mutex_);
    if (const auto tune = online_tune(key)) {
      lock.unlock();
      if (const auto order = tune->order(); usable(order, args)) {
        return run_first(order, args, stream, Origin::fallback, false, report);
      }
    }
  }
  const detail::TypedProblem<K, Args> problem(set_, key, args, stream);
  if (const auto stored = detail::load_decision(context_, name_, problem);
      stored && usable(indices(stored->decision.ranking), args)) {
    return run_first(order_of(&stored->decision), args, stream, Origin::store, false, report);
  }
  return untuned(key, args, stream, report);
}

template <class K, class Args>
void Tuner<K, Args>::demote(const detail::Entry<K>& entry, const std::vector<std::size_t>& failed) {
  const std::lock_guard lock(mutex_);
  // Somebody else replaced it meanwhile: theirs is newer.
  if (table_.find(entry.key, entry.hash) != &entry) return;
  const auto without = [&](Decision decision) {
    for (const std::size_t i : failed) {
      std::erase(decision.ranking, set_.name(i));
      for (CandidateEvidence& candidate : decision.candidates) {
        if (candidate.name != set_.name(i)) continue;
        candidate.verdict = Verdict::launch_failed;
        candidate.reason = "failed when it was used";
      }
    }
    if (!decision.ranking.empty()) settle_winner(decision);
    return decision;
  };
  std::vector<detail::EntryPart> parts;
  for (const detail::EntryPart& own : entry.parts) {
    parts.push_back(entry_part(without(*own.decision)));
    if (parts.back().ranking.empty()) parts.pop_back();
  }
  publish(entry.key, std::make_shared<const Decision>(without(*entry.decision)), entry.origin,
          generation_, std::move(parts), entry.progress);
}

}  // namespace rooftune

#include "rooftune/detail/tuner_beyond.h"
#include "rooftune/local_tuner.h"

#endif  // ROOFTUNE_TUNER_H_
