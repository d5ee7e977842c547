#include "store/environment.h"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <mutex>
#include <set>
#include <utility>

#include "fmt/format.h"
#include "store/backoff.h"
#include "store/database.h"
#include "store/files.h"
#include "store/fork_guard.h"
#include "store/opener.h"
#include "store/overlay.h"

namespace rooftune {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t kLongestNamespace = 4096;
constexpr std::size_t kLongestKey = std::size_t(1) << 20;

// How often one call starts over because the file under its name became another one.
constexpr int kMostRestarts = 8;
// After a lock outlasted a whole busy_timeout, writes wait this part of it until one succeeds;
// reads do not wait, and try to open a file that is not open once in kLockedPause.
constexpr int kLockedShare = 50;
constexpr milliseconds kLockedPause{1000};

std::int64_t unix_now_s() { return std::max<std::int64_t>(0, std::time(nullptr)); }

Status check_names(std::string_view ns, std::string_view key) {
  const bool printable = std::ranges::all_of(ns, [](char c) { return c >= 0x20 && c < 0x7f; });
  if (ns.empty() || ns.size() > kLongestNamespace || !printable) {
    return fail(
        ErrorKind::invalid_argument,
        fmt::format("A namespace is printable ASCII text of 1 to {} bytes; this one has {}.",
                    kLongestNamespace, ns.size()));
  }
  if (key.size() > kLongestKey) {
    return fail(ErrorKind::invalid_argument,
                fmt::format("A key has at most {} bytes, this one {}.", kLongestKey, key.size()));
  }
  return {};
}

Status check_value(std::string_view ns, std::string_view value) {
  if (value.size() > kLargestValue) {
    return fail(ErrorKind::invalid_argument,
                fmt::format("A value has at most {} bytes, this one for {} has {}.", kLargestValue,
                            ns, value.size()));
  }
  if (!is_binary_namespace(ns) && !is_json(value)) {
    return fail(ErrorKind::invalid_argument,
                fmt::format("The value of {} bytes for {} is not JSON.", value.size(), ns));
  }
  return {};
}

enum class Need { read, write };

}  // namespace

std::string_view to_string(EnvironmentMode mode) {
  switch (mode) {
    case EnvironmentMode::read_write:
      return "read_write";
    case EnvironmentMode::read_only:
      return "read_only";
    case EnvironmentMode::memory:
      return "memory";
  }
  return "unknown";
}

class Environment::Core : public ForkGuard {
 public:
  explicit Core(EnvironmentOptions options)
      : options_(std::move(options)),
        opener_(options_.path, options_.vfs, options_.busy_timeout,
                [this](std::string_view kind, const std::string& text) { warn(kind, text); }) {
    enroll();
    if (!options_.use_disk || options_.path.empty()) {
      settled_ = true;
      state_.why = options_.use_disk ? "no file is named" : "disk use is switched off";
      return;
    }
    Turn turn(*this);
    Backoff backoff(options_.busy_timeout);
    attach(turn, backoff);
  }

  ~Core() override {
    leave();
    Turn turn(*this);
    if (!overlay_.empty() && state_.mode != EnvironmentMode::read_only) flush(turn);
    if (!database_) return;
    const FolderLock lock(opener_.path().parent_path(), FolderLock::shared, patience());
    database_.reset();
  }

  void before_fork() override {
    mutex_.lock();
    if (database_) detach();
  }
  void after_fork(ForkSide side) override {
    // What waits for the file is the parent's to write. Written by the child as well, later, it
    // would replace what the parent has put in the meantime.
    const bool waits = !settled_ && state_.mode != EnvironmentMode::read_only;
    if (side == ForkSide::child && waits) overlay_.clear();
    mutex_.unlock();
  }

  std::optional<std::string> get(std::string_view ns, std::string_view key) {
    Turn turn(*this);
    return visible(turn, ns, key);
  }

  void put(std::string_view ns, std::string_view key, std::optional<std::string> value) {
    Turn turn(*this);
    overlay_.set(ns, key, std::move(value), unix_now_s());
    flush(turn);
  }

  Status merge(std::string_view ns, std::string_view key,
               FunctionRef<std::string(std::optional<std::string>)> merged) {
    Turn turn(*this);
    Status valid;
    std::string value;
    const bool done = run(turn, Need::write, [&](Database& database) {
      return database.transact(true, [&]() -> Outcome<void> {
        auto written = write_overlay(database);
        if (!written) return written;
        auto current = database.get(ns, key);
        if (!current) return std::unexpected(current.error());
        value = merged(*std::move(current));
        valid = check_value(ns, value);
        if (!valid) return {};
        return database.put(ns, key, value, unix_now_s());
      });
    });
    if (done) {
      overlay_.clear();
      return valid;
    }
    value = merged(visible(turn, ns, key));
    valid = check_value(ns, value);
    if (valid) overlay_.set(ns, key, std::move(value), unix_now_s());
    return valid;
  }

  Status clear(std::string_view prefix) {
    Turn turn(*this);
    const bool done = run(turn, Need::write, [&](Database& database) {
      return database.transact(true, [&]() -> Outcome<void> {
        auto written = write_overlay(database);
        return written ? database.clear(prefix) : written;
      });
    });
    if (done) {
      overlay_.clear();
    } else if (settled_) {
      overlay_.clear(prefix);
    } else {
      return fail(ErrorKind::store,
                  fmt::format("Nothing was removed from {}, which cannot be written: {}.",
                              opener_.path().native(), trouble_));
    }
    return {};
  }

  std::vector<Entry> list(std::string_view prefix) {
    Turn turn(*this);
    std::vector<Entry> entries;
    const bool done = run(turn, Need::read, [&](Database& database) {
      entries.clear();
      return database.scan(prefix, [&](Row row) {
        if (!row.fault.empty()) return;
        entries.push_back(
            {std::move(row.ns), std::move(row.key), std::move(row.value), row.updated_unix_s});
      });
    });
    if (!done) entries.clear();
    return overlay_.over(std::move(entries), prefix);
  }

  void append(const std::string& ns, std::string_view json) {
    Turn turn(*this);
    overlay_.append(ns, std::string(json), unix_now_s());
    flush(turn);
  }

  std::vector<std::string> check() {
    Turn turn(*this);
    std::vector<std::string> problems;
    const bool done = run(turn, Need::read, [&](Database& database) -> Outcome<void> {
      problems.clear();
      auto found = database.integrity();
      Outcome<void> scanned;
      if (found) {
        problems = *std::move(found);
        scanned = database.scan("", [&](Row row) {
          if (row.fault.empty() && !split_namespace(row.ns)) row.fault = "the namespace is unknown";
          if (row.fault.empty()) return;
          problems.push_back(fmt::format("{} / {}: {}", row.ns, row.key, row.fault));
        });
      } else {
        scanned = std::unexpected(found.error());
      }
      // A damage is what is asked for here: it is reported and not repaired.
      if (!scanned && scanned.error().fault == Fault::damaged) {
        problems.push_back(scanned.error().text);
        return {};
      }
      return scanned;
    });
    if (state_.mode != EnvironmentMode::read_write) {
      problems.push_back(fmt::format("mode {}: {}", to_string(state_.mode), state_.why));
    }
    if (!done && state_.mode == EnvironmentMode::read_write) {
      problems.push_back("the file cannot be read now: " + trouble_);
    }
    if (!overlay_.empty() && state_.mode == EnvironmentMode::read_write) {
      problems.push_back(fmt::format("{} entries wait in memory: {}", overlay_.size(), trouble_));
    }
    return problems;
  }

  EnvironmentState state() const {
    const std::lock_guard lock(mutex_);
    EnvironmentState state = state_;
    state.path = opener_.path();
    state.waiting = overlay_.size();
    return state;
  }

 private:
  // One call's hold of the environment. Warnings that arise go out after the lock is given back.
  class Turn {
   public:
    explicit Turn(Core& core) : lock(core.mutex_), core_(core) {
      // fork() closes the file first. A child that was made in another way (clone) has the parent's
      // connection, and SQLite's record of the parent's locks with it: the file is lost to it.
      if (core.database_ && core.pid_ != getpid()) {
        static_cast<void>(core.database_.release());
        core.settle("this process is a copy of one that had the file open");
      }
    }
    ~Turn() {
      const std::vector<std::string> warnings = std::exchange(core_.warnings_, {});
      lock.unlock();
      if (!core_.options_.warn) return;
      for (const std::string& warning : warnings) {
        try {
          core_.options_.warn(warning);
        } catch (...) {  // the caller's answer does not depend on who listens to warnings
        }
      }
    }
    std::unique_lock<std::mutex> lock;

   private:
    Core& core_;
  };

  // Trouble that is the same at every call is told once; a damage is a new event each time.
  void warn(std::string_view kind, const std::string& text) {
    if (kind != "damaged" && !warned_.emplace(kind).second) return;
    warnings_.push_back(fmt::format("environment {}: {}", opener_.path().native(), text));
  }

  // Memory only, for the rest of this process.
  void settle(std::string why) {
    if (database_) detach();
    settled_ = true;
    state_.mode = EnvironmentMode::memory;
    state_.schema_version = 0;
    state_.write_ahead_log = false;
    state_.why = std::move(why);
    trouble_ = state_.why;
    warn("settled", state_.why + "; nothing is remembered beyond this process");
  }

  void detach() {
    database_->keep_log_at_close();
    database_.reset();
  }

  milliseconds patience() const {
    return locked_out_ ? options_.busy_timeout / kLockedShare : options_.busy_timeout;
  }

  void lock_out(const std::string& text) {
    locked_out_ = true;
    next_look_ = Clock::now() + kLockedPause;
    trouble_ = text;
    if (!database_) {
      state_.mode = EnvironmentMode::memory;
      state_.why = "locked by another process: " + text;
    }
    warn("locked", fmt::format("locked by another process for {} ms: {}; values wait in memory "
                               "for the next write",
                               options_.busy_timeout.count(), text));
  }

  // True when a file is open. False: settled, or locked out for now.
  bool attach(Turn& turn, Backoff& backoff) {
    for (int starts = 0; starts < kMostRestarts && !database_ && !settled_;) {
      stamp_ = stamp_of(opener_.path());
      auto opened = opener_.open();
      if (opened) {
        database_ = std::move(opened->database);
        pid_ = getpid();
        state_.mode =
            database_->writable() ? EnvironmentMode::read_write : EnvironmentMode::read_only;
        state_.schema_version = kSchemaVersion;
        state_.write_ahead_log = database_->journal() == Journal::write_ahead;
        state_.why = std::move(opened->why);
        trouble_ = state_.why;
        break;
      }
      const Faulted& fault = opened.error();
      if (fault.fault == Fault::busy) {
        if (backoff.pause(turn.lock)) continue;
        lock_out(fault.text);
        return false;
      }
      ++starts;
      if (fault.fault != Fault::moved) settle(fault.text);
    }
    if (!database_ && !settled_) settle("the file is replaced again and again");
    return database_ != nullptr;
  }

  // Fault::moved: another file lies under the name, or the file is not as it was when it was read.
  Outcome<void> attempt(bool fresh, FunctionRef<Outcome<void>(Database&)> work) {
    const FolderLock lock(opener_.path().parent_path(), FolderLock::shared, patience());
    const std::unexpected<Faulted> moved(Faulted{Fault::moved, "it was moved or changed"});
    const bool writable = database_->writable();
    // A connection that only reads does not notice what happens to the file.
    if (!writable && !fresh && stamp_ != stamp_of(opener_.path())) return moved;
    if (writable && database_->moved()) return moved;
    auto done = work(*database_);
    // Moved by somebody who does not know of the lock: what was written is in the wrong file.
    if (done && writable && database_->moved()) return moved;
    return done;
  }

  // Runs `work` on the file, and again when that makes sense after a lock, a repair or a change of
  // file. False when there is no file to work on, or it did not work out (one warning).
  bool run(Turn& turn, Need need, FunctionRef<Outcome<void>(Database&)> work) {
    if (settled_) return false;
    const bool hurried = locked_out_ && need == Need::read;
    if (hurried && !database_ && Clock::now() < next_look_) return false;
    Backoff backoff(hurried ? milliseconds(0) : patience());
    for (int starts = 0; starts < kMostRestarts;) {
      const bool fresh = !database_;
      if (fresh && !attach(turn, backoff)) return false;
      if (need == Need::write && !database_->writable()) return false;
      const bool writable = database_->writable();
      const auto done = attempt(fresh, work);
      if (done) {
        // A read tells nothing: it succeeds beside a writer that never ends.
        if (need == Need::write) locked_out_ = false;
        return true;
      }
      const Faulted& fault = done.error();
      switch (fault.fault) {
        case Fault::busy:
          if (backoff.pause(turn.lock)) continue;
          lock_out(fault.text);
          return false;
        case Fault::damaged:
          if (writable) {
            const auto repaired = opener_.repair(std::move(database_), fault.text);
            if (!repaired) settle(repaired.error().text);
          } else {
            // It may just be written: the stamp says so when it is opened anew.
            detach();
            if (starts > 0) settle(fault.text);
          }
          break;
        case Fault::read_only:
          opener_.only_read();
          detach();
          break;
        case Fault::unusable:
        case Fault::no_log:
          trouble_ = fault.text;
          warn("unusable", fault.text + "; values wait in memory for the next write");
          return false;
        case Fault::moved:
        case Fault::newer:
        case Fault::foreign:
          detach();
          break;
      }
      ++starts;
    }
    settle("the file is replaced again and again");
    return false;
  }

  std::optional<std::string> visible(Turn& turn, std::string_view ns, std::string_view key) {
    if (const Overlay::Value* known = overlay_.find(ns, key)) return known->value;
    std::optional<std::string> stored;
    run(turn, Need::read, [&](Database& database) -> Outcome<void> {
      auto read = database.get(ns, key);
      if (!read) return std::unexpected(read.error());
      stored = *std::move(read);
      return {};
    });
    return stored;
  }

  Outcome<void> write_overlay(Database& database) {
    Outcome<void> done;
    for (const auto& [name, value] : overlay_.values()) {
      done = value.value ? database.put(name.first, name.second, *value.value, value.updated_unix_s)
                         : database.erase(name.first, name.second);
      if (!done) return done;
    }
    for (const Overlay::Record& record : overlay_.records()) {
      done = database.append(record.ns, record.value, record.updated_unix_s, kRecordsKept);
      if (!done) return done;
    }
    return done;
  }

  // Everything that waits goes out in one transaction, in whichever thread comes first: threads
  // that write at once share one flush of the disk.
  void flush(Turn& turn) {
    const bool done = run(turn, Need::write, [&](Database& database) -> Outcome<void> {
      if (overlay_.empty()) return {};
      const bool durable = !overlay_.values().empty();
      return database.transact(durable, [&] { return write_overlay(database); });
    });
    if (done) overlay_.clear();
  }

  const EnvironmentOptions options_;
  mutable std::mutex mutex_;  // all below
  Opener opener_;
  std::unique_ptr<Database> database_;
  pid_t pid_ = getpid();  // that opened database_
  Overlay overlay_;       // with a writable file: what it does not have yet
  EnvironmentState state_;
  FileStamp stamp_;
  std::string trouble_;  // the last reason why writing did not work
  bool settled_ = false;
  bool locked_out_ = false;
  Clock::time_point next_look_;
  std::vector<std::string> warnings_;
  std::set<std::string, std::less<>> warned_;
};

Environment::Environment(EnvironmentOptions options)
    : core_(std::make_unique<Core>(std::move(options))) {}

Environment::~Environment() = default;

Result<std::optional<std::string>> Environment::get(std::string_view ns, std::string_view key) {
  if (auto valid = check_names(ns, key); !valid) return std::unexpected(valid.error());
  return core_->get(ns, key);
}

Status Environment::put(std::string_view ns, std::string_view key, std::string_view value) {
  if (auto valid = check_names(ns, key); !valid) return valid;
  if (auto valid = check_value(ns, value); !valid) return valid;
  core_->put(ns, key, std::string(value));
  return {};
}

Status Environment::erase(std::string_view ns, std::string_view key) {
  if (auto valid = check_names(ns, key); !valid) return valid;
  core_->put(ns, key, std::nullopt);
  return {};
}

Status Environment::merge(std::string_view ns, std::string_view key,
                          FunctionRef<std::string(std::optional<std::string>)> merged) {
  if (auto valid = check_names(ns, key); !valid) return valid;
  return core_->merge(ns, key, merged);
}

Status Environment::clear(std::string_view prefix) {
  if (auto valid = prefix.empty() ? Status() : check_names(prefix, ""); !valid) return valid;
  return core_->clear(prefix);
}

Result<std::vector<Entry>> Environment::list(std::string_view prefix) {
  if (auto valid = prefix.empty() ? Status() : check_names(prefix, ""); !valid) {
    return std::unexpected(valid.error());
  }
  return core_->list(prefix);
}

Status Environment::append_record(RecordKind kind, std::string_view json) {
  const std::string ns = records_namespace(kind);
  if (auto valid = check_value(ns, json); !valid) return valid;
  core_->append(ns, json);
  return {};
}

std::vector<std::string> Environment::check() { return core_->check(); }

EnvironmentState Environment::state() const { return core_->state(); }

}  // namespace rooftune
