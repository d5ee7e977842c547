// JSON in and out: members keep their order, numbers are finite or null, nothing depends on the
// locale, and nothing throws.
#ifndef ROOFTUNE_BASE_JSON_H_
#define ROOFTUNE_BASE_JSON_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "nlohmann/json.hpp"
#include "rooftune/error.h"

namespace rooftune {

using Json = nlohmann::ordered_json;

// Strict JSON, nested at most 100 deep. Of members with one name the last counts.
// Errors: invalid_argument, with the place of the fault in the text.
Result<Json> parse_json(std::string_view text);

// On one line without blanks. Numbers that are not finite become null, bytes that are not UTF-8
// become U+FFFD. (Json::dump throws on the latter.)
std::string write_json(const Json& value);

// The text as a JSON string, quotes included; bytes that are not UTF-8 become U+FFFD.
std::string json_string(std::string_view text);

// Members of what somebody else wrote, without the exceptions of Json: nothing when `object` is no
// object, has no such member, or one of another type. An integer must fit; a number may be written
// as an integer.
const Json* find_member(const Json& object, std::string_view name);  // null: not there
std::optional<std::string> string_member(const Json& object, std::string_view name);
std::optional<double> number_member(const Json& object, std::string_view name);
std::optional<std::int64_t> integer_member(const Json& object, std::string_view name);
std::optional<bool> bool_member(const Json& object, std::string_view name);

}  // namespace rooftune

#endif  // ROOFTUNE_BASE_JSON_H_
