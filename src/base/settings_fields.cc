#include "base/settings_fields.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <type_traits>

#include "base/text.h"
#include "fmt/format.h"

namespace rooftune {
namespace settings_table {
namespace {

using std::string_view;

constexpr std::array<string_view, 4> kLevels = {"minimal", "balanced", "extensive", "full"};
constexpr std::array<string_view, 4> kPrecisions = {"highest", "split", "high", "medium"};
constexpr std::array<string_view, 3> kOperands = {"auto", "cold", "warm"};
constexpr std::array<string_view, 2> kModes = {"measure", "online"};
constexpr std::array<string_view, 2> kPendings = {"wait", "fallback"};
constexpr std::array<string_view, 4> kSinks = {"none", "stdout", "stderr", "file"};
// The names of device/cpu/isa.h, which this room does not see; a test there compares them.
constexpr std::array<string_view, 8> kIsas = {"portable",    "neon",        "avx2",        "avx512",
                                              "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx"};

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

template <class T>
struct Unwrapped {
  using type = T;
  static constexpr bool optional = false;
};
template <class T>
struct Unwrapped<std::optional<T>> {
  using type = T;
  static constexpr bool optional = true;
};

// Rows are made from a function that picks the member out of a Settings, const or not.
template <auto kMember>
using MemberOf = std::remove_cvref_t<decltype(kMember(std::declval<Settings&>()))>;

template <auto kMember, class Stored>
Value get(const Settings& settings) {
  const auto& member = kMember(settings);
  using Member = MemberOf<kMember>;
  if constexpr (Unwrapped<Member>::optional) {
    return member ? Value(Stored(*member)) : Value();
  } else if constexpr (std::is_same_v<Member, std::filesystem::path>) {
    return member.empty() ? Value() : Value(member.string());
  } else if constexpr (std::is_same_v<Member, std::uint64_t>) {
    return Value(Stored(std::min(member, std::uint64_t(kMost))));
  } else {
    return Value(Stored(member));
  }
}

template <auto kMember, class Stored>
void set(Settings& settings, const Value& value) {
  using Inner = typename Unwrapped<MemberOf<kMember>>::type;
  kMember(settings) = static_cast<Inner>(std::get<Stored>(value));
}

template <auto kMember, class Stored>
constexpr Field row(Kind kind, string_view table, string_view key, string_view variable) {
  Field field;
  field.table = table;
  field.key = key;
  field.variable = variable;
  field.kind = kind;
  field.get = get<kMember, Stored>;
  field.set = set<kMember, Stored>;
  return field;
}

template <auto kMember>
constexpr Field boolean(string_view table, string_view key, string_view variable = "") {
  return row<kMember, bool>(Kind::boolean, table, key, variable);
}

template <auto kMember>
constexpr Field integer(string_view table, string_view key, std::int64_t least, std::int64_t most,
                        string_view variable = "") {
  Field field = row<kMember, std::int64_t>(Kind::integer, table, key, variable);
  field.least = least;
  field.most = most;
  return field;
}

template <auto kMember>
constexpr Field number(string_view table, string_view key, double least, double most) {
  Field field = row<kMember, double>(Kind::number, table, key, "");
  field.least_number = least;
  field.most_number = most;
  return field;
}

template <auto kMember>
constexpr Field text(string_view table, string_view key, string_view variable = "") {
  return row<kMember, std::string>(Kind::text, table, key, variable);
}

// A text that is absent while it is empty.
template <auto kMember>
constexpr Field optional_text(string_view table, string_view key, string_view variable) {
  Field field = text<kMember>(table, key, variable);
  field.get = [](const Settings& settings) {
    const std::string& line = kMember(settings);
    return line.empty() ? Value() : Value(line);
  };
  return field;
}

// A text out of a list, kept as text.
template <auto kMember>
constexpr Field text_choice(string_view table, string_view key,
                            std::span<const string_view> choices) {
  Field field = row<kMember, std::string>(Kind::choice, table, key, "");
  field.choices = choices;
  return field;
}

// An enumeration whose values count through `kNames`.
template <auto kMember, const auto& kNames>
constexpr Field choice(string_view table, string_view key, string_view variable = "") {
  using Enum = MemberOf<kMember>;
  Field field;
  field.table = table;
  field.key = key;
  field.variable = variable;
  field.kind = Kind::choice;
  field.choices = kNames;
  field.get = [](const Settings& settings) {
    const auto index = std::size_t(kMember(settings));
    return Value(index < kNames.size() ? std::string(kNames[index])
                                       : fmt::format("(value {})", index));
  };
  field.set = [](Settings& settings, const Value& value) {
    const auto found = std::find(kNames.begin(), kNames.end(), std::get<std::string>(value));
    kMember(settings) = Enum(found - kNames.begin());
  };
  return field;
}

// A day is more than any search or wait can mean; counts are bounded so that products of two fit.
constexpr double kDay = 86400;
constexpr std::int64_t kMany = 1'000'000;

#define ROOFTUNE_MEMBER(path) \
  [](auto& s) -> auto& { return s.path; }

constexpr Field kFields[] = {
    text<ROOFTUNE_MEMBER(device)>("", "device", "ROOFTUNE_DEVICE"),
    text<ROOFTUNE_MEMBER(environment)>("", "environment", "ROOFTUNE_ENVIRONMENT"),
    integer<ROOFTUNE_MEMBER(threads)>("", "threads", 1, 1024, "ROOFTUNE_THREADS"),
    text_choice<ROOFTUNE_MEMBER(isa)>("", "isa", kIsas),
    boolean<ROOFTUNE_MEMBER(vendor)>("", "vendor"),
    optional_text<ROOFTUNE_MEMBER(vendor_path)>("", "vendor_path", "ROOFTUNE_RIVALS"),
    choice<ROOFTUNE_MEMBER(autotune.level), kLevels>("autotune", "level",
                                                     "ROOFTUNE_AUTOTUNE_LEVEL"),
    boolean<ROOFTUNE_MEMBER(autotune.cache)>("autotune", "cache", "ROOFTUNE_AUTOTUNE_CACHE"),
    choice<ROOFTUNE_MEMBER(autotune.mode), kModes>("autotune", "mode"),
    choice<ROOFTUNE_MEMBER(autotune.pending), kPendings>("autotune", "pending"),
    number<ROOFTUNE_MEMBER(autotune.pending_timeout_s)>("autotune", "pending_timeout_s", 0, kDay),
    number<ROOFTUNE_MEMBER(autotune.budget_s)>("autotune", "budget_s", 0, kDay),
    number<ROOFTUNE_MEMBER(autotune.background)>("autotune", "background", 0, 1),
    integer<ROOFTUNE_MEMBER(autotune.memory_bytes)>("autotune", "memory_bytes", 0, kMost),
    choice<ROOFTUNE_MEMBER(autotune.operands), kOperands>("autotune", "operands"),
    integer<ROOFTUNE_MEMBER(autotune.min_samples)>("autotune", "min_samples", 1, kMany),
    integer<ROOFTUNE_MEMBER(autotune.max_samples)>("autotune", "max_samples", 1, kMany),
    number<ROOFTUNE_MEMBER(autotune.eliminate_ratio)>("autotune", "eliminate_ratio", 1, 1e6),
    integer<ROOFTUNE_MEMBER(autotune.survivors)>("autotune", "survivors", 1, kMany),
    number<ROOFTUNE_MEMBER(autotune.margin)>("autotune", "margin", 0, 1),
    number<ROOFTUNE_MEMBER(autotune.confidence)>("autotune", "confidence", 0.5, 0.9999),
    integer<ROOFTUNE_MEMBER(autotune.confirmations)>("autotune", "confirmations", 1, kMany),
    integer<ROOFTUNE_MEMBER(autotune.sample_resolutions)>("autotune", "sample_resolutions", 1,
                                                          kMany),
    boolean<ROOFTUNE_MEMBER(autotune.verify)>("autotune", "verify"),
    choice<ROOFTUNE_MEMBER(autotune.records), kSinks>("autotune.decisions", "output"),
    text<ROOFTUNE_MEMBER(autotune.records_file)>("autotune.decisions", "path"),
};

#undef ROOFTUNE_MEMBER

template <class Enum, std::size_t kCount>
std::optional<Enum> parse_enum(string_view name, const std::array<string_view, kCount>& names) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return Enum(found - names.begin());
}

// Text goes into messages, JSON and file names: one line of UTF-8.
bool is_plain_text(string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    const auto c = static_cast<unsigned char>(text[at]);
    if (length == 0 || c < 0x20 || c == 0x7f) return false;
    at += length;
  }
  return !text.empty();
}

}  // namespace

std::string Field::name() const {
  return table.empty() ? std::string(key) : fmt::format("{}.{}", table, key);
}

std::string Field::allowed() const {
  switch (kind) {
    case Kind::boolean:
      return "true or false";
    case Kind::integer:
      return fmt::format("a whole number from {} to {}", least, most);
    case Kind::number:
      return fmt::format("a number from {} to {}", least_number, most_number);
    case Kind::text:
      return "text of one line, not empty";
    case Kind::choice:
      return "one of " + list_in_quotes(choices);
  }
  return "";
}

bool Field::accepts(const Value& value) const {
  switch (kind) {
    case Kind::boolean:
      return std::holds_alternative<bool>(value);
    case Kind::integer: {
      const auto* whole = std::get_if<std::int64_t>(&value);
      return whole != nullptr && *whole >= least && *whole <= most;
    }
    case Kind::number: {
      const auto* real = std::get_if<double>(&value);
      return real != nullptr && *real >= least_number && *real <= most_number;  // NaN is not
    }
    case Kind::text: {
      const auto* line = std::get_if<std::string>(&value);
      return line != nullptr && is_plain_text(*line);
    }
    case Kind::choice: {
      const auto* name = std::get_if<std::string>(&value);
      return name != nullptr && std::find(choices.begin(), choices.end(), *name) != choices.end();
    }
  }
  return false;
}

std::span<const Field> all_fields() { return kFields; }

const Field* find_field(string_view table, string_view key) {
  for (const Field& field : kFields) {
    if (field.table == table && field.key == key) return &field;
  }
  return nullptr;
}

std::string text_of(const Value& value) {
  struct Visitor {
    std::string operator()(std::monostate) const { return "(absent)"; }
    std::string operator()(bool flag) const { return flag ? "true" : "false"; }
    std::string operator()(std::int64_t whole) const { return fmt::format("{}", whole); }
    std::string operator()(double real) const { return fmt::format("{}", real); }
    std::string operator()(const std::string& line) const { return in_quotes(line); }
  };
  return std::visit(Visitor(), value);
}

Conflict find_conflict(const Settings& settings) {
  const AutotuneSettings& autotune = settings.autotune;
  if (autotune.min_samples > autotune.max_samples) {
    return {"autotune.min_samples", "autotune.max_samples",
            fmt::format("autotune.min_samples = {} is above autotune.max_samples = {}",
                        autotune.min_samples, autotune.max_samples)};
  }
  if (autotune.records == RecordSink::file && autotune.records_file.empty()) {
    return {
        "autotune.decisions.output", "autotune.decisions.path",
        "autotune.decisions.output = \"file\" needs autotune.decisions.path, the file to write"};
  }
  return {};
}

}  // namespace settings_table

std::string_view to_string(Operands operands) {
  const auto index = std::size_t(operands);
  return index < settings_table::kOperands.size() ? settings_table::kOperands[index] : "unknown";
}

std::string_view to_string(Level level) {
  return std::size_t(level) < settings_table::kLevels.size()
             ? settings_table::kLevels[std::size_t(level)]
             : "unknown";
}

std::string_view to_string(Mode mode) {
  return std::size_t(mode) < settings_table::kModes.size()
             ? settings_table::kModes[std::size_t(mode)]
             : "unknown";
}

std::optional<Level> parse_level(std::string_view name) {
  return settings_table::parse_enum<Level>(name, settings_table::kLevels);
}

std::optional<double> threshold_of(Level level) {
  switch (level) {
    case Level::minimal:
      return 0.6;
    case Level::balanced:
      return 0.8;
    case Level::extensive:
      return 0.95;
    case Level::full:
      break;
  }
  return std::nullopt;
}

std::string_view to_string(Precision precision) {
  return std::size_t(precision) < settings_table::kPrecisions.size()
             ? settings_table::kPrecisions[std::size_t(precision)]
             : "unknown";
}

std::optional<Precision> parse_precision(std::string_view name) {
  return settings_table::parse_enum<Precision>(name, settings_table::kPrecisions);
}

}  // namespace rooftune
