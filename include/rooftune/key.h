// Keys: what two problems must share to share a winner.
//
// A key is a plain struct (not one inside of a function) with one declaration that lists its
// fields:
//
//   struct SoftmaxKey {
//     std::int64_t rows, cols;
//     DType dtype;
//     ROOFTUNE_KEY(anchored(rows), anchored(cols), dtype)
//   };
//
// which gives equality (==), key_hash, key_text ("rows=1024 cols=256 dtype=f32"), key_json and
// key_from_json. Fields marked `anchored` are rounded up to the grid of the tuning level before
// the key is looked up (see anchor). A field may be an integer, a bool, a std::string, an enum
// with a to_string(), or any type with to_string() and parse_key_field(string_view, T&).
#ifndef ROOFTUNE_KEY_H_
#define ROOFTUNE_KEY_H_

#include <atomic>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "rooftune/error.h"
#include "rooftune/settings.h"

// The fields are given as expressions, so that an editor and a compiler see their names;
// `anchored` only marks them here.
#define ROOFTUNE_KEY(...)                                                                          \
  static constexpr std::string_view rooftune_key_declaration() { return #__VA_ARGS__; }            \
  auto rooftune_key_fields() {                                                                     \
    [[maybe_unused]] const auto anchored = [](auto& field) -> auto& { return field; };             \
    return std::tie(__VA_ARGS__);                                                                  \
  }                                                                                                \
  auto rooftune_key_fields() const {                                                               \
    [[maybe_unused]] const auto anchored = [](const auto& field) -> const auto& { return field; }; \
    return std::tie(__VA_ARGS__);                                                                  \
  }                                                                                                \
  bool operator==(const auto& other) const requires requires { other.rooftune_key_fields(); }      \
  { return rooftune_key_fields() == other.rooftune_key_fields(); }

namespace rooftune {

// Rounds x up to the grid of a level: ceil(base^i) for the smallest whole i >= 0 with
// base^i >= x; base 2.5 (minimal), 2 (balanced), 1.5 (extensive); `full` gives x itself. Exact for
// every x up to 2^62 (no logarithm is taken); larger x and x < 1 are given back as they are.
std::int64_t anchor(std::int64_t x, Level level);

// A grid four times as fine, for telling sizes with one anchor apart: the least i >= 0 with
// base^(i/4) >= x, at most 4 of them to an anchor. 0 at level full, where there is nothing to tell.
int anchor_step(std::int64_t x, Level level);
// The least and the largest size of a step; {0, 0} for one that no size has.
std::pair<std::int64_t, std::int64_t> anchor_step_sizes(int step, Level level);

template <class K>
concept Key = requires(const K& key) {
  key.rooftune_key_fields();
  { K::rooftune_key_declaration() } -> std::convertible_to<std::string_view>;
};

namespace detail {

struct KeyFieldName {
  std::string name;
  bool anchored;
};
// "anchored(rows), dtype" -> {{"rows", true}, {"dtype", false}}
std::vector<KeyFieldName> parse_key_declaration(std::string_view declaration);

template <Key K>
const std::vector<KeyFieldName>& key_field_names() {
  // Not a static object of this function: where a thread is making one when another thread forks,
  // the child would wait for that thread for ever.
  static std::atomic<const std::vector<KeyFieldName>*> names{nullptr};
  if (const auto* known = names.load(std::memory_order_acquire)) [[likely]]
    return *known;
  auto made = std::make_unique<const std::vector<KeyFieldName>>(
      parse_key_declaration(K::rooftune_key_declaration()));
  const std::vector<KeyFieldName>* first = nullptr;
  const bool mine = names.compare_exchange_strong(first, made.get(), std::memory_order_acq_rel);
  return mine ? *made.release() : *first;
}

// A field as JSON text and back; quoting is done by the caller of append_json_string.
void append_json_string(std::string& out, std::string_view text);
// Splits {"name":value,...} of flat JSON into names and raw values (numbers, true/false or
// unquoted strings). Errors: invalid_argument.
Result<std::vector<std::pair<std::string, std::string>>> split_flat_json(std::string_view json);

template <class T>
std::string key_field_text(const T& field) {
  if constexpr (std::is_same_v<T, bool>) {
    return field ? "true" : "false";
  } else if constexpr (std::is_integral_v<T>) {
    return std::to_string(field);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return field;
  } else {
    return std::string(to_string(field));
  }
}

template <class T>
bool parse_field(std::string_view text, T& field) {
  if constexpr (std::is_same_v<T, bool>) {
    field = text == "true";
    return text == "true" || text == "false";
  } else if constexpr (std::is_integral_v<T>) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), field);
    return error == std::errc() && end == text.data() + text.size();
  } else if constexpr (std::is_same_v<T, std::string>) {
    field = text;
    return true;
  } else if constexpr (std::is_enum_v<T>) {
    // An enum has few values: ask each for its name rather than keep a second table of names.
    for (int value = 0; value < 64; ++value) {
      if (to_string(static_cast<T>(value)) == text) {
        field = static_cast<T>(value);
        return true;
      }
    }
    return false;
  } else {
    return parse_key_field(text, field);
  }
}

__extension__ typedef unsigned __int128 Uint128;

// Folds the 128-bit product of two words: one multiplication mixes both well enough for a table.
inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  const Uint128 product = Uint128{a ^ 0x9e3779b97f4a7c15ull} * (b ^ 0xd6e8feb86659fd93ull);
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

template <class T>
std::uint64_t hash_field(const T& field) {
  if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
    return static_cast<std::uint64_t>(field);
  } else {
    std::uint64_t hash = 1469598103934665603ull;
    for (const char c : key_field_text(field)) {
      hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
    }
    return hash;
  }
}

template <class F>
void for_each_key_field(const Key auto& key, F&& visit) {
  using K = std::remove_cvref_t<decltype(key)>;
  const auto& names = key_field_names<K>();
  std::size_t index = 0;
  std::apply([&](const auto&... fields) { (visit(names[index++].name, fields), ...); },
             key.rooftune_key_fields());
}

}  // namespace detail

// The same key with its anchored fields rounded up.
template <Key K>
K anchored_key(K key, Level level) {
  const auto& names = detail::key_field_names<K>();
  std::size_t index = 0;
  const auto round = [&](auto& field) {
    using T = std::remove_reference_t<decltype(field)>;
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      if (names[index].anchored)
        field = static_cast<T>(anchor(static_cast<std::int64_t>(field), level));
    }
    ++index;
  };
  std::apply([&](auto&... fields) { (round(fields), ...); }, key.rooftune_key_fields());
  return key;
}

// For tables in memory; differs between processes and versions, so never stored.
template <Key K>
std::uint64_t key_hash(const K& key) {
  if constexpr (std::has_unique_object_representations_v<K> && sizeof(K) % 8 == 0) {
    // Hashing the bytes costs a few nanoseconds; this is on the path of every call.
    std::uint64_t hash = sizeof(K);
    const auto* bytes = reinterpret_cast<const unsigned char*>(&key);
    std::uint64_t words[sizeof(K) / 8];
    std::memcpy(words, bytes, sizeof(K));
    for (std::size_t i = 0; i + 1 < sizeof(K) / 8; i += 2) {
      hash = detail::mix(hash ^ words[i], words[i + 1]);
    }
    if constexpr ((sizeof(K) / 8) % 2 == 1) hash = detail::mix(hash, words[sizeof(K) / 8 - 1]);
    return hash;
  } else {
    std::uint64_t hash = 0;
    std::apply(
        [&](const auto&... fields) {
          ((hash = detail::mix(hash, detail::hash_field(fields))), ...);
        },
        key.rooftune_key_fields());
    return hash;
  }
}

// Equality as fast as the key allows.
template <Key K>
bool same_key(const K& a, const K& b) {
  if constexpr (std::has_unique_object_representations_v<K>) {
    return std::memcmp(&a, &b, sizeof(K)) == 0;
  } else {
    return a == b;
  }
}

// "rows=1024 cols=256 dtype=f32"
template <Key K>
std::string key_text(const K& key) {
  std::string text;
  detail::for_each_key_field(key, [&](const std::string& name, const auto& field) {
    if (!text.empty()) text += ' ';
    text += name + "=" + detail::key_field_text(field);
  });
  return text;
}

// {"rows":1024,"cols":256,"dtype":"f32"}: the name of the key in the store.
template <Key K>
std::string key_json(const K& key) {
  std::string text = "{";
  detail::for_each_key_field(key, [&](const std::string& name, const auto& field) {
    using T = std::remove_cvref_t<decltype(field)>;
    if (text.size() > 1) text += ',';
    detail::append_json_string(text, name);
    text += ':';
    if constexpr (std::is_integral_v<T>) {
      text += detail::key_field_text(field);
    } else {
      detail::append_json_string(text, detail::key_field_text(field));
    }
  });
  return text + "}";
}

// The inverse of key_json. Errors: invalid_argument for missing, unknown or unreadable fields.
template <Key K>
Result<K> key_from_json(std::string_view json) {
  auto pairs = detail::split_flat_json(json);
  if (!pairs) return std::unexpected(pairs.error());
  const auto& names = detail::key_field_names<K>();
  if (pairs->size() != names.size()) {
    return fail(ErrorKind::invalid_argument, "a key of " + std::to_string(pairs->size()) +
                                                 " fields where " + std::to_string(names.size()) +
                                                 " are expected: " + std::string(json));
  }
  K key{};
  std::size_t index = 0;
  std::string wrong;
  const auto read = [&](auto& field) {
    const std::string& name = names[index++].name;
    for (const auto& [given, value] : *pairs) {
      if (given != name) continue;
      if (!detail::parse_field(std::string_view(value), field)) wrong = name + "=" + value;
      return;
    }
    wrong = name + " is missing";
  };
  std::apply([&](auto&... fields) { (read(fields), ...); }, key.rooftune_key_fields());
  if (!wrong.empty()) return fail(ErrorKind::invalid_argument, "bad key field: " + wrong);
  return key;
}

}  // namespace rooftune

#endif  // ROOFTUNE_KEY_H_
