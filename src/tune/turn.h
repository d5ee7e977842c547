// The right to tune a key.
#ifndef ROOFTUNE_TUNE_TURN_H_
#define ROOFTUNE_TUNE_TURN_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "rooftune/tuner.h"
#include "store/lease.h"
#include "tune/exclusion.h"

namespace rooftune::detail {

// One at a time has it for a key, of all processes and sessions with this environment: where the
// environment lies on a disk it is a lease, in a file beside the database. What the lease's holder
// is about to launch is noted there, so that a candidate that takes the process with it is known to
// the next holder, who puts it into quarantine.
class TuningTurn {
 public:
  TuningTurn(TuneContext& context, const std::string& tuner, const Problem& problem);

  // Tries once; false when somebody else has it.
  bool take();
  // Before its end; it may be taken again.
  void give_back();

  // The environment in which the search began, and that its results are for.
  Environment& environment() const { return *environment_; }

  // What must not run now.
  std::vector<Exclusion> exclusions() const;
  bool excludes(const CandidateEvidence& candidate) const;
  // The candidate's check failed: it is out for as long as this process lives.
  void found_wrong(const CandidateEvidence& candidate) const;
  // The device was lost while the candidate ran for the first time.
  void suspect(const CandidateEvidence& candidate) const;

  // The first launch of a candidate until it has been verified.
  class FirstLaunch {
   public:
    FirstLaunch(TuningTurn& turn, const CandidateEvidence& candidate);
    ~FirstLaunch();
    FirstLaunch(const FirstLaunch&) = delete;
    FirstLaunch& operator=(const FirstLaunch&) = delete;

   private:
    TuningTurn& turn_;
  };

 private:
  TuneContext& context_;
  const KeyPlace place_;
  const std::shared_ptr<Environment> environment_;
  std::optional<Lease> lease_;  // none where nothing lies on a disk
};

}  // namespace rooftune::detail

#endif  // ROOFTUNE_TUNE_TURN_H_
