// The tuner of one's own operation. Included by tuner.h.
#ifndef ROOFTUNE_LOCAL_TUNER_H_
#define ROOFTUNE_LOCAL_TUNER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "rooftune/tuner.h"

namespace rooftune {

// One's own operation. An object of static storage duration serves every session and thread; the
// sets it makes live in the sessions.
template <class K, class Args>
class LocalTuner {
 public:
  // The name is the tuner's in the store: choose one that no other library has.
  explicit LocalTuner(std::string name) : name_(std::move(name)) {}

  // Runs the best candidate for `key` (anchored here) on `args`. `describe` fills the set at the
  // first call in each session; it must describe the same operation every time.
  Status execute(TuneContext& context, const K& key, const Args& args,
                 const std::function<void(TunableSet<K, Args>&)>& describe, Stream stream = {},
                 CallReport* report = nullptr) {
    Tuner<K, Args>* tuner = of(context, describe);
    if (tuner == nullptr) {
      return fail(ErrorKind::invalid_argument,
                  "the name " + name_ + " belongs to a tuner of other types in this session");
    }
    return tuner->execute(anchored_key(key, context.settings().autotune.level), args, stream,
                          report);
  }

  // The tuner of this operation in a session, made at first use; null when the session has a tuner
  // of other types under this name ("matmul" and "sum" are the library's). Later calls take no
  // lock.
  Tuner<K, Args>* of(TuneContext& context,
                     const std::function<void(TunableSet<K, Args>&)>& describe) {
    for (const Known* known = known_.load(std::memory_order_acquire); known != nullptr;
         known = known->next) {
      if (known->context == context.id()) return known->tuner;
    }
    TunerBase& found = context.tuner(name_, [&]() -> std::unique_ptr<TunerBase> {
      return std::make_unique<Tuner<K, Args>>(context, name_, describe);
    });
    if (found.type() != Tuner<K, Args>::type_of()) return nullptr;
    auto* tuner = static_cast<Tuner<K, Args>*>(&found);
    auto* known = new Known{context.id(), tuner, known_.load(std::memory_order_relaxed)};
    while (!known_.compare_exchange_weak(known->next, known, std::memory_order_acq_rel)) {
    }
    return tuner;
  }

  ~LocalTuner() {
    for (const Known* known = known_.load(); known != nullptr;)
      delete std::exchange(known, known->next);
  }
  LocalTuner(const LocalTuner&) = delete;
  LocalTuner& operator=(const LocalTuner&) = delete;

 private:
  // One per session that used this tuner; ids are never used twice, so a dead one is harmless.
  struct Known {
    std::uint64_t context;
    Tuner<K, Args>* tuner;
    const Known* next;
  };
  std::string name_;
  std::atomic<const Known*> known_{nullptr};
};

}  // namespace rooftune

#endif  // ROOFTUNE_LOCAL_TUNER_H_
