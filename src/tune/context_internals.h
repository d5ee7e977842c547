// What the rooms of the library reach through a TuneContext.
#ifndef ROOFTUNE_TUNE_CONTEXT_INTERNALS_H_
#define ROOFTUNE_TUNE_CONTEXT_INTERNALS_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "rooftune/tune_context.h"
#include "rooftune/tuner.h"
#include "store/environment.h"
#include "throughput/prober.h"
#include "tune/exclusion.h"
#include "tune/keeper.h"

namespace rooftune {

struct TuneContext::Internals {
  std::uint64_t id = 0;
  std::shared_ptr<Client> client;
  Settings settings;
  Folders folders;
  Warn warn;

  // The environment in use. Shared: a search that began in the old one finishes there.
  std::shared_ptr<Environment> environment() const;
  // Probes of the environment in use.
  std::shared_ptr<Prober> prober() const;

  // What must not run for a key, as far as a call that measures nothing should look: quarantines
  // are read from the store only where it had any when it was first asked.
  std::vector<Exclusion> exclusions(const KeyPlace& place) const;

  Status open_environment(const std::string& name);
  void span(std::string_view category, std::string_view name, double begin_s) const;
  // One JSON line to the sink of the settings.
  void write_record(const std::string& line);

  mutable std::mutex mutex;  // guards what follows
  struct Opened;             // environment, prober and their adaptors, replaced as one
  std::shared_ptr<Opened> opened;
  std::vector<std::shared_ptr<Opened>> retired;
  std::map<std::string, std::unique_ptr<TunerBase>, std::less<>> tuners;
  std::unique_ptr<Keeper> keeper = std::make_unique<Keeper>();
  // Of first launches that no call has the time for (tune/rehearsal.h).
  std::unique_ptr<Keeper> rehearser = std::make_unique<Keeper>(Keeper::Share::least);
  FoundWrong found_wrong;
  std::mutex record_mutex;
  bool record_warned = false;
};

}  // namespace rooftune

#endif  // ROOFTUNE_TUNE_CONTEXT_INTERNALS_H_
