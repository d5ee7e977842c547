// Random scripts of everything that can go wrong while tuning, on the fake device: several threads,
// sessions and processes on one environment, candidates and devices with faults, processes that are
// killed. Used by a test for some seconds and by bench/ for longer.
#ifndef ROOFTUNE_TESTS_CAMPAIGN_FAULT_CAMPAIGN_H_
#define ROOFTUNE_TESTS_CAMPAIGN_FAULT_CAMPAIGN_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "rooftune/error.h"

namespace rooftune {

struct FaultCampaignOptions {
  std::filesystem::path folder = {};  // there; each script has a folder of its own inside
  std::size_t scripts = 10'000;
  std::uint64_t seed = 1;  // of the first script; the others have the numbers that follow
  int at_once = 8;         // scripts that run at the same time: most wait for something
  // A script takes some hundredths of a second. The longest wait in it is bounded by a fraction of
  // one; who takes longer than this on a busy machine will never end.
  double patience_s = 60;
  std::function<void(std::size_t done)> progress = {};
};

struct FaultCampaignReport {
  std::size_t scripts = 0;
  std::size_t calls = 0, tuned = 0, fallbacks = 0, errors = 0;
  std::size_t processes = 0, killed = 0;  // by the script, at a random moment
  std::size_t died = 0;                   // of a candidate
  std::size_t quarantines = 0;
  std::size_t finished = 0;  // keys of scripts whose decision was to be kept when a call returned

  // All of these must be 0.
  std::size_t wrong = 0;      // outputs of successful calls that are not right
  std::size_t stuck = 0;      // scripts that did not end
  std::size_t crashed = 0;    // scripts that ended in another way than by themselves
  std::size_t lost = 0;       // finished decisions that are not in the store
  std::size_t innocent = 0;   // quarantines of candidates of which nobody can have died
  std::size_t repeated = 0;   // processes that died of what another had died of
  std::size_t failed = 0;     // calls that failed, although the fallback was there and well
  std::size_t unhealthy = 0;  // what checks of the store say
  // One line for each, with the seed of the script.
  std::vector<std::string> faults;

  bool right() const {
    return wrong + stuck + crashed + lost + innocent + repeated + failed + unhealthy == 0;
  }
};

// Forks: call it while this process has no other threads that matter.
// Errors: io when processes cannot be made.
Result<FaultCampaignReport> run_fault_campaign(const FaultCampaignOptions& options);

}  // namespace rooftune

#endif  // ROOFTUNE_TESTS_CAMPAIGN_FAULT_CAMPAIGN_H_
