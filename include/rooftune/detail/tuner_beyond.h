// The tuner beyond its decisions: steps after calls that were served, and parts of keys. Included
// by tuner.h. Not part of the stable surface.
#ifndef ROOFTUNE_DETAIL_TUNER_BEYOND_H_
#define ROOFTUNE_DETAIL_TUNER_BEYOND_H_

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "rooftune/tuner.h"

namespace rooftune {

template <class K, class Args>
const detail::EntryPart* Tuner<K, Args>::part_for(const detail::Entry<K>& entry,
                                                  const Args& args) const {
  const auto part = entry.parts.empty() ? std::nullopt : set_.part(args);
  const auto own = std::find_if(entry.parts.begin(), entry.parts.end(),
                                [&](const detail::EntryPart& each) { return each.part == part; });
  return own != entry.parts.end() ? &*own : nullptr;
}

template <class K, class Args>
detail::EntryPart Tuner<K, Args>::entry_part(Decision decision) const {
  detail::EntryPart own;
  own.part = decision.part.value_or(0);
  own.ranking = indices(decision.ranking);
  own.decision = std::make_shared<const Decision>(std::move(decision));
  return own;
}

template <class K, class Args>
bool Tuner<K, Args>::settled(const K& key, const Args& args) const {
  const detail::Entry<K>* entry = table_.find(key, key_hash(key));
  if (entry == nullptr) return false;
  if (entry->progress == nullptr) return true;
  const auto part = set_.part(args);
  return !entry->decision->partial && (!part || entry->progress->knows(*part));
}

template <class K, class Args>
void Tuner<K, Args>::look_beyond(const detail::Entry<K>& entry, const Args& args, Stream stream) {
  const std::uint32_t hits = detail::hit_counter.restart();
  if (entry.progress == nullptr) return;
  detail::Progress& progress = *entry.progress;
  const double seconds =
      detail::winner_seconds(*entry.decision, entry.winner_s, set_.work(entry.key, args));
  const double share = context_.settings().autotune.background;
  const auto part = set_.part(args);
  const bool new_part = part && !entry.decision->partial && !progress.knows(*part);
  const auto kind = new_part ? detail::StepKind::part : detail::StepKind::candidate;
  if (!progress.earn(hits * seconds * share, kind)) return;
  if (detail::is_searching() || set_.client().recording(stream)) return;
  // Whoever measures now or has a newer decision is not waited for: there will be other calls.
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || table_.find(entry.key, entry.hash) != &entry) return;
  if (std::find(pending_.begin(), pending_.end(), entry.key) != pending_.end()) return;
  const std::uint64_t generation = generation_;
  const PendingMark mark(*this, entry.key);
  lock.unlock();

  detail::TypedProblem<K, Args> problem(set_, entry.key, args, stream);
  auto found = detail::step_beyond(context_, problem, *entry.decision, progress, kind);
  if (!found) return;
  std::vector<detail::EntryPart> parts = entry.parts;
  if (found->apart) parts.push_back(entry_part(*std::move(found->apart)));
  // Parts that agreed with one winner may not with the next.
  auto next = found->decision.winner == entry.decision->winner
                  ? entry.progress
                  : std::make_shared<detail::Progress>(progress.credit_s());
  lock.lock();
  // A candidate that failed in use meanwhile left the ranking: that is newer.
  if (table_.find(entry.key, entry.hash) == &entry) {
    publish(entry.key, std::make_shared<const Decision>(std::move(found->decision)), entry.origin,
            generation, std::move(parts), std::move(next));
  }
  lock.unlock();
}

}  // namespace rooftune

#endif  // ROOFTUNE_DETAIL_TUNER_BEYOND_H_
