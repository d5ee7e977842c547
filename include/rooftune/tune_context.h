// What tuners share: a device, an environment, settings, telemetry. A Session is one; a program
// that brings its own device makes one directly.
#ifndef ROOFTUNE_TUNE_CONTEXT_H_
#define ROOFTUNE_TUNE_CONTEXT_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rooftune/decision.h"
#include "rooftune/device.h"
#include "rooftune/error.h"
#include "rooftune/settings.h"

namespace rooftune {

class TunerBase;

// Where an environment is looked for. Both folders are absolute; the library does not ask the
// process for them behind the caller's back.
struct Folders {
  std::filesystem::path current;     // `project` and `local` are resolved from here
  std::filesystem::path user_cache;  // e.g. ~/.cache: `global`, named ones, `project` without one
};

// Peaks of the device for one type at one working-set size.
struct Peaks {
  double ops_per_s = 0;
  double bytes_per_s = 0;
  double launch_overhead_s = 0;
};

// Told each warning once, on the thread that met it.
using Warn = std::function<void(const std::string& text)>;

// Thread-safe. Neither copied nor moved: tuners refer to it.
class TuneContext {
 public:
  // The client serves this context alone: it takes the context's subscriber and cache of binaries.
  // Settings must be valid (see validate). Opening the environment never
  // fails: a database that cannot be used costs one warning and is replaced by memory.
  TuneContext(std::shared_ptr<Client> client, Settings settings, Folders folders, Warn warn = {});
  virtual ~TuneContext();
  TuneContext(const TuneContext&) = delete;
  TuneContext& operator=(const TuneContext&) = delete;

  std::uint64_t id() const;  // different for every context of the process
  Client& client() const;
  const Settings& settings() const;

  // Switches to another environment by name (see Settings::environment). What memory holds is
  // reset: decisions, peaks. Calls in progress finish with what they have.
  // Errors: invalid_argument for a bad name.
  Status use_environment(const std::string& name);

  // The folder and state of the environment, for people.
  std::string environment_text() const;

  // Telemetry of the context and its device; null turns it off. Must outlive its use.
  void set_subscriber(Subscriber* subscriber);

  // The decisions of this process for one tuner ("matmul", "sum", a LocalTuner's name).
  std::vector<Decision> decisions(std::string_view tuner) const;

  // The tuner of this name, made by `make` at first use.
  TunerBase& tuner(const std::string& name,
                   const std::function<std::unique_ptr<TunerBase>()>& make);

  // Measured peaks for a working set of so many bytes: from memory, the store, or the probes. Of
  // matrix units where they are asked for and are there for the type, else of the plain ones.
  // Errors: not_timed, unsupported.
  Result<Peaks> peaks(DType dtype, bool matrix_units, double working_set_bytes);

  // "unknown candidate 'x' of matmul; did you mean 'y'? There are: ..."
  std::string unknown_candidate(std::string_view tuner, std::string_view name,
                                const std::vector<std::string>& names) const;

  // For the library's own rooms (store, probes, records); not part of the stable surface.
  struct Internals;
  Internals& internals() const { return *internals_; }

 private:
  std::unique_ptr<Internals> internals_;
};

}  // namespace rooftune

#endif  // ROOFTUNE_TUNE_CONTEXT_H_
