// First launches behind the calls (autotune.mode = "online").
#ifndef ROOFTUNE_TUNE_REHEARSAL_H_
#define ROOFTUNE_TUNE_REHEARSAL_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "rooftune/detail/problem.h"
#include "rooftune/tuner.h"

namespace rooftune::detail {

// Where the check of a result takes several times as long as the operation (a sum has to be read
// once more, and slowly), calls have no time for it. There candidates have their first launch on
// operands of their own, one after the other on a thread that leaves processors to others; who is
// found right is as good as one that was verified in a call.
//
// On a device with streams this happens on a stream of its own, beside those of the calls: theirs
// may be captured, or gone, and are asked for nothing.
//
// Used by one thread. Destroy it in the process that made it: in a child of that one its thread
// does not exist, and nobody is to wait for it.
class Rehearsal {
 public:
  // `problem` is kept by Problem::kept().
  Rehearsal(TuneContext& context, const std::string& tuner, std::unique_ptr<Problem> problem);
  // Waits for the launch in progress; the others are left.
  ~Rehearsal();
  Rehearsal(const Rehearsal&) = delete;
  Rehearsal& operator=(const Rehearsal&) = delete;

  // Puts those that were not asked for before at the end of the queue.
  void ask(std::span<const std::size_t> candidates);
  bool asked(std::size_t candidate) const;

  struct Outcome {
    Status done;                         // of building and launching
    bool built = true;                   // false: it is the building that failed
    bool excluded = false;               // in quarantine by now: it was not launched
    bool ran = false;                    // false without an error: a call has to do all this
    std::optional<Result<Check>> check;  // where settings ask for it
    double verify_s = 0;
  };
  // Nothing while it is not known.
  std::optional<Outcome> outcome(std::size_t candidate) const;
  // No candidate can be launched here.
  bool unavailable() const;
  // Nothing more is asked for: the thread gives memory and stream back, and nobody waits for it.
  void close();

 private:
  struct Shared;
  TuneContext& context_;
  std::shared_ptr<Shared> shared_;  // with the jobs, which may outlive this object in the queue
};

}  // namespace rooftune::detail

#endif  // ROOFTUNE_TUNE_REHEARSAL_H_
