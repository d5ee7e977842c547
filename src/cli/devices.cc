// rooftune devices: what is here, and why something is not.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/opened.h"
#include "cli/output.h"
#include "device/cpu/client.h"
#include "fmt/format.h"
#include "rooftune/device.h"

namespace rooftune::cli {
namespace {

struct Limit {
  const char* name;
  std::uint64_t value;  // 0: none
  bool bytes;
};

std::vector<Limit> limits_of(const Capabilities& c) {
  return {{"memory_bytes", c.memory_bytes, true},
          {"last_level_cache_bytes", c.last_level_cache_bytes, true},
          {"shared_memory_bytes", c.shared_memory_bytes, true},
          {"max_allocation_bytes", c.max_allocation_bytes, true},
          {"max_threads_per_group", c.max_threads_per_group, false},
          {"compute_units", static_cast<std::uint64_t>(c.compute_units), false},
          {"threads", static_cast<std::uint64_t>(c.threads), false},
          {"vector_bytes", static_cast<std::uint64_t>(c.vector_bytes), true},
          {"subgroup_size", static_cast<std::uint64_t>(c.subgroup_size), false}};
}

std::string unit_text(const MatrixUnit& unit) {
  return fmt::format("{} {} x {} to {}, {}x{}x{}", unit.name, to_string(unit.lhs),
                     to_string(unit.rhs), to_string(unit.accumulator), unit.m, unit.n, unit.k);
}

// What the processor, the operating system or a cap holds back; empty for other devices.
std::vector<IsaRefusal> refused_by(const Client& client) {
  const auto* const cpu = dynamic_cast<const CpuClient*>(&client);
  return cpu != nullptr ? cpu->isa_report().refused : std::vector<IsaRefusal>{};
}

Json to_json(const DeviceStatus& status, const Client* client) {
  Json json = {{"device", status.name}, {"available", status.available}, {"reason", nullptr}};
  if (!status.reason.empty()) json["reason"] = status.reason;
  if (client == nullptr) return json;
  const Capabilities& c = client->capabilities();
  Json types = Json::array(), units = Json::array(), refused = Json::array();
  for (const DType type : c.types) types.push_back(to_string(type));
  for (const MatrixUnit& unit : c.matrix_units) {
    units.push_back({{"name", unit.name},
                     {"lhs", to_string(unit.lhs)},
                     {"rhs", to_string(unit.rhs)},
                     {"accumulator", to_string(unit.accumulator)},
                     {"m", unit.m},
                     {"n", unit.n},
                     {"k", unit.k}});
  }
  for (const IsaRefusal& refusal : refused_by(*client)) {
    refused.push_back({{"name", refusal.name}, {"reason", refusal.reason}});
  }
  json["types"] = std::move(types);
  json["matrix_units"] = std::move(units);
  json["features"] = c.features;
  Json limits = Json::object();
  for (const Limit& limit : limits_of(c)) {
    limits[limit.name] = limit.value == 0 ? Json(nullptr) : Json(limit.value);
  }
  json["limits"] = std::move(limits);
  json["clock_resolution_s"] = c.clock_resolution_s;
  json["fingerprint"] = client->fingerprint().digest();
  json["fingerprint_parts"] = client->fingerprint().parts();
  json["refused"] = std::move(refused);
  return json;
}

void print_field(const char* name, const std::string& text) {
  if (!text.empty()) print_line(fmt::format("  {:<16} {}", name, text));
}

template <class Items, class Text>
std::string joined(const Items& items, const char* separator, Text text) {
  std::string all;
  for (const auto& item : items) all += (all.empty() ? "" : separator) + std::string(text(item));
  return all;
}

void print_device(const DeviceStatus& status, const Client* client) {
  if (client == nullptr) {
    print_line(fmt::format("{}: not available: {}", status.name, status.reason));
    return;
  }
  const Capabilities& c = client->capabilities();
  print_line(fmt::format("{}: available", status.name));
  print_field("types", joined(c.types, ", ", [](DType type) { return to_string(type); }));
  const std::string units = joined(c.matrix_units, "; ", unit_text);
  print_field("matrix units", units.empty() ? "none" : units);
  print_field("features", joined(c.features, ", ", [](const auto& name) { return name; }));
  for (const Limit& limit : limits_of(c)) {
    if (limit.value == 0) continue;
    std::string name(limit.name);
    if (const auto at = name.find("_bytes"); at != std::string::npos) name.resize(at);
    for (char& letter : name) letter = letter == '_' ? ' ' : letter;
    print_field(name.c_str(),
                limit.bytes ? format_bytes(limit.value) : std::to_string(limit.value));
  }
  print_field("clock resolution", format_seconds(c.clock_resolution_s));
  print_field("fingerprint", client->fingerprint().digest());
  for (const auto& [part, value] : client->fingerprint().parts()) {
    print_line(fmt::format("    {:<14} {}", part, value));
  }
  const auto refused = refused_by(*client);
  if (!refused.empty()) print_line("  not usable here");
  for (const IsaRefusal& refusal : refused) {
    print_line(fmt::format("    {:<14} {}", refusal.name, refusal.reason));
  }
}

}  // namespace

Outcome<Exit> run_devices(const CommonOptions& common) {
  auto settings = settings_for(common);
  if (!settings) return std::unexpected(settings.error());
  settings->autotune.cache = false;
  bool found = !common.device.has_value();
  for (DeviceStatus status : list_devices()) {
    // All devices are listed unless one is asked for on the command line.
    if (common.device && status.name != *common.device) continue;
    found = true;
    std::unique_ptr<Opened> opened;
    if (status.available) {
      Settings own = *settings;
      own.device = status.name;
      auto session = open_session(common, std::move(own));
      if (!session && session.error().exit == Exit::usage) return std::unexpected(session.error());
      if (session) {
        opened = *std::move(session);
      } else {
        status.available = false;
        status.reason = session.error().text;
      }
    }
    const Client* client = opened ? &opened->session().client() : nullptr;
    common.json ? print_json(to_json(status, client)) : print_device(status, client);
  }
  if (found) return Exit::done;
  // Explains what there is, like every other command.
  auto refused = open_session(common, *std::move(settings));
  return refused ? Outcome<Exit>(Exit::done) : std::unexpected(refused.error());
}

}  // namespace rooftune::cli
