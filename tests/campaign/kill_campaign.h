// Processes that tune with one database and are killed again and again: what was reported as
// finished must be there afterwards. Used by a test for some seconds and by bench/ for a minute.
#ifndef ROOFTUNE_TESTS_SYSTEM_KILL_CAMPAIGN_H_
#define ROOFTUNE_TESTS_SYSTEM_KILL_CAMPAIGN_H_

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "rooftune/error.h"

namespace rooftune {

struct KillCampaignOptions {
  std::filesystem::path folder = {};  // empty or not there yet: the environment of all processes
  double seconds = 60;
  // Goes on after that until there are so many kills, calls that measured and finished keys, and
  // kills less and less often, so that a busy machine gets there as well.
  std::size_t least = 0;
  int processes = 8;
  double kill_every_s = 0.2;  // one process, chosen at random, which is started again at once
  unsigned seed = 1;
};

struct KillCampaignReport {
  std::size_t kills = 0;
  std::size_t killed_in_a_call = 0;  // between the start of a call and its end
  std::size_t tuned = 0, hits = 0;   // calls of the workers that measured, and that did not
  std::size_t finished = 0;          // keys that a worker reported as finished
  std::size_t interrupted = 0;       // keys that were begun and never finished

  // All of these must be 0.
  std::size_t measured_twice = 0;   // by a worker, although another call had finished before it
  std::size_t missing = 0;          // finished keys whose decision is not in the store afterwards
  std::size_t later_tunes = 0;      // calls that still measured when all keys were run once more
  std::vector<std::string> faults;  // what the check of the file, workers and warnings say

  bool right() const {
    return measured_twice == 0 && missing == 0 && later_tunes == 0 && faults.empty();
  }
};

// Each process works on 20 keys, in an order of its own; half of them it shares with the process
// before it, half with the one behind. Who has finished all 20 goes on with 20 others. The products
// are small (8 to 200), so that many decisions are made.
//
// Forks: call it while this process has no other threads that matter.
// Errors: io when processes or pipes cannot be made.
Result<KillCampaignReport> run_kill_campaign(const KillCampaignOptions& options);

}  // namespace rooftune

#endif  // ROOFTUNE_TESTS_SYSTEM_KILL_CAMPAIGN_H_
