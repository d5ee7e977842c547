#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <utility>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "store/location.h"
#include "tune/context_internals.h"

namespace rooftune {
namespace {

std::atomic<std::uint64_t> next_context_id{1};

// Peaks in the store: one JSON number per probe, below the fingerprint of the device.
class StoredProbes final : public ProbeStore {
 public:
  StoredProbes(std::shared_ptr<Environment> environment, const Client& client)
      : environment_(std::move(environment)),
        namespace_(throughput_namespace("v" + std::to_string(kProbeVersion),
                                        client.fingerprint().digest())) {}

  std::optional<double> load(const std::string& key) override {
    const auto value = environment_->get(namespace_, key);
    if (!value || !*value) return std::nullopt;
    const auto json = parse_json(**value);
    if (!json) return std::nullopt;
    return number_member(*json, "rate");
  }
  void save(const std::string& key, double value) override {
    Json json;
    json["rate"] = value;
    // A rate that is not kept is measured again: nothing to tell anybody.
    static_cast<void>(environment_->put(namespace_, key, write_json(json)));
  }

 private:
  std::shared_ptr<Environment> environment_;
  std::string namespace_;
};

// Compiled code in the store.
class StoredBinaries final : public BinaryCache {
 public:
  StoredBinaries(std::shared_ptr<Environment> environment, const Client& client)
      : environment_(std::move(environment)),
        namespace_(compiled_namespace("v1", client.fingerprint().digest())) {}

  std::optional<std::string> load(const KernelId& id) override {
    auto value = environment_->get(namespace_, id.digest());
    return value ? *std::move(value) : std::nullopt;
  }
  void save(const KernelId& id, std::string_view binary) override {
    static_cast<void>(environment_->put(namespace_, id.digest(), binary));
    Json record;
    record["kernel"] = id.name;
    record["parameters"] = id.parameters;
    record["bytes"] = binary.size();
    static_cast<void>(environment_->append_record(RecordKind::compilation, write_json(record)));
  }

 private:
  std::shared_ptr<Environment> environment_;
  std::string namespace_;
};

}  // namespace

struct TuneContext::Internals::Opened {
  std::shared_ptr<Environment> environment;
  std::unique_ptr<StoredProbes> probes;
  std::unique_ptr<StoredBinaries> binaries;
  std::shared_ptr<Prober> prober;
  std::once_flag looked_for_quarantines;
  bool has_quarantines = false;
};

std::shared_ptr<Environment> TuneContext::Internals::environment() const {
  const std::lock_guard lock(mutex);
  return opened->environment;
}

std::shared_ptr<Prober> TuneContext::Internals::prober() const {
  const std::lock_guard lock(mutex);
  // Shares ownership with what the prober refers to.
  return {opened, opened->prober.get()};
}

std::vector<Exclusion> TuneContext::Internals::exclusions(const KeyPlace& place) const {
  const std::shared_ptr<Opened> now = [this] {
    const std::lock_guard lock(mutex);
    return opened;
  }();
  std::call_once(now->looked_for_quarantines, [&] {
    const auto all = now->environment->list(to_string(NamespaceKind::quarantine));
    now->has_quarantines = all && !all->empty();
  });
  std::vector<Exclusion> all = found_wrong.at(place);
  if (now->has_quarantines)
    std::ranges::move(quarantined(*now->environment, place), std::back_inserter(all));
  return all;
}

Status TuneContext::Internals::open_environment(const std::string& name) {
  auto path = resolve_environment(name, folders.current, folders.user_cache);
  if (!path) {
    // Memory needs no place: only a bad name is an error then.
    if (settings.autotune.cache || path.error().kind != ErrorKind::not_found) {
      return std::unexpected(path.error());
    }
    path = folders.current / "default.db";
  }
  EnvironmentOptions options;
  options.path = *path;
  options.use_disk = settings.autotune.cache;
  options.warn = warn;
  auto fresh = std::make_shared<Opened>();
  fresh->environment = std::make_shared<Environment>(std::move(options));
  fresh->probes = std::make_unique<StoredProbes>(fresh->environment, *client);
  fresh->binaries = std::make_unique<StoredBinaries>(fresh->environment, *client);
  fresh->prober = std::make_shared<Prober>(*client, fresh->probes.get());
  {
    const std::lock_guard lock(mutex);
    // A thread that compiles may still use the old environment's binaries: it stays until the end.
    if (opened != nullptr) retired.push_back(opened);
    opened = fresh;
    client->set_binary_cache(fresh->binaries.get());
    for (auto& [tuner_name, tuner] : tuners) tuner->reset();
  }
  return {};
}

void TuneContext::Internals::span(std::string_view category, std::string_view name,
                                  double begin_s) const {
  if (Subscriber* subscriber = client->subscriber()) {
    subscriber->on_span({category, name, client->name(), begin_s, steady_now_s()});
  }
}

void TuneContext::Internals::write_record(const std::string& line) {
  const std::lock_guard lock(record_mutex);
  const std::string with_end = line + "\n";
  bool written = true;
  switch (settings.autotune.records) {
    case RecordSink::none:
      return;
    case RecordSink::standard_output:
    case RecordSink::standard_error: {
      std::FILE* out = settings.autotune.records == RecordSink::standard_output ? stdout : stderr;
      written = std::fwrite(with_end.data(), 1, with_end.size(), out) == with_end.size() &&
                std::fflush(out) == 0;
      break;
    }
    case RecordSink::file: {
      std::ofstream file(settings.autotune.records_file, std::ios::app | std::ios::binary);
      file << with_end << std::flush;
      written = file.good();
      break;
    }
  }
  if (!written && !std::exchange(record_warned, true) && warn) {
    warn("decision records cannot be written to " + settings.autotune.records_file.string());
  }
}

TuneContext::TuneContext(std::shared_ptr<Client> client, Settings settings, Folders folders,
                         Warn warn)
    : internals_(std::make_unique<Internals>()) {
  internals_->id = next_context_id.fetch_add(1, std::memory_order_relaxed);
  internals_->client = std::move(client);
  // Who holds a lock of a driver that calls need as well must not be left without a processor.
  if (internals_->client->capabilities().compiles_at_run_time) {
    internals_->rehearser = std::make_unique<Keeper>(Keeper::Share::fair);
  }
  internals_->settings = std::move(settings);
  internals_->folders = std::move(folders);
  internals_->warn = std::move(warn);
  if (Status opened = internals_->open_environment(internals_->settings.environment); !opened) {
    // The constructor promises an environment: without a place it lives in memory.
    if (internals_->warn) internals_->warn(opened.error().text + "; nothing is kept on disk");
    internals_->settings.autotune.cache = false;
    internals_->settings.environment = "local";
    static_cast<void>(internals_->open_environment("local"));
  }
}

TuneContext::~TuneContext() {
  // While all that they write with is there.
  internals_->tuners.clear();
  internals_->rehearser.reset();
  internals_->keeper.reset();
  internals_->client->set_binary_cache(nullptr);
  internals_->client->set_subscriber(nullptr);
}

std::uint64_t TuneContext::id() const { return internals_->id; }
Client& TuneContext::client() const { return *internals_->client; }
const Settings& TuneContext::settings() const { return internals_->settings; }

Status TuneContext::use_environment(const std::string& name) {
  return internals_->open_environment(name);
}

std::string TuneContext::environment_text() const {
  const EnvironmentState state = internals_->environment()->state();
  std::string text = std::string(to_string(state.mode));
  if (state.mode != EnvironmentMode::memory) text = state.path.string() + " (" + text + ")";
  if (!state.why.empty()) text += ": " + state.why;
  return text;
}

void TuneContext::set_subscriber(Subscriber* subscriber) {
  internals_->client->set_subscriber(subscriber);
}

std::vector<Decision> TuneContext::decisions(std::string_view tuner) const {
  const std::lock_guard lock(internals_->mutex);
  const auto found = internals_->tuners.find(tuner);
  return found == internals_->tuners.end() ? std::vector<Decision>{} : found->second->decisions();
}

TunerBase& TuneContext::tuner(const std::string& name,
                              const std::function<std::unique_ptr<TunerBase>()>& make) {
  const std::lock_guard lock(internals_->mutex);
  auto& slot = internals_->tuners[name];
  if (slot == nullptr) slot = make();
  return *slot;
}

Result<Peaks> TuneContext::peaks(DType dtype, bool matrix_units, double working_set_bytes) {
  const std::shared_ptr<Prober> prober = internals_->prober();
  Peaks peaks;
  const auto ops = prober->compute(dtype, matrix_units);
  if (!ops) return std::unexpected(ops.error());
  peaks.ops_per_s = *ops;
  // The read rate: inputs are read and the output is small beside them in all but thin products,
  // where reading is still the fastest of the three and so keeps the bound a bound.
  const auto bytes = prober->memory(ProbeKind::read, working_set_bytes);
  if (!bytes) return std::unexpected(bytes.error());
  peaks.bytes_per_s = *bytes;
  const auto overhead = prober->launch_overhead();
  if (!overhead) return std::unexpected(overhead.error());
  peaks.launch_overhead_s = *overhead;
  return peaks;
}

std::string TuneContext::unknown_candidate(std::string_view tuner, std::string_view name,
                                           const std::vector<std::string>& names) const {
  std::string text = "unknown candidate '" + std::string(name) + "' of " + std::string(tuner);
  const std::vector<std::string_view> known(names.begin(), names.end());
  text += did_you_mean(name, known);
  text += "; there are:";
  for (const std::string& known_name : names) text += " " + known_name;
  return text;
}

}  // namespace rooftune
