#include "base/json.h"

#include <cmath>
#include <exception>
#include <limits>

#include "base/text.h"
#include "fmt/format.h"

namespace rooftune {
namespace {

// Json reads any depth but writes and compares by recursion: a document of brackets alone could
// exhaust the stack later.
constexpr int kMaxDepth = 100;

bool too_deep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxDepth) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

}  // namespace

Result<Json> parse_json(std::string_view text) {
  if (too_deep(text)) {
    return fail(ErrorKind::invalid_argument,
                fmt::format("JSON nested more than {} deep", kMaxDepth));
  }
  try {
    return Json::parse(text.begin(), text.end());
  } catch (const std::exception& exception) {
    std::string_view what = exception.what();
    // "[json.exception.parse_error.101] parse error at ...": the name of the class helps nobody.
    if (what.starts_with('[')) what.remove_prefix(std::min(what.find(']') + 1, what.size()));
    if (what.starts_with(' ')) what.remove_prefix(1);
    return fail(ErrorKind::invalid_argument, fmt::format("not valid JSON: {}", what));
  }
}

std::string write_json(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string json_string(std::string_view text) { return write_json(Json(text)); }

const Json* find_member(const Json& object, std::string_view name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(std::string(name));
  return found == object.end() ? nullptr : &*found;
}

std::optional<std::string> string_member(const Json& object, std::string_view name) {
  const Json* member = find_member(object, name);
  if (member == nullptr || !member->is_string()) return std::nullopt;
  return member->get<std::string>();
}

std::optional<double> number_member(const Json& object, std::string_view name) {
  const Json* member = find_member(object, name);
  if (member == nullptr || !member->is_number()) return std::nullopt;
  const double value = member->get<double>();
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::optional<std::int64_t> integer_member(const Json& object, std::string_view name) {
  const Json* member = find_member(object, name);
  if (member == nullptr || !member->is_number_integer()) return std::nullopt;
  if (member->is_number_unsigned() &&
      member->get<std::uint64_t>() > std::uint64_t(std::numeric_limits<std::int64_t>::max())) {
    return std::nullopt;
  }
  return member->get<std::int64_t>();
}

std::optional<bool> bool_member(const Json& object, std::string_view name) {
  const Json* member = find_member(object, name);
  if (member == nullptr || !member->is_boolean()) return std::nullopt;
  return member->get<bool>();
}

}  // namespace rooftune
