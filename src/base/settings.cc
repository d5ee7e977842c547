#include "rooftune/settings.h"

#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <system_error>
#include <utility>
#include <vector>

#include "base/settings_fields.h"
#include "base/text.h"
#include "fmt/format.h"

namespace rooftune {
namespace {

namespace fs = std::filesystem;
using settings_table::Conflict;
using settings_table::Field;
using settings_table::Kind;
using settings_table::Value;

constexpr std::string_view kFileName = "rooftune.toml";
constexpr std::string_view kSection = "rooftune";
// Settings are a page of text; a megabyte is a mistake, and the time to say so is before parsing.
constexpr std::size_t kMaxFileBytes = 1 << 20;

std::string not_allowed(std::string_view name, std::string_view found, const Field& field,
                        std::string_view allowed) {
  std::string text = fmt::format("{} = {} is not allowed; allowed: {}", name, found, allowed);
  if (field.kind == Kind::choice && found.size() > 2 && found.front() == '"') {
    text += did_you_mean(found.substr(1, found.size() - 2), field.choices);
  }
  return text;
}

std::string dotted(std::string_view table, std::string_view key) {
  return table.empty() ? std::string(key) : fmt::format("{}.{}", table, key);
}

// What may stand in a table: its keys and the tables right below it.
std::vector<std::string_view> names_inside(std::string_view table) {
  std::vector<std::string_view> names;
  const auto add = [&](std::string_view name) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  const std::string prefix = table.empty() ? "" : fmt::format("{}.", table);
  for (const Field& field : settings_table::all_fields()) {
    if (field.table == table) {
      add(field.key);
    } else if (field.table.starts_with(prefix)) {
      const std::string_view below = field.table.substr(prefix.size());
      add(below.substr(0, below.find('.')));
    }
  }
  return names;
}

std::string unknown_key(std::string_view table, std::string_view key) {
  std::string text = fmt::format("unknown key {}", in_quotes(key));
  if (!table.empty()) text += fmt::format(" in [{}]", table);
  const std::vector<std::string_view> here = names_inside(table);
  if (const std::string hint = did_you_mean(key, here); !hint.empty()) return text + hint;
  std::vector<std::string_view> everywhere;
  for (const Field& field : settings_table::all_fields()) everywhere.push_back(field.key);
  if (const auto meant = nearest(key, everywhere)) {
    for (const Field& field : settings_table::all_fields()) {
      if (field.key == *meant) {
        return text + fmt::format(
                          "; did you mean {} of {}?", in_quotes(*meant),
                          field.table.empty() ? "the top level" : fmt::format("[{}]", field.table));
      }
    }
  }
  return text + fmt::format("; known here: {}", list_in_quotes(here));
}

std::string_view kind_name(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "(a table)";
    case toml::node_type::array:
      return "(an array)";
    default:
      return "(a date or time)";
  }
}

// Absent for what no setting can be: tables, arrays, dates.
Value value_of(const toml::node& node) {
  if (const auto* flag = node.as_boolean()) return Value(flag->get());
  if (const auto* whole = node.as_integer()) return Value(std::int64_t(whole->get()));
  if (const auto* real = node.as_floating_point()) return Value(real->get());
  if (const auto* line = node.as_string()) return Value(line->get());
  return Value();
}

// Reads a parsed document into a Settings and gathers every fault with its line.
class Reader {
 public:
  void read_table(const toml::table& table, const std::string& name) {
    const std::vector<std::string_view> names = names_inside(name);
    for (const auto& [key, node] : table) {
      const std::string full_name = dotted(name, key.str());
      if (const Field* field = settings_table::find_field(name, key.str())) {
        read_value(*field, node);
      } else if (std::ranges::find(names, key.str()) != names.end()) {
        if (const toml::table* inner = node.as_table()) {
          read_table(*inner, full_name);
        } else {
          fault(node, fmt::format("{} must be a table: [{}]", full_name, full_name));
        }
      } else {
        fault_at(key.source().begin.line, unknown_key(name, key.str()));
      }
    }
  }

  void fault_at(std::size_t line, std::string text) { faults_.emplace_back(line, std::move(text)); }
  void fault(const toml::node& node, std::string text) {
    fault_at(node.source().begin.line, std::move(text));
  }

  // Of two limits that belong together, one that stands alone moves the other out of its way.
  void settle_pairs() {
    AutotuneSettings& autotune = settings_.autotune;
    const bool has_min = given("autotune.min_samples"), has_max = given("autotune.max_samples");
    if (has_min && !has_max) {
      autotune.max_samples = std::max(autotune.max_samples, autotune.min_samples);
    } else if (has_max && !has_min) {
      autotune.min_samples = std::min(autotune.min_samples, autotune.max_samples);
    }
    if (given("autotune.decisions.path") && !given("autotune.decisions.output")) {
      autotune.records = RecordSink::file;
    }
    if (const Conflict conflict = settings_table::find_conflict(settings_);
        !conflict.text.empty()) {
      fault_at(std::max(line_of(conflict.first), line_of(conflict.second)), conflict.text);
    }
  }

  // The settings, or the fault that comes first in the file.
  Result<Settings> finish(const fs::path& name) const {
    if (faults_.empty()) return settings_;
    const auto first = std::ranges::min_element(
        faults_, [](const auto& a, const auto& b) { return a.first < b.first; });
    std::string text = fmt::format("{}:{}: {}", name.string(), first->first, first->second);
    if (faults_.size() > 1) text += fmt::format(" (and {} more)", faults_.size() - 1);
    return fail(ErrorKind::settings, std::move(text));
  }

 private:
  void read_value(const Field& field, const toml::node& node) {
    Value value = value_of(node);
    if (field.kind == Kind::number && std::holds_alternative<std::int64_t>(value)) {
      value = double(std::get<std::int64_t>(value));
    }
    if (!field.accepts(value)) {
      const bool absent = std::holds_alternative<std::monostate>(value);
      const std::string found =
          absent ? std::string(kind_name(node)) : settings_table::text_of(value);
      fault(node, not_allowed(field.name(), found, field, field.allowed()));
      return;
    }
    field.set(settings_, value);
    lines_[field.name()] = node.source().begin.line;
  }

  bool given(std::string_view name) const { return lines_.contains(name); }
  std::size_t line_of(std::string_view name) const {
    const auto found = lines_.find(name);
    return found == lines_.end() ? 0 : found->second;
  }

  Settings settings_;
  std::map<std::string, std::size_t, std::less<>> lines_;  // of the settings that were given
  std::vector<std::pair<std::size_t, std::string>> faults_;
};

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

// The setting whose assignment stands on a line that the TOML parser gave up on, such as one with
// a number too big for it: a reader of the message wants to know what would have been allowed.
const Field* field_on_line(std::string_view toml, std::size_t line, bool whole_file) {
  std::string table;
  std::string_view current;
  for (std::size_t i = 0; i < line && !toml.empty(); ++i) {
    const std::size_t end = toml.find('\n');
    current = trimmed(toml.substr(0, end));
    toml.remove_prefix(end == std::string_view::npos ? toml.size() : end + 1);
    if (current.starts_with('[')) {
      table = trimmed(current.substr(1, current.find(']') - 1));
    }
  }
  const std::size_t equals = current.find('=');
  if (equals == std::string_view::npos) return nullptr;
  std::string name = dotted(table, trimmed(current.substr(0, equals)));
  if (!whole_file) {
    if (!name.starts_with(fmt::format("{}.", kSection))) return nullptr;
    name.erase(0, kSection.size() + 1);
  }
  for (const Field& field : settings_table::all_fields()) {
    if (field.name() == name) return &field;
  }
  return nullptr;
}

// The parser goes one step down its stack for each part of a dotted key, and has no limit: the
// number of the first line whose key has more parts than anybody needs; 0 for none.
std::size_t line_of_deep_key(std::string_view toml) {
  constexpr std::ptrdiff_t kMostParts = 100;
  std::size_t number = 0;
  while (!toml.empty()) {
    ++number;
    const std::size_t end = std::min(toml.find('\n'), toml.size());
    const std::string_view line = toml.substr(0, end);
    const std::string_view key = line.substr(0, line.find('='));
    if (std::count(key.begin(), key.end(), '.') > kMostParts) return number;
    toml.remove_prefix(std::min(end + 1, toml.size()));
  }
  return 0;
}

Result<Settings> parse(std::string_view toml, const fs::path& name) {
  if (const std::size_t line = line_of_deep_key(toml)) {
    return fail(ErrorKind::settings,
                fmt::format("{}:{}: a key of more than 100 parts", name.string(), line));
  }
  const bool whole_file = name.filename() == kFileName;
  try {
    const toml::table document = toml::parse(toml, name.string());
    Reader reader;
    const toml::table* table = &document;
    if (whole_file) {
      if (const toml::node* section = document.get(kSection); section && section->is_table()) {
        reader.fault(*section, fmt::format("{} is read whole: write its keys without [{}]",
                                           kFileName, kSection));
        return reader.finish(name);
      }
    } else {
      const toml::node* section = document.get(kSection);
      if (section == nullptr) {
        Settings nothing;
        nothing.found = false;
        return nothing;
      }
      table = section->as_table();
      if (table == nullptr) {
        reader.fault(*section, fmt::format("{} must be a table: [{}]", kSection, kSection));
        return reader.finish(name);
      }
    }
    reader.read_table(*table, "");
    reader.settle_pairs();
    return reader.finish(name);
  } catch (const toml::parse_error& error) {
    const std::size_t line = error.source().begin.line;
    std::string text = fmt::format("{}:{}: {}", name.string(), line, error.description());
    if (const Field* field = field_on_line(toml, line, whole_file)) {
      text += fmt::format("; allowed for {}: {}", field->name(), field->allowed());
    }
    return fail(ErrorKind::settings, std::move(text));
  }
}

Error too_large(const fs::path& name) {
  return {ErrorKind::settings, fmt::format("{}: more than {} bytes is not a settings file",
                                           name.string(), kMaxFileBytes)};
}

Result<std::string> read_file(const fs::path& file) {
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (status.type() == fs::file_type::not_found) {
    return fail(ErrorKind::io, fmt::format("{}: no such file", file.string()));
  }
  if (status.type() == fs::file_type::directory) {
    return fail(ErrorKind::io, fmt::format("{}: a folder, not a file", file.string()));
  }
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    return fail(ErrorKind::io, fmt::format("{}: cannot be opened for reading", file.string()));
  }
  // Devices and pipes have no size to ask for, so the limit is on what was read.
  std::string text(kMaxFileBytes + 1, '\0');
  stream.read(text.data(), std::streamsize(text.size()));
  if (stream.bad()) {
    return fail(ErrorKind::io, fmt::format("{}: cannot be read", file.string()));
  }
  text.resize(std::size_t(stream.gcount()));
  if (text.size() > kMaxFileBytes) return std::unexpected(too_large(file));
  return text;
}

}  // namespace

Result<Settings> parse_settings(std::string_view toml, const fs::path& name_for_errors) {
  if (toml.size() > kMaxFileBytes) return std::unexpected(too_large(name_for_errors));
  return parse(toml, name_for_errors);
}

Result<Settings> load_settings(const fs::path& file) {
  Result<std::string> text = read_file(file);
  if (!text) return std::unexpected(std::move(text).error());
  Result<Settings> settings = parse(*text, file);
  if (settings) {
    // Absolute, since what is resolved from it must survive a change of the current folder.
    std::error_code error;
    settings->file = fs::absolute(file, error);
    if (error) settings->file = file;
  }
  return settings;
}

Result<Settings> find_settings(const fs::path& folder) {
  std::error_code error;
  fs::path place = fs::weakly_canonical(folder.empty() ? fs::path(".") : folder, error);
  if (error) place = fs::absolute(folder, error);
  for (;;) {
    const fs::path file = place / kFileName;
    const fs::file_type type = fs::status(file, error).type();
    if (type == fs::file_type::regular || type == fs::file_type::fifo) return load_settings(file);
    const fs::path parent = place.parent_path();
    if (parent == place || parent.empty()) return Settings();
    place = parent;
  }
}

Status apply_environment(
    Settings& settings,
    const std::function<std::optional<std::string>(const std::string& name)>& get) {
  Settings result = settings;
  for (const Field& field : settings_table::all_fields()) {
    if (field.variable.empty()) continue;
    const std::string variable(field.variable);
    const std::optional<std::string> found = get(variable);
    if (!found || found->empty()) continue;
    Value value;  // absent: not of the kind that the setting is
    std::string allowed = field.allowed();
    switch (field.kind) {
      case Kind::boolean:
        allowed = "0 or 1";
        if (*found == "0" || *found == "1") value = (*found == "1");
        break;
      case Kind::integer:
        if (const auto whole = parse_integer(*found)) value = *whole;
        break;
      case Kind::number:
        if (const auto real = parse_number(*found)) value = *real;
        break;
      case Kind::text:
      case Kind::choice:
        value = *found;
        break;
    }
    if (!field.accepts(value)) {
      return fail(
          ErrorKind::settings,
          "environment variable " + not_allowed(variable, in_quotes(*found), field, allowed));
    }
    field.set(result, value);
  }
  settings = std::move(result);
  return {};
}

Status validate(const Settings& settings) {
  for (const Field& field : settings_table::all_fields()) {
    const Value value = field.get(settings);
    if (!std::holds_alternative<std::monostate>(value) && !field.accepts(value)) {
      return fail(ErrorKind::settings, not_allowed(field.name(), settings_table::text_of(value),
                                                   field, field.allowed()));
    }
  }
  if (const Conflict conflict = settings_table::find_conflict(settings); !conflict.text.empty()) {
    return fail(ErrorKind::settings, conflict.text);
  }
  return {};
}

}  // namespace rooftune
