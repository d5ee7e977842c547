// Decisions in memory, read without locks. Not part of the stable surface.
#ifndef ROOFTUNE_DETAIL_DECISION_TABLE_H_
#define ROOFTUNE_DETAIL_DECISION_TABLE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "rooftune/decision.h"
#include "rooftune/detail/background.h"
#include "rooftune/key.h"

namespace rooftune::detail {

// A part of a key that has a decision of its own.
struct EntryPart {
  std::uint64_t part = 0;
  std::shared_ptr<const Decision> decision;
  std::vector<std::size_t> ranking;
};

// What memory holds for one key. Never changed after it is published, freed with its table.
template <class K>
struct Entry {
  K key;
  std::uint64_t hash = 0;
  std::shared_ptr<const Decision> decision;
  std::vector<std::size_t> ranking;  // candidates of the set, best first
  Origin origin = Origin::memory;    // what hits report
  bool refine = false;               // partial: the next caller goes on measuring
  std::vector<EntryPart> parts;
  double winner_s = 0;                 // what the winner is taken to take
  std::shared_ptr<Progress> progress;  // beyond the decision; null: nothing is measured there
};

// Decisions in memory. Readers take no lock and write no shared memory; writers hold the tuner's
// mutex. Replaced entries and outgrown arrays are kept until clear_garbage() at destruction,
// because a reader may still be looking at them: there are at most a few per key.
template <class K>
class DecisionTable {
 public:
  DecisionTable() { publish_slots(64); }

  const Entry<K>* find(const K& key, std::uint64_t hash) const {
    const Slots* slots = slots_.load(std::memory_order_acquire);
    for (std::size_t i = hash & slots->mask;; i = (i + 1) & slots->mask) {
      const Entry<K>* entry = slots->entries[i].load(std::memory_order_acquire);
      if (entry == nullptr) return nullptr;
      if (entry->hash == hash && same_key(entry->key, key)) return entry;
    }
  }

  // Changes whenever an entry is added, replaced or dropped. Whoever keeps a pointer to an entry
  // reads this before it finds the entry, and may use the pointer as long as the value is the same.
  std::uint64_t version() const { return version_.load(std::memory_order_acquire); }

  // The caller holds the tuner's mutex.
  const Entry<K>* insert(Entry<K> entry) {
    if ((count_ + 1) * 2 > slots_.load(std::memory_order_relaxed)->mask + 1) grow();
    kept_.push_back(std::make_unique<Entry<K>>(std::move(entry)));
    place(*all_slots_.back(), kept_.back().get());
    version_.fetch_add(1, std::memory_order_release);
    return kept_.back().get();
  }
  void clear() {
    count_ = 0;
    publish_slots(64);
    version_.fetch_add(1, std::memory_order_release);
  }
  template <class F>
  void for_each(F&& visit) const {
    const Slots* slots = slots_.load(std::memory_order_acquire);
    for (std::size_t i = 0; i <= slots->mask; ++i) {
      if (const auto* entry = slots->entries[i].load(std::memory_order_acquire)) visit(*entry);
    }
  }

 private:
  struct Slots {
    std::size_t mask = 0;
    std::unique_ptr<std::atomic<const Entry<K>*>[]> entries;
  };

  void publish_slots(std::size_t size) {
    auto slots = std::make_unique<Slots>();
    slots->mask = size - 1;
    slots->entries = std::make_unique<std::atomic<const Entry<K>*>[]>(size);
    slots_.store(slots.get(), std::memory_order_release);
    all_slots_.push_back(std::move(slots));
  }
  void grow() {
    const Slots* old = slots_.load(std::memory_order_relaxed);
    auto bigger = std::make_unique<Slots>();
    bigger->mask = (old->mask + 1) * 2 - 1;
    bigger->entries = std::make_unique<std::atomic<const Entry<K>*>[]>(bigger->mask + 1);
    count_ = 0;
    for (std::size_t i = 0; i <= old->mask; ++i) {
      if (const auto* entry = old->entries[i].load(std::memory_order_relaxed)) {
        place(*bigger, entry);
      }
    }
    slots_.store(bigger.get(), std::memory_order_release);
    all_slots_.push_back(std::move(bigger));
  }
  void place(Slots& slots, const Entry<K>* entry) {
    for (std::size_t i = entry->hash & slots.mask;; i = (i + 1) & slots.mask) {
      const Entry<K>* there = slots.entries[i].load(std::memory_order_relaxed);
      if (there == nullptr || same_key(there->key, entry->key)) {
        if (there == nullptr) ++count_;
        slots.entries[i].store(entry, std::memory_order_release);
        return;
      }
    }
  }

  std::atomic<const Slots*> slots_{nullptr};
  std::atomic<std::uint64_t> version_{0};
  std::size_t count_ = 0;
  std::vector<std::unique_ptr<Slots>> all_slots_;
  std::vector<std::unique_ptr<Entry<K>>> kept_;
};

}  // namespace rooftune::detail

#endif  // ROOFTUNE_DETAIL_DECISION_TABLE_H_
