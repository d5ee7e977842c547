// One open SQLite file, without policy: it opens, reads, writes, and says what kind of fault it
// met. What to do about a fault is decided in environment.cc.
//
// The file holds one table; `value` is JSON text, `binary` is bytes, and a row has one of the two:
//
//   entries(ns, key, value, binary, binary_digest, updated_unix_s)     primary key (ns, key)
//
// A row that is not as this program writes it (a null or negative time, a number for text, text
// that is no JSON, a binary that does not match its digest) counts as not there.
#ifndef ROOFTUNE_STORE_DATABASE_H_
#define ROOFTUNE_STORE_DATABASE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rooftune/function_ref.h"

struct sqlite3;
struct sqlite3_stmt;

namespace rooftune {

inline constexpr int kSchemaVersion = 1;
// "Roof": marks the file as ours in SQLite's header.
inline constexpr int kApplicationId = 0x526f6f66;
// Reaches far beyond any compiled kernel, and keeps a damaged length from taking all memory.
inline constexpr std::size_t kLargestValue = std::size_t(256) << 20;

enum class Fault {
  busy,       // another process holds a lock; trying again may help
  damaged,    // not a database, or broken inside, or its table is not ours
  newer,      // of a schema that a later version of this program made
  foreign,    // a healthy database of some other program
  read_only,  // may be read, but not written
  moved,      // the file no longer lies under its name
  no_log,     // the write-ahead log is impossible here
  unusable,   // disk full, input or output error, no permission, out of memory
};

struct Faulted {
  Fault fault = Fault::unusable;
  std::string text;
};

template <class T>
using Outcome = std::expected<T, Faulted>;

struct Row {
  std::string ns, key;
  std::string value;  // JSON or bytes, by namespace
  std::int64_t updated_unix_s = 0;
  std::string fault;  // why the row cannot be understood; empty when it can
};

enum class Access {
  create,     // read and write, make the file when it is not there
  existing,   // read and write, but only a file that is there
  live_read,  // read only, beside others that may be writing
  snapshot,   // read only, and without writing even the files SQLite reads with: nobody may write
};

enum class Journal { write_ahead, rollback };

class Database {
 public:
  // Makes the table in an empty file (not with the two reading accesses). Never waits: a lock held
  // by another is Fault::busy. `vfs` names an SQLite file layer; empty is the usual one.
  static Outcome<std::unique_ptr<Database>> open(const std::filesystem::path& file, Access access,
                                                 Journal journal, const std::string& vfs);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  bool writable() const { return writable_; }
  Journal journal() const { return journal_; }

  // The file was renamed, removed or replaced since it was opened.
  bool moved() const;

  // The log stays beside the file and is taken in by whoever opens it next: the fast way to close,
  // and the right one for a file that is about to be put aside.
  void keep_log_at_close();

  // A row that is there but cannot be understood is nullopt too.
  Outcome<std::optional<std::string>> get(std::string_view ns, std::string_view key);

  // Every row of the namespaces that `prefix` covers, in order of namespace and key, including
  // those that cannot be understood.
  Outcome<void> scan(std::string_view prefix, FunctionRef<void(Row)> visit);

  // Runs `work` as one transaction: after success all of it is kept, otherwise nothing. With
  // `durable` it has reached the disk; without, it survives the end of this process only, and a
  // power cut may take it.
  Outcome<void> transact(bool durable, FunctionRef<Outcome<void>()> work);

  // Inside transact() only.
  Outcome<void> put(std::string_view ns, std::string_view key, std::string_view value,
                    std::int64_t updated_unix_s);
  Outcome<void> erase(std::string_view ns, std::string_view key);
  Outcome<void> clear(std::string_view prefix);
  // Puts `value` under the next number of the namespace and drops all but the newest `keep`.
  Outcome<void> append(std::string_view ns, std::string_view value, std::int64_t updated_unix_s,
                       std::int64_t keep);

  // What SQLite itself finds wrong with the file; empty when nothing.
  Outcome<std::vector<std::string>> integrity();

 private:
  enum Text : std::size_t {
    kGet,
    kScan,
    kPut,
    kErase,
    kClear,
    kClearAll,
    kLastNumber,
    kDropOld,
    kTexts
  };
  class Run;

  Database() = default;
  Outcome<void> identify(bool& empty);
  Outcome<void> identify_at_once(bool& empty);
  Outcome<void> create_table();
  Outcome<void> choose_journal(Journal journal);
  Outcome<void> share();
  Outcome<void> verify_table();
  Outcome<void> set_durable(bool durable);
  Outcome<void> execute(const char* sql);
  Outcome<std::int64_t> number(const char* sql);
  Outcome<std::string> text(const char* sql);
  Outcome<sqlite3_stmt*> prepared(Text which);
  Faulted faulted(int code) const;

  sqlite3* handle_ = nullptr;
  std::array<sqlite3_stmt*, kTexts> statements_{};
  Journal journal_ = Journal::write_ahead;
  bool writable_ = false;
  bool durable_ = true;
};

// JSON as SQLite's functions can read it: UTF-8, one value, no zero byte.
bool is_json(std::string_view text);

// The key of record number `number`: of fixed width, so that keys sort like their numbers.
std::string record_key(std::int64_t number);
// 0 when the key is none.
std::int64_t record_number(std::string_view key);

}  // namespace rooftune

#endif  // ROOFTUNE_STORE_DATABASE_H_
