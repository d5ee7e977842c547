// Candidates that must not run for a key, whatever their times: those that a process died of, and
// those whose result was found wrong.
#ifndef ROOFTUNE_TUNE_EXCLUSION_H_
#define ROOFTUNE_TUNE_EXCLUSION_H_

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rooftune/decision.h"
#include "rooftune/detail/problem.h"
#include "store/environment.h"

namespace rooftune {

// What a candidate is excluded for: a key of a tuner on a device.
struct KeyPlace {
  std::string fingerprint;  // of the device, the digest
  std::string tuner;
  std::string key;  // key_json

  auto operator<=>(const KeyPlace&) const = default;
};
KeyPlace place_of(const std::string& tuner, const detail::Problem& problem);

struct Exclusion {
  std::string candidate, version;
  Verdict verdict = Verdict::launch_failed;  // or wrong
  std::string reason;
};

// --- The quarantine lies in the store, for all processes, until `rooftune store clear` lifts it.

std::vector<Exclusion> quarantined(Environment& environment, const KeyPlace& place);
// `why` a candidate is suspected, to be followed by the way out of it.
void put_into_quarantine(Environment& environment, const KeyPlace& place,
                         std::string_view candidate, std::string_view version,
                         std::string_view why);

// The note that a candidate is about to run, and who it is about; nothing for a note that is about
// another key or was not written whole.
std::string note_before_launch(const KeyPlace& place, std::string_view candidate,
                               std::string_view version);
struct Suspect {
  std::string candidate, version;
};
std::optional<Suspect> suspect_of(std::string_view note, const KeyPlace& place);

// --- What was found wrong in this process, which no switch of environments makes right again.
class FoundWrong {
 public:
  void add(const KeyPlace& place, Exclusion exclusion);
  std::vector<Exclusion> at(const KeyPlace& place) const;

 private:
  mutable std::mutex mutex_;
  std::map<KeyPlace, std::vector<Exclusion>> all_;
};

// Takes the excluded candidates (of the version that the problem has) out of a decision's ranking,
// and says so in their evidence.
void exclude(Decision& decision, const std::vector<Exclusion>& exclusions,
             const detail::Problem& problem);

}  // namespace rooftune

#endif  // ROOFTUNE_TUNE_EXCLUSION_H_
