// The names under which an environment keeps things:
//
//   autotune/<version>/<device fingerprint>/<tuner name>     key -> decision with evidence (JSON)
//   throughput/<probe version>/<device fingerprint>          probe key -> rate (JSON)
//   compiled/<version>/<device fingerprint>                  kernel id -> binary
//   quarantine/v1/<device fingerprint>/<tuner name>          key -> candidates that a process died
//                                                            of there (JSON)
//   records/v1/{sessions,autotune,compilation}               number -> what happened (JSON)
//
// Quarantines are suspicions of this machine (a process may have been killed for another reason)
// and stay here when an environment is exported: elsewhere they would cost a candidate, and nobody
// there would know why.
//
// A namespace is text with parts between slashes. What comes from outside (a device's name, a
// tuner's name) may hold anything: in a part, '%', '/', control characters and bytes above 126 are
// written as %XX, so that a part never reaches into the next one.
#ifndef ROOFTUNE_STORE_NAMESPACES_H_
#define ROOFTUNE_STORE_NAMESPACES_H_

#include <optional>
#include <string>
#include <string_view>

namespace rooftune {

enum class NamespaceKind { autotune, throughput, compiled, quarantine, records };

// "autotune", "throughput", "compiled", "quarantine", "records".
std::string_view to_string(NamespaceKind kind);

enum class RecordKind { sessions, autotune, compilation };

// "sessions", "autotune", "compilation".
std::string_view to_string(RecordKind kind);

// The parts of a namespace, decoded. For records, name is the record kind.
struct NamespaceParts {
  NamespaceKind kind = NamespaceKind::autotune;
  std::string version;
  std::string fingerprint;  // empty for records
  std::string name;         // the tuner's name, or the record kind; empty for the other two

  bool operator==(const NamespaceParts&) const = default;
};

std::string autotune_namespace(std::string_view version, std::string_view fingerprint,
                               std::string_view tuner);
std::string throughput_namespace(std::string_view version, std::string_view fingerprint);
std::string compiled_namespace(std::string_view version, std::string_view fingerprint);
std::string quarantine_namespace(std::string_view fingerprint, std::string_view tuner);
std::string records_namespace(RecordKind kind);

// The reverse of the functions above; nullopt for text that none of them makes.
std::optional<NamespaceParts> split_namespace(std::string_view ns);

// True when values of this namespace are bytes of any kind; all others hold JSON text.
bool is_binary_namespace(std::string_view ns);

// True when `ns` is `prefix` or lies below it: "autotune/v1" covers "autotune/v1/x", but not
// "autotune/v10". A slash at the end of the prefix changes nothing; "" covers everything.
bool covers(std::string_view prefix, std::string_view ns);

}  // namespace rooftune

#endif  // ROOFTUNE_STORE_NAMESPACES_H_
