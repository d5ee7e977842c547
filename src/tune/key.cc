#include "rooftune/key.h"

#include <string>
#include <utility>
#include <vector>

#include "base/json.h"

namespace rooftune::detail {

std::vector<KeyFieldName> parse_key_declaration(std::string_view declaration) {
  std::vector<KeyFieldName> names;
  const auto trim = [](std::string_view text) {
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) {
      text.remove_prefix(1);
    }
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) {
      text.remove_suffix(1);
    }
    return text;
  };
  constexpr std::string_view kMark = "anchored";
  while (!declaration.empty()) {
    const std::size_t comma = declaration.find(',');
    std::string_view field = trim(declaration.substr(0, comma));
    declaration.remove_prefix(comma == std::string_view::npos ? declaration.size() : comma + 1);
    bool anchored = false;
    if (field.starts_with(kMark)) {
      const std::string_view rest = trim(field.substr(kMark.size()));
      if (rest.starts_with('(') && rest.ends_with(')')) {
        anchored = true;
        field = trim(rest.substr(1, rest.size() - 2));
      }
    }
    names.push_back({std::string(field), anchored});
  }
  return names;
}

void append_json_string(std::string& out, std::string_view text) { out += json_string(text); }

Result<std::vector<std::pair<std::string, std::string>>> split_flat_json(std::string_view json) {
  auto parsed = parse_json(json);
  if (!parsed) return std::unexpected(parsed.error());
  if (!parsed->is_object()) {
    return fail(ErrorKind::invalid_argument, "a key is a JSON object, not " + std::string(json));
  }
  std::vector<std::pair<std::string, std::string>> fields;
  for (const auto& [name, value] : parsed->items()) {
    if (value.is_structured() || value.is_null()) {
      return fail(ErrorKind::invalid_argument, "key field " + name + " is not a plain value");
    }
    fields.emplace_back(name, value.is_string() ? value.get<std::string>() : value.dump());
  }
  return fields;
}

}  // namespace rooftune::detail
