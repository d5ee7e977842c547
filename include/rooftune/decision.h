// The outcome for a key: a ranking with evidence, and how it came about.
#ifndef ROOFTUNE_DECISION_H_
#define ROOFTUNE_DECISION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rooftune/error.h"
#include "rooftune/settings.h"

namespace rooftune {

// What became of one candidate.
enum class Verdict : std::uint8_t {
  winner,
  ranked,      // measured, verified, usable when the winner is illegal for a problem
  eliminated,  // measured and dropped from the race, or not worth verifying
  not_tried,   // the search ended before it (short-circuit, budget, a later round)
  illegal,     // its legality test refused the problem; the reason says why
  build_failed,
  launch_failed,
  not_timed,  // ran, but no positive, finite time could be measured
  wrong,      // verification refused its output
};
std::string_view to_string(Verdict verdict);

// Where the choice for a call came from.
enum class Origin : std::uint8_t {
  measured,  // this call measured
  memory,    // decided earlier in this process
  store,     // read from the database
  forced,    // the caller named the candidate
  fallback,  // no decision: pending elsewhere, nothing to measure, or nothing could be timed
};
std::string_view to_string(Origin origin);

// Everything known about one candidate for one key. Valid for this version of it only.
struct CandidateEvidence {
  std::string name;
  std::string version;
  Verdict verdict = Verdict::not_tried;
  std::string reason;           // for people; empty for the winner
  std::vector<double> samples;  // seconds for one launch, in the order they were taken
  std::optional<double> error;  // relative, from the verification
  std::optional<double> error_bound;
  bool verified = false;
  // A process died while running it for this key, or its device was lost: launch_failed without
  // having been tried, for as long as the store says so.
  bool quarantined = false;
  std::optional<double> compile_s;
  // Its guess (Candidate::predicted) for the problem of the samples.
  std::optional<double> guess_s;
  // Measured after the search, in turn with the winner. So that times can be compared with those of
  // the search, made at another time and perhaps for another problem of the key, the samples are in
  // proportion to what the winner took in the search.
  bool background = false;

  std::optional<double> min_s() const;  // of the samples that count
  std::optional<double> median_s() const;
  std::optional<double> estimate_s() const;  // what candidates are ranked by: see tune/estimator.h
  std::optional<double> spread() const;      // (75th - 25th percentile) / median
};

// The roofline of the problem that was measured.
struct BoundRecord {
  double ops = 0, bytes = 0;
  double peak_ops_per_s = 0, peak_bytes_per_s = 0;
  double threshold = 0;  // 0: the level has no limit
  double launch_overhead_s = 0;
  bool broken = false;  // a sample was faster than the roofline allows: probe measured again,
                        // short-circuit switched off
};

struct Cost {
  double probe_s = 0, compile_s = 0, measure_s = 0, verify_s = 0, store_s = 0;
  // Of candidates, while tuning; online: calls that were samples, and first launches behind calls.
  std::uint64_t launches = 0;
  std::uint64_t scratch_bytes = 0;  // memory held for measuring
  // After the search, beside calls that were served (autotune.background): all that it took, and
  // launches that are not among those above.
  double background_s = 0;
  std::uint64_t background_launches = 0;
};

struct Decision {
  std::string operation;    // tuner name, e.g. "matmul"
  std::string key;          // key_json
  std::string device;       // Client::name(), for people
  std::string fingerprint;  // digest
  Origin origin = Origin::fallback;
  std::string winner;
  std::vector<std::string> ranking;  // usable candidates, best first; [0] is the winner
  // The others that the samples do not show to be slower than the best by more than the margin.
  // Among such the untuned choice wins, or else the first in declared order: a fixed rule, so that
  // two machines of a kind agree.
  std::vector<std::string> same_as_winner;
  std::vector<std::string> replaced;  // earlier winners, where the background found a better one
  // Of a key whose problems the operation tells apart (TunableSet::parts): the part that was
  // measured, in words; and the parts that have a decision of their own, since this one does not
  // suit them. Such a one is `apart`: made in the background, with some of the candidates.
  std::optional<std::uint64_t> part;
  std::string part_text;
  std::vector<std::uint64_t> split;
  bool apart = false;
  bool partial = false;  // the budget ended the search: refined at a later call
  bool verified = true;  // false: the winner's output was not checked
  bool storable = true;  // false: nothing could be timed, so nothing is kept
  std::optional<double> limit_s;
  std::optional<BoundRecord> bound;
  std::optional<std::string> short_circuit;  // the candidate that ended the search at the limit
  std::vector<std::vector<std::string>> rounds;
  double budget_s = 0;
  Operands operands = Operands::warm;  // as a search had them, cold or warm; a call has its own
  Mode mode = Mode::measure;           // whether calls were the samples
  std::string not_online;              // why they were not, although the settings ask for it
  Cost cost;
  std::vector<CandidateEvidence> candidates;  // all of the set, also those never run

  const CandidateEvidence* find(std::string_view name) const;
};

// After names have left the ranking: the winner is the first that is left ("" for none), and only
// who is left is as good as it.
void settle_winner(Decision& decision);

// One line of JSON; the fields that programs rely on (SYSTEM: `why --json`) and the rest of the
// record. Numbers that are not finite become null.
std::string to_json(const Decision& decision);
// Errors: invalid_argument for text that is not such a record.
Result<Decision> decision_from_json(std::string_view json);

}  // namespace rooftune

#endif  // ROOFTUNE_DECISION_H_
