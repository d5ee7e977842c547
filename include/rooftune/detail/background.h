// Measuring beyond a decision: in small steps after calls that have been served, within a share of
// the time that the operation takes (autotune.background). Not part of the stable surface.
#ifndef ROOFTUNE_DETAIL_BACKGROUND_H_
#define ROOFTUNE_DETAIL_BACKGROUND_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rooftune/decision.h"
#include "rooftune/detail/problem.h"
#include "rooftune/tune_context.h"

namespace rooftune::detail {

// A hit only counts down. Every 64th of a thread (in the mean: a fixed step would meet the same
// few of keys that take turns) stands for all since the one before, whatever their keys were: keys
// are met in proportion to their calls, and no clock has to be read at each.
struct HitCounter {
  std::uint32_t left = 64;
  std::uint32_t interval = 64;
  std::uint32_t random = 0x9e3779b9u;

  void put_off() { left = 1; }
  // Begins anew; gives how many hits the last one stands for.
  std::uint32_t restart() {
    const std::uint32_t passed = interval;
    random ^= random << 13;
    random ^= random >> 17;
    random ^= random << 5;
    left = interval = 32 + (random >> 26);
    return passed;
  }
};
inline constinit thread_local HitCounter hit_counter;

// What is measured beyond a decision: further candidates, or a part of the key that was not looked
// at yet.
enum class StepKind : std::uint8_t { candidate, part };

// How far measuring beyond the decision of a key has come. Shared by threads and by the entries
// that replace each other in the table, until another winner begins anew with the parts.
class BuildAhead;
class Progress {
 public:
  explicit Progress(double credit_s = 0) : credit_s_(credit_s) {}

  // True when a step of this kind may be due. Where nothing is left to do nothing is saved up.
  bool earn(double seconds, StepKind kind) {
    const double wanted_s = wanted(kind).load(std::memory_order_relaxed);
    if (wanted_s == std::numeric_limits<double>::infinity()) return false;
    return credit_s_.fetch_add(seconds, std::memory_order_relaxed) + seconds >= wanted_s;
  }
  void spend(double seconds) { credit_s_.fetch_sub(seconds, std::memory_order_relaxed); }
  double credit_s() const { return credit_s_.load(std::memory_order_relaxed); }
  // Whether the part was looked at, or will not be since there are too many.
  bool knows(std::uint64_t part) const {
    const std::size_t count = parts_.load(std::memory_order_acquire);
    if (count == kMostParts) return true;
    for (std::size_t i = 0; i < count; ++i) {
      if (part_[i] == part) return true;
    }
    return false;
  }

  // --- For one thread at a time: that which has marked the key as pending.
  // Nothing is looked at until there is so much credit; true when there is. A step that came to
  // nothing doubles what its like must have earned.
  bool want(double seconds, StepKind kind) {
    const int setbacks = std::min(setbacks_[std::size_t(kind)], 30);
    const double wanted_s = seconds * double(std::uint64_t{1} << setbacks);
    wanted(kind).store(wanted_s, std::memory_order_relaxed);
    return credit_s() >= wanted_s;
  }
  void set_back(StepKind kind) { ++setbacks_[std::size_t(kind)]; }
  void advance(StepKind kind) {
    setbacks_[std::size_t(kind)] = 0;
    want(0, kind);
  }
  void finish(StepKind kind) { want(std::numeric_limits<double>::infinity(), kind); }
  // What the next steps need is built while the program goes on.
  BuildAhead& build_ahead();
  void learn(std::uint64_t part) {
    if (knows(part)) return;
    const std::size_t count = parts_.load(std::memory_order_relaxed);
    part_[count] = part;
    parts_.store(count + 1, std::memory_order_release);
  }

 private:
  // More would cost every hit of a split key too much.
  static constexpr std::size_t kMostParts = 64;
  std::atomic<double>& wanted(StepKind kind) { return wanted_s_[std::size_t(kind)]; }

  std::atomic<double> credit_s_;
  std::array<std::atomic<double>, 2> wanted_s_{};
  std::array<int, 2> setbacks_{};
  std::array<std::uint64_t, kMostParts> part_{};
  std::atomic<std::size_t> parts_{0};
  std::shared_ptr<BuildAhead> build_ahead_;
};

// Seconds that the winner, which took `winner_s` when it was measured, can be expected to take for
// a problem of the same key with so much work.
double winner_seconds(const Decision& decision, double winner_s, const std::optional<Work>& work);

// What a step has changed.
struct Beyond {
  Decision decision;              // of the key
  std::optional<Decision> apart;  // of a part that now has its own
};

// The next step of this kind for a decision on this problem, when the credit covers it: measures
// the winner and others in turn on a trial, and stores what comes of it. Nothing when nothing
// changes (too little credit, nothing left to do, a failure, a part that agrees). Nor where
// launches return before they are done and the stream has more to do than this call (which would
// have to be waited for), or where a candidate is still being compiled. Spends from the credit all
// the time that it took. Throws nothing.
std::optional<Beyond> step_beyond(TuneContext& context, Problem& problem, const Decision& decision,
                                  Progress& progress, StepKind kind);

// The decisions of the parts that a decision from the store has split off, those that still stand.
std::vector<Decision> load_parts(TuneContext& context, const std::string& tuner,
                                 const Problem& problem, const Decision& decision);

}  // namespace rooftune::detail

#endif  // ROOFTUNE_DETAIL_BACKGROUND_H_
