// The one table of settings. Reading a file, laying environment variables over it, checking what a
// program filled in, and the help for unknown keys all run over it: a new setting is one row.
#ifndef ROOFTUNE_BASE_SETTINGS_FIELDS_H_
#define ROOFTUNE_BASE_SETTINGS_FIELDS_H_

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "rooftune/settings.h"

namespace rooftune::settings_table {

// A value on its way between text and struct; monostate: an optional setting that is absent.
using Value = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

enum class Kind : std::uint8_t { boolean, integer, number, text, choice };

struct Field {
  std::string_view table;     // "", "autotune", "autotune.decisions"
  std::string_view key;       // inside the table
  std::string_view variable;  // of the environment; empty: none
  Kind kind = Kind::text;
  std::int64_t least = 0, most = 0;           // of an integer
  double least_number = 0, most_number = 0;   // of a number
  std::span<const std::string_view> choices;  // of a choice
  Value (*get)(const Settings& settings) = nullptr;
  void (*set)(Settings& settings, const Value& value) = nullptr;  // only what accepts() takes

  std::string name() const;     // "autotune.level"
  std::string allowed() const;  // "a whole number from 1 to 1024"
  bool accepts(const Value& value) const;
};

std::span<const Field> all_fields();
const Field* find_field(std::string_view table, std::string_view key);  // null: unknown

// "3", "\"four\"", "nan", "true".
std::string text_of(const Value& value);

// What single fields cannot say: the two names in conflict, and the sentence. No name: no conflict.
struct Conflict {
  std::string_view first, second;
  std::string text;
};
Conflict find_conflict(const Settings& settings);

}  // namespace rooftune::settings_table

#endif  // ROOFTUNE_BASE_SETTINGS_FIELDS_H_
