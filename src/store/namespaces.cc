#include "store/namespaces.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <vector>

namespace rooftune {
namespace {

constexpr std::string_view kRecordsVersion = "v1";
constexpr std::string_view kQuarantineVersion = "v1";
constexpr std::array kKinds = {NamespaceKind::autotune, NamespaceKind::throughput,
                               NamespaceKind::compiled, NamespaceKind::quarantine,
                               NamespaceKind::records};
constexpr std::array kRecordKinds = {RecordKind::sessions, RecordKind::autotune,
                                     RecordKind::compilation};
constexpr std::string_view kHex = "0123456789ABCDEF";

bool is_plain(unsigned char c) { return c > 0x20 && c < 0x7f && c != '%' && c != '/'; }

std::string encode(std::string_view part) {
  std::string text;
  text.reserve(part.size());
  for (const char c : part) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_plain(byte) || c == ' ') {
      text += c;
    } else {
      text += '%';
      text += kHex[byte >> 4];
      text += kHex[byte & 15];
    }
  }
  return text;
}

// Only what encode() writes: one text for each part, so that equal parts are equal namespaces.
std::optional<std::string> decode(std::string_view text) {
  std::string part;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      part += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const std::size_t high = kHex.find(text[i + 1]), low = kHex.find(text[i + 2]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    part += static_cast<char>(high << 4 | low);
    i += 2;
  }
  if (encode(part) != text) return std::nullopt;
  return part;
}

std::string join(NamespaceKind kind, std::initializer_list<std::string_view> parts) {
  std::string ns(to_string(kind));
  for (const std::string_view part : parts) ns += '/' + encode(part);
  return ns;
}

}  // namespace

std::string_view to_string(NamespaceKind kind) {
  switch (kind) {
    case NamespaceKind::autotune:
      return "autotune";
    case NamespaceKind::throughput:
      return "throughput";
    case NamespaceKind::compiled:
      return "compiled";
    case NamespaceKind::quarantine:
      return "quarantine";
    case NamespaceKind::records:
      return "records";
  }
  return "unknown";
}

std::string_view to_string(RecordKind kind) {
  switch (kind) {
    case RecordKind::sessions:
      return "sessions";
    case RecordKind::autotune:
      return "autotune";
    case RecordKind::compilation:
      return "compilation";
  }
  return "unknown";
}

std::string autotune_namespace(std::string_view version, std::string_view fingerprint,
                               std::string_view tuner) {
  return join(NamespaceKind::autotune, {version, fingerprint, tuner});
}

std::string throughput_namespace(std::string_view version, std::string_view fingerprint) {
  return join(NamespaceKind::throughput, {version, fingerprint});
}

std::string compiled_namespace(std::string_view version, std::string_view fingerprint) {
  return join(NamespaceKind::compiled, {version, fingerprint});
}

std::string quarantine_namespace(std::string_view fingerprint, std::string_view tuner) {
  return join(NamespaceKind::quarantine, {kQuarantineVersion, fingerprint, tuner});
}

std::string records_namespace(RecordKind kind) {
  return join(NamespaceKind::records, {kRecordsVersion, to_string(kind)});
}

std::optional<NamespaceParts> split_namespace(std::string_view ns) {
  std::vector<std::string> parts;
  for (std::size_t from = 0; from <= ns.size();) {
    const std::size_t to = std::min(ns.find('/', from), ns.size());
    auto part = decode(ns.substr(from, to - from));
    if (!part) return std::nullopt;
    parts.push_back(*std::move(part));
    from = to + 1;
  }
  for (const NamespaceKind kind : kKinds) {
    if (parts[0] != to_string(kind)) continue;
    const bool named = kind == NamespaceKind::autotune || kind == NamespaceKind::quarantine;
    if (kind == NamespaceKind::records) {
      if (parts.size() != 3 || parts[1] != kRecordsVersion) return std::nullopt;
      for (const RecordKind record : kRecordKinds) {
        if (parts[2] == to_string(record)) return NamespaceParts{kind, parts[1], "", parts[2]};
      }
      return std::nullopt;
    }
    if (parts.size() != (named ? 4u : 3u)) return std::nullopt;
    if (kind == NamespaceKind::quarantine && parts[1] != kQuarantineVersion) return std::nullopt;
    return NamespaceParts{kind, parts[1], parts[2], named ? parts[3] : ""};
  }
  return std::nullopt;
}

bool is_binary_namespace(std::string_view ns) {
  return covers(to_string(NamespaceKind::compiled), ns);
}

bool covers(std::string_view prefix, std::string_view ns) {
  while (prefix.ends_with('/')) prefix.remove_suffix(1);
  if (prefix.empty() || prefix == ns) return true;
  return ns.size() > prefix.size() && ns.starts_with(prefix) && ns[prefix.size()] == '/';
}

}  // namespace rooftune
