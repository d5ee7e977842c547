// An environment: one named database with everything that was learned, in one SQLite file.
//
// Whatever is wrong with the file costs a warning and speed, never an answer:
//
//   damaged, or a schema number that never existed   renamed to default.db.damaged-..., which keeps
//                                                    everything; a fresh file takes its place
//   newer schema, or another program's file          left alone; this process works in memory
//   read-only (file, folder, mount)                  served, nothing is written
//   no write-ahead log on this file system           a rollback journal, else served or memory
//   locked by another for too long, disk full        values wait in memory for the next write
//   no file and none can be made                     memory
//
// A fault that shows only later, in the middle of a file, is treated in the same way. A single row
// that cannot be understood is a miss for that row.
//
// Environments are thread-safe. Several environments, in this process and in others, may use one
// file. Around fork() the file is closed; parent and child each open it again when they need it,
// and values that wait in memory stay with the parent.
#ifndef ROOFTUNE_STORE_ENVIRONMENT_H_
#define ROOFTUNE_STORE_ENVIRONMENT_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rooftune/error.h"
#include "rooftune/function_ref.h"
#include "store/namespaces.h"

namespace rooftune {

// A record takes some kilobytes: the newest thousand of each kind stay within a few megabytes.
inline constexpr std::int64_t kRecordsKept = 1000;

struct EnvironmentOptions {
  // The database file; see location.h. Its folder is made when it is not there.
  std::filesystem::path path = {};
  // False: memory only; the file is neither read nor made.
  bool use_disk = true;
  // How long a call may wait for other processes. A write to a slow disk takes 20 ms, so that even
  // a hundred processes that write at once are served in this time.
  std::chrono::milliseconds busy_timeout{5000};
  // Receives one sentence for each thing that went wrong, once; never under a lock, so it may call
  // the environment. Called from the thread that met the fault, also by the constructor.
  std::function<void(const std::string&)> warn = {};
  // An SQLite file layer (VFS) by name; empty is the usual one.
  std::string vfs = {};
};

struct Entry {
  std::string ns;
  std::string key;
  std::string value;
  std::int64_t updated_unix_s = 0;

  bool operator==(const Entry&) const = default;
};

enum class EnvironmentMode {
  read_write,
  read_only,  // the file is served; what is put lives in this process only
  memory,     // no file; what is put lives in this process only
};

// "read_write", "read_only", "memory".
std::string_view to_string(EnvironmentMode mode);

struct EnvironmentState {
  std::filesystem::path path;
  EnvironmentMode mode = EnvironmentMode::memory;
  int schema_version = 0;        // of the file in use; 0 in memory
  bool write_ahead_log = false;  // false with a file in use: a rollback journal
  std::size_t waiting = 0;       // values and records that are in memory and not in the file
  std::string why;               // why the mode is not read_write, or no log is used; else empty
};

class Environment {
 public:
  // Never fails; see above. Waits at most about busy_timeout.
  explicit Environment(EnvironmentOptions options);
  // Tries once more to write what is waiting.
  ~Environment();
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  // In all functions: a namespace is one that namespaces.h makes, or other printable ASCII text of
  // at most 4096 bytes; a key is any bytes, at most 1 MiB; a value is JSON text, or any bytes in
  // compiled/..., at most 256 MiB. Anything else is invalid_argument and changes nothing.

  // nullopt: not there, or not to be understood, or the file cannot be read now (one warning).
  // Never waits for a writer of another process.
  Result<std::optional<std::string>> get(std::string_view ns, std::string_view key);

  // In mode read_write the value is on the disk when put returns: it survives a kill and a power
  // cut. If the file stays locked for busy_timeout, or the disk is full, the value waits in memory
  // (one warning) and the next write takes it along. In the other modes it is kept in memory.
  Status put(std::string_view ns, std::string_view key, std::string_view value);

  // Not there is success. Otherwise as put.
  Status erase(std::string_view ns, std::string_view key);

  // Replaces the value by merged(value), with nobody writing in between: of several processes that
  // add to one key none is lost. `merged` may be called more than once; only the last result
  // counts. It must be quick, must not throw, fork or use an environment. Otherwise as put.
  Status merge(std::string_view ns, std::string_view key,
               FunctionRef<std::string(std::optional<std::string>)> merged);

  // Removes all entries whose namespace `prefix` covers (see namespaces.h); "" covers everything.
  // ErrorKind::store when there is a file and it cannot be written now: then nothing is removed.
  Status clear(std::string_view prefix);

  // All entries that `prefix` covers and that can be understood, in order of namespace and key.
  Result<std::vector<Entry>> list(std::string_view prefix);

  // Adds a record under the next number, and drops all but the newest kRecordsKept of its kind. A
  // record survives a kill; unlike a value, it may be lost in a power cut (it is not worth waiting
  // for the disk). Read records with list(records_namespace(kind)).
  Status append_record(RecordKind kind, std::string_view json);

  // What is wrong: with the file as SQLite sees it, with rows that cannot be understood or have an
  // unknown namespace, and why the file is not in full use. Empty when all is well. Repairs
  // nothing.
  std::vector<std::string> check();

  EnvironmentState state() const;

 private:
  class Core;
  std::unique_ptr<Core> core_;
};

}  // namespace rooftune

#endif  // ROOFTUNE_STORE_ENVIRONMENT_H_
