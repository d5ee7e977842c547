#include "store/database.h"

#include <sqlite3.h>

#include <cerrno>
#include <charconv>
#include <utility>

#include "base/hash.h"
#include "fmt/format.h"
#include "nlohmann/json.hpp"
#include "store/namespaces.h"

namespace rooftune {
namespace {

constexpr const char* kCreateTable =
    "CREATE TABLE entries (ns TEXT NOT NULL, key TEXT NOT NULL, value TEXT, binary BLOB, "
    "binary_digest TEXT, updated_unix_s INTEGER NOT NULL, PRIMARY KEY (ns, key))";

// What a prefix covers, in the three values that Run::covered_by() binds.
#define ROOFTUNE_COVERED "(ns = ?1 OR (ns >= ?2 AND ns < ?3))"

constexpr const char* kTexts[] = {
    "SELECT ns, key, value, binary, binary_digest, updated_unix_s FROM entries "
    "WHERE ns = ?1 AND key = ?2",
    "SELECT ns, key, value, binary, binary_digest, updated_unix_s FROM entries "
    "WHERE " ROOFTUNE_COVERED " ORDER BY ns, key",
    "INSERT INTO entries (ns, key, value, binary, binary_digest, updated_unix_s) "
    "VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (ns, key) DO UPDATE SET value = excluded.value, "
    "binary = excluded.binary, binary_digest = excluded.binary_digest, "
    "updated_unix_s = excluded.updated_unix_s",
    "DELETE FROM entries WHERE ns = ?1 AND key = ?2",
    "DELETE FROM entries WHERE " ROOFTUNE_COVERED,
    "DELETE FROM entries",
    // ':' is the byte after '9': foreign keys above all numbers do not count.
    "SELECT key FROM entries WHERE ns = ?1 AND key < ':' ORDER BY key DESC LIMIT 1",
    "DELETE FROM entries WHERE ns = ?1 AND key <= ?2",
};

#undef ROOFTUNE_COVERED

bool is_log_fault(int code) {
  switch (code) {
    case SQLITE_PROTOCOL:
    case SQLITE_CANTOPEN:  // of the log or the shared memory: the file itself is open
    case SQLITE_IOERR_SHMOPEN:
    case SQLITE_IOERR_SHMSIZE:
    case SQLITE_IOERR_SHMLOCK:
    case SQLITE_IOERR_SHMMAP:
      return true;
    default:
      return false;
  }
}

Fault classify(int code) {
  if (is_log_fault(code)) return Fault::no_log;
  if (code == SQLITE_IOERR_CORRUPTFS) return Fault::damaged;
  if (code == SQLITE_READONLY_DBMOVED) return Fault::moved;
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Fault::busy;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT:
    case SQLITE_ERROR:  // no such table, no such column
    case SQLITE_SCHEMA:
    case SQLITE_MISMATCH:
    case SQLITE_CONSTRAINT:
      return Fault::damaged;
    case SQLITE_READONLY:
      return Fault::read_only;
    default:
      return Fault::unusable;
  }
}

std::string file_uri(const std::filesystem::path& file, std::string_view parameters) {
  std::string uri = "file:";
  for (const char c : file.native()) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '/' || c == '.' || c == '-' || c == '_';
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri.append("?").append(parameters);
}

// Text for SQLite is UTF-8 without a zero byte; other keys are kept as bytes, which compare just as
// exactly and cannot confuse a reader of the table.
bool is_text(std::string_view bytes) {
  for (std::size_t i = 0; i < bytes.size();) {
    const auto lead = static_cast<unsigned char>(bytes[i]);
    if (lead == 0) return false;
    const std::size_t length = lead < 0x80                   ? 1
                               : lead >= 0xc2 && lead < 0xe0 ? 2
                               : lead >= 0xe0 && lead < 0xf0 ? 3
                               : lead >= 0xf0 && lead < 0xf5 ? 4
                                                             : 0;
    if (length == 0 || i + length > bytes.size()) return false;
    for (std::size_t j = 1; j < length; ++j) {
      if ((static_cast<unsigned char>(bytes[i + j]) & 0xc0) != 0x80) return false;
    }
    i += length;
  }
  return true;
}

std::string bytes_of(sqlite3_stmt* statement, int column) {
  const void* data = sqlite3_column_blob(statement, column);
  const int size = sqlite3_column_bytes(statement, column);
  return data ? std::string(static_cast<const char*>(data), static_cast<std::size_t>(size)) : "";
}

Row row_of(sqlite3_stmt* statement) {
  Row row{.ns = bytes_of(statement, 0), .key = bytes_of(statement, 1), .value = {}, .fault = {}};
  if (sqlite3_column_type(statement, 0) != SQLITE_TEXT) {
    row.fault = "the namespace is not text";
  } else if (sqlite3_column_type(statement, 5) != SQLITE_INTEGER ||
             (row.updated_unix_s = sqlite3_column_int64(statement, 5)) < 0) {
    row.fault = "the time is not a whole number of seconds since 1970";
  } else if (is_binary_namespace(row.ns)) {
    if (sqlite3_column_type(statement, 3) != SQLITE_BLOB) {
      row.fault = "the binary is missing";
    } else if (row.value = bytes_of(statement, 3); digest(row.value) != bytes_of(statement, 4)) {
      row.fault = "the binary does not match its digest";
    }
  } else if (sqlite3_column_type(statement, 2) != SQLITE_TEXT) {
    row.fault = "the value is not text";
  } else if (row.value = bytes_of(statement, 2); !is_json(row.value)) {
    row.fault = "the value is not JSON";
  }
  if (!row.fault.empty()) row.value.clear();
  return row;
}

}  // namespace

// One use of a prepared statement: what was bound stays valid until it ends, and it ends reset, so
// that no lock and no snapshot outlives the call.
class Database::Run {
 public:
  explicit Run(sqlite3_stmt* statement) : statement_(statement) {}
  ~Run() {
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  Run& name(int at, std::string_view bytes) {
    return is_text(bytes) ? text(at, bytes) : blob(at, bytes);
  }
  Run& text(int at, std::string_view bytes) {
    sqlite3_bind_text64(statement_, at, data_of(bytes), bytes.size(), SQLITE_STATIC, SQLITE_UTF8);
    return *this;
  }
  Run& blob(int at, std::string_view bytes) {
    sqlite3_bind_blob64(statement_, at, data_of(bytes), bytes.size(), SQLITE_STATIC);
    return *this;
  }
  Run& number(int at, std::int64_t value) {
    sqlite3_bind_int64(statement_, at, value);
    return *this;
  }
  Run& covered_by(std::string_view prefix) {
    while (prefix.ends_with('/')) prefix.remove_suffix(1);
    text(1, prefix);
    if (prefix.empty()) return text(2, "").blob(3, "\xff\xff");  // bytes sort after all text
    from_.append(prefix).append("/");
    to_.append(prefix).append("0");  // '0' is the byte after '/'
    return text(2, from_).text(3, to_);
  }
  int step() { return sqlite3_step(statement_); }

 private:
  // A null pointer would bind NULL in place of an empty value.
  static const char* data_of(std::string_view bytes) { return bytes.empty() ? "" : bytes.data(); }

  sqlite3_stmt* statement_;
  std::string from_, to_;
};

Outcome<std::unique_ptr<Database>> Database::open(const std::filesystem::path& file, Access access,
                                                  Journal journal, const std::string& vfs) {
  auto database = std::unique_ptr<Database>(new Database);
  const bool writes = access == Access::create || access == Access::existing;
  int flags = SQLITE_OPEN_NOMUTEX | (writes ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY);
  if (access == Access::create) flags |= SQLITE_OPEN_CREATE;
  std::string name = file.native();
  const char* layer = vfs.empty() ? nullptr : vfs.c_str();
  bool alone = false;
  if (!writes) {
    flags |= SQLITE_OPEN_URI;
    std::error_code error;
    const auto log_size = std::filesystem::file_size(file.native() + "-wal", error);
    // Without locks and alone, SQLite keeps the index of the log in its own memory, so that even a
    // log left behind in a folder that cannot be written is read. Without a log the file is all.
    alone = access == Access::snapshot && !error && log_size > 0;
    if (alone) layer = "unix-none";
    name = file_uri(file, access == Access::snapshot && !alone ? "immutable=1" : "mode=ro");
  }
  const int code = sqlite3_open_v2(name.c_str(), &database->handle_, flags, layer);
  if (!database->handle_) return std::unexpected(Faulted{Fault::unusable, "out of memory"});
  sqlite3_extended_result_codes(database->handle_, 1);
  if (code != SQLITE_OK) {
    Faulted fault = database->faulted(code);
    // It is the file itself that cannot be opened, not yet what SQLite puts beside it.
    const bool gone = sqlite3_system_errno(database->handle_) == ENOENT;
    fault.fault = gone && access != Access::create ? Fault::moved : Fault::unusable;
    return std::unexpected(std::move(fault));
  }

  // The file may come from anywhere: nothing stored in it may act on its own.
  sqlite3_limit(database->handle_, SQLITE_LIMIT_LENGTH, 2 * int(kLargestValue));
  sqlite3_db_config(database->handle_, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(database->handle_, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_db_config(database->handle_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(database->handle_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  auto done = database->execute("PRAGMA cell_size_check = ON");
  if (done && alone) done = database->execute("PRAGMA locking_mode = EXCLUSIVE");
  bool empty = false;
  if (done) done = database->identify_at_once(empty);
  if (!done && done.error().fault == Fault::no_log && writes && journal == Journal::rollback) {
    // A file that was left with a log can be converted without shared memory, but only alone.
    alone = true;
    done = database->execute("PRAGMA locking_mode = EXCLUSIVE");
    if (done) done = database->identify_at_once(empty);
  }
  if (done && !writes && empty) {
    return std::unexpected(Faulted{Fault::unusable, "the file is empty and cannot be written"});
  }
  if (done && writes) {
    database->writable_ = true;
    done = database->choose_journal(journal);
    if (done && alone) done = database->share();
    if (done && empty) done = database->create_table();
  }
  if (done) done = database->verify_table();
  if (!done) return std::unexpected(done.error());
  return database;
}

Database::~Database() {
  for (sqlite3_stmt* statement : statements_) sqlite3_finalize(statement);
  sqlite3_close(handle_);
}

bool Database::moved() const {
  int moved = 0;
  const int code = sqlite3_file_control(handle_, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  return code == SQLITE_OK && moved != 0;
}

void Database::keep_log_at_close() {
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
}

Outcome<void> Database::identify(bool& empty) {
  const auto application = number("PRAGMA application_id");
  if (!application) return std::unexpected(application.error());
  const auto version = number("PRAGMA user_version");
  if (!version) return std::unexpected(version.error());
  empty = false;
  if (*application == 0 && *version == 0) {
    const auto objects = number("SELECT count(*) FROM sqlite_master");
    if (!objects) return std::unexpected(objects.error());
    if (*objects == 0) {
      empty = true;
      return {};
    }
  }
  if (*application != kApplicationId) {
    return std::unexpected(Faulted{
        Fault::foreign, fmt::format("it belongs to another program (application id {}, schema {})",
                                    *application, *version)});
  }
  if (*version > kSchemaVersion) {
    return std::unexpected(Faulted{
        Fault::newer, fmt::format("its schema {} is newer than {}, which this version knows",
                                  *version, kSchemaVersion)});
  }
  if (*version != kSchemaVersion) {
    return std::unexpected(
        Faulted{Fault::damaged, fmt::format("its schema number {} never existed", *version)});
  }
  return {};
}

// From one snapshot: another process may be making the table between two reads.
Outcome<void> Database::identify_at_once(bool& empty) {
  auto done = execute("BEGIN");
  if (!done) return done;
  done = identify(empty);
  const auto ended = execute("ROLLBACK");
  return done ? ended : done;
}

Outcome<void> Database::create_table() {
  return transact(true, [&]() -> Outcome<void> {
    bool empty = false;
    auto done = identify(empty);  // another process may have been first
    if (!done || !empty) return done;
    done = execute(kCreateTable);
    if (done) done = execute(fmt::format("PRAGMA application_id = {}", kApplicationId).c_str());
    if (done) done = execute(fmt::format("PRAGMA user_version = {}", kSchemaVersion).c_str());
    return done;
  });
}

Outcome<void> Database::choose_journal(Journal journal) {
  journal_ = journal;
  if (journal == Journal::write_ahead) {
    const auto mode = text("PRAGMA journal_mode = WAL");
    if (!mode) return std::unexpected(mode.error());
    if (*mode != "wal") {
      return std::unexpected(Faulted{Fault::no_log, "there is no write-ahead log here"});
    }
  } else {
    const auto mode = text("PRAGMA journal_mode = DELETE");
    if (!mode) return std::unexpected(mode.error());
    if (*mode != "delete") {
      return std::unexpected(Faulted{Fault::unusable, "no kind of journal works here"});
    }
  }
  durable_ = false;
  return set_durable(true);
}

Outcome<void> Database::share() {
  auto done = execute("PRAGMA locking_mode = NORMAL");
  if (!done) return done;
  // The lock is only given back by the next read.
  if (const auto read = number("PRAGMA user_version"); !read) return std::unexpected(read.error());
  return {};
}

Outcome<void> Database::set_durable(bool durable) {
  // Only the log survives the end of the process intact without a flush at every commit.
  durable = durable || journal_ == Journal::rollback;
  if (durable == durable_) return {};
  const char* full = journal_ == Journal::rollback
                         ? "PRAGMA synchronous = EXTRA"  // also the journal's removal is on disk
                         : "PRAGMA synchronous = FULL";
  auto done = execute(durable ? full : "PRAGMA synchronous = NORMAL");
  if (done) durable_ = durable;
  return done;
}

Outcome<void> Database::verify_table() {
  // These fail unless the columns are there and (ns, key) is unique.
  for (const Text which : {kGet, kPut}) {
    if (which == kPut && !writable_) continue;
    if (const auto statement = prepared(which); !statement) {
      return std::unexpected(statement.error());
    }
  }
  return {};
}

Outcome<std::optional<std::string>> Database::get(std::string_view ns, std::string_view key) {
  const auto statement = prepared(kGet);
  if (!statement) return std::unexpected(statement.error());
  Run run(*statement);
  const int code = run.name(1, ns).name(2, key).step();
  if (code == SQLITE_DONE) return std::nullopt;
  if (code != SQLITE_ROW) return std::unexpected(faulted(code));
  Row row = row_of(*statement);
  if (!row.fault.empty()) return std::nullopt;
  return std::move(row.value);
}

Outcome<void> Database::scan(std::string_view prefix, FunctionRef<void(Row)> visit) {
  const auto statement = prepared(kScan);
  if (!statement) return std::unexpected(statement.error());
  Run run(*statement);
  run.covered_by(prefix);
  int code;
  while ((code = run.step()) == SQLITE_ROW) visit(row_of(*statement));
  if (code != SQLITE_DONE) return std::unexpected(faulted(code));
  return {};
}

Outcome<void> Database::transact(bool durable, FunctionRef<Outcome<void>()> work) {
  auto done = set_durable(durable);
  if (done) done = execute("BEGIN IMMEDIATE");
  if (!done) return done;
  // Also when `work` throws, the transaction must not stay open.
  struct Rollback {
    Database& database;
    ~Rollback() {
      if (!sqlite3_get_autocommit(database.handle_)) {
        static_cast<void>(database.execute("ROLLBACK"));
      }
    }
  } rollback{*this};
  done = work();
  if (done) done = execute("COMMIT");
  return done;
}

Outcome<void> Database::put(std::string_view ns, std::string_view key, std::string_view value,
                            std::int64_t updated_unix_s) {
  const auto statement = prepared(kPut);
  if (!statement) return std::unexpected(statement.error());
  const std::string hash = is_binary_namespace(ns) ? digest(value) : "";
  Run run(*statement);
  run.name(1, ns).name(2, key).number(6, updated_unix_s);
  if (is_binary_namespace(ns)) {
    run.blob(4, value).text(5, hash);
  } else {
    run.text(3, value);
  }
  const int code = run.step();
  if (code != SQLITE_DONE) return std::unexpected(faulted(code));
  return {};
}

Outcome<void> Database::erase(std::string_view ns, std::string_view key) {
  const auto statement = prepared(kErase);
  if (!statement) return std::unexpected(statement.error());
  const int code = Run(*statement).name(1, ns).name(2, key).step();
  if (code != SQLITE_DONE) return std::unexpected(faulted(code));
  return {};
}

Outcome<void> Database::clear(std::string_view prefix) {
  // Everything goes without a look at rows: also those that no search would find.
  const bool all = covers(prefix, "");
  const auto statement = prepared(all ? kClearAll : kClear);
  if (!statement) return std::unexpected(statement.error());
  Run run(*statement);
  if (!all) run.covered_by(prefix);
  const int code = run.step();
  if (code != SQLITE_DONE) return std::unexpected(faulted(code));
  return {};
}

Outcome<void> Database::append(std::string_view ns, std::string_view value,
                               std::int64_t updated_unix_s, std::int64_t keep) {
  const auto last = prepared(kLastNumber);
  if (!last) return std::unexpected(last.error());
  std::int64_t number = 1;
  {
    Run run(*last);
    const int code = run.name(1, ns).step();
    if (code != SQLITE_ROW && code != SQLITE_DONE) return std::unexpected(faulted(code));
    if (code == SQLITE_ROW) number = record_number(bytes_of(*last, 0)) + 1;
  }
  auto done = put(ns, record_key(number), value, updated_unix_s);
  if (!done || number <= keep) return done;
  const auto drop = prepared(kDropOld);
  if (!drop) return std::unexpected(drop.error());
  const int code = Run(*drop).name(1, ns).name(2, record_key(number - keep)).step();
  if (code != SQLITE_DONE) return std::unexpected(faulted(code));
  return {};
}

Outcome<std::vector<std::string>> Database::integrity() {
  std::vector<std::string> problems;
  sqlite3_stmt* statement = nullptr;
  int code = sqlite3_prepare_v2(handle_, "PRAGMA integrity_check(20)", -1, &statement, nullptr);
  while (code == SQLITE_OK || code == SQLITE_ROW) {
    code = sqlite3_step(statement);
    if (code == SQLITE_ROW) problems.push_back(bytes_of(statement, 0));
  }
  auto result = code == SQLITE_DONE ? Outcome<void>{} : std::unexpected(faulted(code));
  sqlite3_finalize(statement);
  if (!result) return std::unexpected(result.error());
  if (problems.size() == 1 && problems[0] == "ok") problems.clear();
  return problems;
}

Outcome<void> Database::execute(const char* sql) {
  const int code = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return std::unexpected(faulted(code));
  return {};
}

Outcome<std::string> Database::text(const char* sql) {
  sqlite3_stmt* statement = nullptr;
  int code = sqlite3_prepare_v2(handle_, sql, -1, &statement, nullptr);
  if (code == SQLITE_OK) code = sqlite3_step(statement);
  Outcome<std::string> result = code == SQLITE_ROW ? Outcome<std::string>(bytes_of(statement, 0))
                                                   : std::unexpected(faulted(code));
  sqlite3_finalize(statement);
  return result;
}

Outcome<std::int64_t> Database::number(const char* sql) {
  const auto digits = text(sql);
  if (!digits) return std::unexpected(digits.error());
  std::int64_t value = 0;
  std::from_chars(digits->data(), digits->data() + digits->size(), value);
  return value;
}

Outcome<sqlite3_stmt*> Database::prepared(Text which) {
  sqlite3_stmt*& statement = statements_[which];
  if (!statement) {
    const int code = sqlite3_prepare_v3(handle_, rooftune::kTexts[which], -1,
                                        SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
    if (code != SQLITE_OK) return std::unexpected(faulted(code));
  }
  return statement;
}

Faulted Database::faulted(int code) const {
  return {classify(code), fmt::format("{} (SQLite code {})", sqlite3_errmsg(handle_), code)};
}

bool is_json(std::string_view text) {
  // The parser takes a zero byte for the end of its input.
  return text.find('\0') == std::string_view::npos && nlohmann::json::accept(text);
}

std::string record_key(std::int64_t number) { return fmt::format("{:012}", number); }

std::int64_t record_number(std::string_view key) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), number);
  const bool whole = error == std::errc() && end == key.data() + key.size();
  return whole && number > 0 && number < 999'999'999'999 ? number : 0;
}

}  // namespace rooftune
