// Settings: a plain struct with the defaults, and how it is read from a file. A Session that is
// given none reads the nearest rooftune.toml. Environment variables are never read here: the host
// program (or the command line) asks for them and calls apply_environment.
#ifndef ROOFTUNE_SETTINGS_H_
#define ROOFTUNE_SETTINGS_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "rooftune/error.h"
#include "rooftune/precision.h"

namespace rooftune {

// How fine the grid of sizes is and how near the roofline is near enough.
//   level       anchor base   threshold
//   minimal     2.5           0.6
//   balanced    2             0.8
//   extensive   1.5           0.95
//   full        no rounding   no limit
enum class Level : std::uint8_t { minimal, balanced, extensive, full };
std::string_view to_string(Level level);
std::optional<Level> parse_level(std::string_view name);

// Share of the roofline that ends a search; nothing for `full`.
std::optional<double> threshold_of(Level level);

// How a key comes to its decision.
//   measure  the first call measures, on scratch memory and before it is served
//   online   calls are the samples: each runs the next candidate on its own output, and is timed;
//            what a candidate first gives is verified before the call returns, and computed again
//            where it is wrong; where calls are too short for that it is verified behind them, on
//            operands of the library's own. No call is measured for apart: from the second on none
//            is to take more than 2.2 times the winner's time (README.md says where that does not
//            hold)
enum class Mode : std::uint8_t { measure, online };
std::string_view to_string(Mode mode);

// What a second caller of a key that is being tuned does meanwhile (mode = "measure").
enum class Pending : std::uint8_t { wait, fallback };

// In what state a search has the operands: cold, in turn from places of memory that together are
// larger than the last cache, as a program that uses much else meanwhile finds them; or warm, the
// same ones again and again. Left to itself it has them cold where the product is larger than a
// quarter of that cache. Decisions under different settings are kept apart.
enum class Operands : std::uint8_t { automatic, cold, warm };
std::string_view to_string(Operands operands);  // "auto", "cold", "warm"

// Where decision records go: one JSON line each.
enum class RecordSink : std::uint8_t { none, standard_output, standard_error, file };

struct AutotuneSettings {
  Level level = Level::balanced;    // level = "balanced"
  bool cache = true;                // cache = true; false: memory only, no disk
  Mode mode = Mode::measure;        // mode = "measure" | "online"
  Pending pending = Pending::wait;  // pending = "wait" | "fallback"
  double pending_timeout_s = 60;    // waiting is bounded: then the fallback runs
  double budget_s = 3;              // per key, probes excluded; then the best so far, partial
  double background = 0.02;  // share of the time spent in the operation that may go into measuring
                             //   beyond a decision, after calls that were served; 0: none
  std::uint64_t memory_bytes = 4ull << 30;  // scratch for measuring; more: the search is refused
  Operands operands = Operands::automatic;  // operands = "auto" | "cold" | "warm"
  int min_samples = 3;                      // per candidate that stays in the race
  int max_samples = 10;
  double eliminate_ratio = 1.5;           // a best sample above this times the leader's: dropped
  int survivors = 2;                      // elimination never leaves fewer
  double margin = 0.02;                   // times that differ by less are the same: a fixed rule
                                          //   decides among them (Decision::same_as_winner)
  double confidence = 0.95;               // with which a time is said to differ
  int confirmations = 2;                  // samples at or below the limit that end the search
  int sample_resolutions = 20;            // a sample lasts at least this many clock steps
  bool verify = true;                     // false: winners are stored as unverified
  RecordSink records = RecordSink::none;  // [autotune.decisions] output = "none" | "stdout" |
  std::filesystem::path records_file;     //   "stderr" | "file", path = "decisions.jsonl"
};

struct Settings {
  std::string device = "cpu";  // device = "cpu"
  std::string environment =
      "project";               // environment = "project" | "local" | "global" | name | path
  std::optional<int> threads;  // threads = 4; absent: all that this process may use
  // isa = "portable" | "neon" | "avx2" | "avx512" | "avx512_vnni" | "avx512_bf16" | "avx512_fp16" |
  // "amx": a cap, this level and those before it; absent: all that can be used here.
  std::optional<std::string> isa;
  // Other libraries as candidates of matmul, as far as they are installed: on the cpu OpenBLAS,
  // BLIS, oneDNN and MKL, on a CUDA device cuBLASLt. Measured and verified like any other.
  bool vendor = false;        // vendor = true
  std::string vendor_path;    // vendor_path = "folder:folder": looked through for them, with all
                              //   folders below, before the places of the system
  AutotuneSettings autotune;  // [autotune]
  // The file these settings came from, when there was one; `project` is resolved from its folder.
  std::filesystem::path file;
  bool found = true;  // false: the file that was read has no [rooftune] table, and nothing was set
};

// Reads `rooftune.toml` (the whole file) or the [rooftune] table of any other TOML file.
// A file named otherwise without that table gives the defaults. min_samples or max_samples set
// alone moves the other out of its way; a decisions path set alone means output = "file".
// Errors: io; settings, naming file, line, the key, the value found and the values allowed. An
// unknown key is an error (with the nearest known key), as is a value of the wrong type or outside
// its range.
Result<Settings> load_settings(const std::filesystem::path& file);
// The last part of name_for_errors tells, as above, whether the whole text counts.
Result<Settings> parse_settings(std::string_view toml,
                                const std::filesystem::path& name_for_errors);

// The nearest `rooftune.toml` from `folder` upward; the defaults when there is none.
// Errors: those of load_settings.
Result<Settings> find_settings(const std::filesystem::path& folder);

// Lays the six environment variables over the settings. `get` is asked for each name and gives
// nothing for an unset one; the library never reads the environment itself.
//   ROOFTUNE_ENVIRONMENT, ROOFTUNE_AUTOTUNE_CACHE (0 or 1), ROOFTUNE_AUTOTUNE_LEVEL (minimal,
//   balanced, extensive, full), ROOFTUNE_DEVICE, ROOFTUNE_THREADS (1..1024), ROOFTUNE_RIVALS
//   (vendor_path)
// Errors: settings, naming the variable, its value and the values allowed. An empty value counts
// as unset.
Status apply_environment(
    Settings& settings,
    const std::function<std::optional<std::string>(const std::string& name)>& get);

// Checks ranges that a program may have filled in wrongly. Errors: settings, naming the field.
Status validate(const Settings& settings);

}  // namespace rooftune

#endif  // ROOFTUNE_SETTINGS_H_
