// Small things about text that every message and every parser needs. Independent of the locale.
#ifndef ROOFTUNE_BASE_TEXT_H_
#define ROOFTUNE_BASE_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace rooftune {

// How many single characters must be inserted, removed, replaced or swapped with their neighbour
// to turn one text into the other. Costs a.size() * b.size() steps.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The candidate that was probably meant: the nearest one, upper and lower case being equal, when
// it is near enough to be a slip (a third of the longer text, at least 1, at most 4 edits); the
// earliest of equally near ones. Any length of name costs little.
std::optional<std::string_view> nearest(std::string_view name,
                                        std::span<const std::string_view> candidates);

// "; did you mean \"level\"?" or nothing, to be put at the end of a message.
std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates);

// Text of unknown origin as it may stand in a message: in double quotes, control characters and
// bytes that are not UTF-8 escaped ("a\x07"), cut after `limit` bytes ("abc...").
std::string in_quotes(std::string_view text, std::size_t limit = 60);

// The names in double quotes with commas: "\"wait\", \"fallback\"".
std::string list_in_quotes(std::span<const std::string_view> names);

// The whole text must be the number: no blanks, no plus sign, no unit, nothing after it. Decimal.
std::optional<std::int64_t> parse_integer(std::string_view text);
// The same for a finite number with a decimal point, e.g. "0.5", "3", "1e-3"; not "inf" or "nan".
std::optional<double> parse_number(std::string_view text);

// Length of the UTF-8 character that starts at text[at]; 0 when the bytes there are not UTF-8
// (overlong forms, surrogates and what lies past U+10FFFF count as not).
std::size_t utf8_length(std::string_view text, std::size_t at);

}  // namespace rooftune

#endif  // ROOFTUNE_BASE_TEXT_H_
