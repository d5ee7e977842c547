// rooftune store: what an environment holds.
#include <cstdio>
#include <ctime>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/opened.h"
#include "cli/output.h"
#include "cli/table.h"
#include "fmt/format.h"
#include "store/environment.h"
#include "tune/context_internals.h"

namespace rooftune::cli {
namespace {

// Longer values are cut in tables; `store show NAMESPACE KEY` and --json give all.
constexpr std::size_t kShown = 100;

struct Sums {
  std::size_t entries = 0, bytes = 0;
  std::int64_t newest_unix_s = 0;
};

std::string time_text(std::int64_t unix_s) {
  const std::time_t time = unix_s;
  std::tm parts{};
  if (::gmtime_r(&time, &parts) == nullptr) return std::to_string(unix_s);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

Json state_json(const EnvironmentState& state) {
  return {{"path", state.path.string()},
          {"mode", to_string(state.mode)},
          {"schema_version", state.schema_version},
          {"write_ahead_log", state.write_ahead_log},
          {"waiting", state.waiting},
          {"why", state.why.empty() ? Json(nullptr) : Json(state.why)}};
}

void print_state(const EnvironmentState& state) {
  print_line(fmt::format("{} ({}{}{})", state.path.string(), to_string(state.mode),
                         state.why.empty() ? "" : ": ", state.why));
}

std::map<std::string, Sums> sums_by_namespace(const std::vector<Entry>& entries) {
  std::map<std::string, Sums> sums;
  for (const Entry& entry : entries) {
    Sums& sum = sums[entry.ns];
    ++sum.entries;
    sum.bytes += entry.key.size() + entry.value.size();
    sum.newest_unix_s = std::max(sum.newest_unix_s, entry.updated_unix_s);
  }
  return sums;
}

// A value for JSON output: text is given as what it says, bytes by their number.
Json value_json(const Entry& entry) {
  if (is_binary_namespace(entry.ns)) return {{"binary_bytes", entry.value.size()}};
  auto value = parse_json(entry.value);
  return value ? *std::move(value) : Json(entry.value);
}

std::string value_text(const Entry& entry) {
  if (is_binary_namespace(entry.ns)) return fmt::format("{} bytes", entry.value.size());
  // The outcome of a decision says more than its first hundred characters.
  if (const auto value = parse_json(entry.value)) {
    if (const auto winner = string_member(*value, "winner")) return "winner " + printable(*winner);
  }
  return printable(entry.value.size() <= kShown ? entry.value
                                                : entry.value.substr(0, kShown) + "...");
}

// "unknown namespace ...; did you mean ...": nothing when some entry is covered.
Outcome<void> check_covers(Environment& environment, const std::string& prefix) {
  const auto all = environment.list("");
  if (!all) return stop(all.error());
  const auto sums = sums_by_namespace(*all);
  std::vector<std::string_view> names;
  for (const auto& [name, sum] : sums) {
    if (covers(prefix, name)) return {};
    names.push_back(name);
  }
  return stop(Exit::failed, fmt::format("nothing is kept under {}{}; `rooftune store ls` shows "
                                        "what there is",
                                        in_quotes(prefix), did_you_mean(prefix, names)));
}

void show_entry(const Entry& entry, bool json) {
  if (json) {
    print_json({{"namespace", entry.ns},
                {"key", entry.key},
                {"updated_unix_s", entry.updated_unix_s},
                {"value", value_json(entry)}});
    return;
  }
  print_line(fmt::format("{}\n  key      {}\n  updated  {} UTC", entry.ns, printable(entry.key),
                         time_text(entry.updated_unix_s)));
  if (is_binary_namespace(entry.ns)) {
    print_line(fmt::format("  {} bytes", entry.value.size()));
  } else {
    print_line(value_json(entry).dump(2, ' ', false, Json::error_handler_t::replace));
  }
}

// Asks on the terminal. Anything but yes is no.
bool confirmed(const std::string& question) {
  std::fprintf(stderr, "%s [y/N] ", question.c_str());
  std::fflush(stderr);
  const int answer = std::getchar();
  return answer == 'y' || answer == 'Y';
}

}  // namespace

Outcome<Exit> run_store_ls(const CommonOptions& common, const StoreOptions&) {
  auto opened = open_session(common, Disk::used);
  if (!opened) return std::unexpected(opened.error());
  const auto environment = (*opened)->session().internals().environment();
  const auto entries = environment->list("");
  if (!entries) return stop(entries.error());
  const EnvironmentState state = environment->state();
  const auto sums = sums_by_namespace(*entries);
  if (common.json) {
    print_json({{"environment", state_json(state)}});
    for (const auto& [ns, sum] : sums) {
      print_json({{"namespace", ns},
                  {"entries", sum.entries},
                  {"bytes", sum.bytes},
                  {"newest_unix_s", sum.newest_unix_s}});
    }
    return Exit::done;
  }
  print_state(state);
  if (sums.empty()) {
    print_line("nothing is kept yet; `rooftune shapes 1024` tunes a first product");
    return Exit::done;
  }
  Table table({{"namespace"},
               {"entries", Align::right},
               {"size", Align::right},
               {"newest (UTC)", Align::left}});
  for (const auto& [ns, sum] : sums) {
    table.add(
        {ns, std::to_string(sum.entries), format_bytes(sum.bytes), time_text(sum.newest_unix_s)});
  }
  print_line(table.text());
  return Exit::done;
}

Outcome<Exit> run_store_show(const CommonOptions& common, const StoreOptions& options) {
  auto opened = open_session(common, Disk::used);
  if (!opened) return std::unexpected(opened.error());
  const auto environment = (*opened)->session().internals().environment();
  const std::string prefix = options.ns.value_or("");
  if (options.ns) {
    if (auto covered = check_covers(*environment, prefix); !covered) {
      return std::unexpected(covered.error());
    }
  }
  const auto entries = environment->list(prefix);
  if (!entries) return stop(entries.error());
  if (options.key) {
    std::vector<std::string_view> keys;
    bool found = false;
    for (const Entry& entry : *entries) {
      keys.push_back(entry.key);
      if (entry.key != *options.key) continue;
      found = true;
      show_entry(entry, common.json);
    }
    if (found) return Exit::done;
    return stop(Exit::failed, fmt::format("no key {} under {}{}", in_quotes(*options.key),
                                          in_quotes(prefix), did_you_mean(*options.key, keys)));
  }
  if (common.json) {
    for (const Entry& entry : *entries) show_entry(entry, true);
    return Exit::done;
  }
  print_state(environment->state());
  std::string_view last;
  for (const Entry& entry : *entries) {
    if (entry.ns != last) print_line("\n" + entry.ns);
    last = entry.ns;
    print_line(fmt::format("  {}\n    {}", printable(entry.key), value_text(entry)));
  }
  return Exit::done;
}

Outcome<Exit> run_store_check(const CommonOptions& common, const StoreOptions&) {
  auto opened = open_session(common, Disk::used);
  if (!opened) return std::unexpected(opened.error());
  const auto environment = (*opened)->session().internals().environment();
  std::vector<std::string> problems = environment->check();
  // What was wrong when the file was opened has been mended or avoided since; it was wrong all the
  // same.
  const std::vector<std::string> met = (*opened)->warnings();
  problems.insert(problems.begin(), met.begin(), met.end());
  const EnvironmentState state = environment->state();
  if (common.json) {
    print_json({{"environment", state_json(state)}, {"problems", problems}});
  } else {
    print_state(state);
    for (const std::string& problem : problems) print_line("  " + problem);
    if (problems.empty()) print_line("no problem found");
  }
  return problems.empty() ? Exit::done : Exit::failed;
}

Outcome<Exit> run_store_clear(const CommonOptions& common, const StoreOptions& options) {
  auto opened = open_session(common, Disk::used);
  if (!opened) return std::unexpected(opened.error());
  const auto environment = (*opened)->session().internals().environment();
  const std::string prefix = options.ns.value_or("");
  if (options.ns) {
    if (auto covered = check_covers(*environment, prefix); !covered) {
      return std::unexpected(covered.error());
    }
  }
  const auto entries = environment->list(prefix);
  if (!entries) return stop(entries.error());
  const std::string what =
      fmt::format("{} {} of {}{}", entries->size(), entries->size() == 1 ? "entry" : "entries",
                  environment->state().path.string(), prefix.empty() ? "" : " under " + prefix);
  if (!options.yes && !entries->empty()) {
    if (!input_is_terminal()) {
      return stop(Exit::usage, "this would remove " + what + "; say --yes to do it");
    }
    if (!confirmed("remove " + what + "?")) return stop(Exit::failed, "nothing was removed");
  }
  if (Status cleared = environment->clear(prefix); !cleared) return stop(cleared.error());
  if (common.json) {
    Json removed = Json::object();
    for (const auto& [ns, sum] : sums_by_namespace(*entries)) removed[ns] = sum.entries;
    print_json({{"removed", entries->size()}, {"namespaces", std::move(removed)}});
  } else {
    print_line("removed " + what);
    for (const auto& [ns, sum] : sums_by_namespace(*entries)) {
      print_line(fmt::format("  {}: {}", ns, sum.entries));
    }
  }
  return Exit::done;
}

}  // namespace rooftune::cli
