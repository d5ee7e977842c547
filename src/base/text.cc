#include "base/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "fmt/format.h"

namespace rooftune {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = char(c - 'A' + 'a');
  }
  return result;
}

template <class Number>
std::optional<Number> parse_whole(std::string_view text) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end) return std::nullopt;
  return value;
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Rows of the table of distances between the first i characters of a and the first j of b.
  std::vector<std::size_t> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = a[i - 1] == b[j - 1];
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

std::optional<std::string_view> nearest(std::string_view name,
                                        std::span<const std::string_view> candidates) {
  constexpr std::size_t kMostEdits = 4;
  std::optional<std::string_view> best;
  std::size_t best_distance = kMostEdits + 1;
  for (std::string_view candidate : candidates) {
    const std::size_t longer = std::max(name.size(), candidate.size());
    const std::size_t shorter = std::min(name.size(), candidate.size());
    if (longer - shorter > kMostEdits) continue;
    const std::size_t distance = edit_distance(lower(name), lower(candidate));
    const std::size_t most = std::clamp<std::size_t>(longer / 3, 1, kMostEdits);
    if (distance <= most && distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates) {
  const auto meant = nearest(name, candidates);
  return meant ? fmt::format("; did you mean \"{}\"?", *meant) : std::string();
}

std::string in_quotes(std::string_view text, std::size_t limit) {
  std::string result = "\"";
  std::size_t at = 0;
  while (at < text.size() && at < limit) {
    const auto c = static_cast<unsigned char>(text[at]);
    const std::size_t length = utf8_length(text, at);
    // U+0080 to U+009F are control characters as well.
    const bool control =
        c < 0x20 || c == 0x7f ||
        (length == 2 && c == 0xc2 && static_cast<unsigned char>(text[at + 1]) < 0xa0);
    if (c == '\n') {
      result += "\\n";
      ++at;
    } else if (c == '"' || c == '\\') {
      result += '\\';
      result += char(c);
      ++at;
    } else if (length == 0 || control) {
      for (std::size_t i = 0; i < std::max<std::size_t>(length, 1); ++i, ++at) {
        result += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[at]));
      }
    } else {
      result.append(text, at, length);
      at += length;
    }
  }
  return result + (at < text.size() ? "...\"" : "\"");
}

std::string list_in_quotes(std::span<const std::string_view> names) {
  std::string result;
  for (std::string_view name : names) {
    if (!result.empty()) result += ", ";
    result += in_quotes(name);
  }
  return result;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  return parse_whole<std::int64_t>(text);
}

std::optional<double> parse_number(std::string_view text) {
  const auto value = parse_whole<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::size_t utf8_length(std::string_view text, std::size_t at) {
  if (at >= text.size()) return 0;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  std::size_t length = 0;
  char32_t least = 0, value = 0;
  if (first >= 0xc0 && first < 0xe0) {
    length = 2, least = 0x80, value = first & 0x1f;
  } else if (first >= 0xe0 && first < 0xf0) {
    length = 3, least = 0x800, value = first & 0x0f;
  } else if (first >= 0xf0 && first < 0xf8) {
    length = 4, least = 0x10000, value = first & 0x07;
  } else {
    return 0;
  }
  if (at + length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    value = value << 6 | (byte(i) & 0x3f);
  }
  const bool surrogate = value >= 0xd800 && value < 0xe000;
  return value < least || value > 0x10ffff || surrogate ? 0 : length;
}

}  // namespace rooftune
