// From options, environment variables and settings file to an open session.
#ifndef ROOFTUNE_CLI_OPENED_H_
#define ROOFTUNE_CLI_OPENED_H_

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "rooftune/events.h"
#include "rooftune/session.h"
#include "rooftune/settings.h"

namespace rooftune::cli {

// What counts most comes first: options, environment variables, settings file, defaults.
Outcome<Settings> settings_for(const CommonOptions& common);

// Commands that neither need nor leave anything in a database leave the disk alone.
enum class Disk { used, untouched };

// Warnings of a session, which come on whatever thread meets them.
class Warnings {
 public:
  void add(const std::string& text) {
    const std::lock_guard lock(mutex_);
    all_.push_back(text);
  }
  std::vector<std::string> all() const {
    const std::lock_guard lock(mutex_);
    return all_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> all_;
};

// A session, and the trace of what it did when one was asked for.
class Opened {
 public:
  Opened(std::unique_ptr<Session> session, std::optional<std::filesystem::path> trace_file,
         std::shared_ptr<Warnings> warnings);
  ~Opened();  // writes the trace
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  Session& session() { return *session_; }
  // What the session has warned of so far; each was printed when it came.
  std::vector<std::string> warnings() const { return warnings_->all(); }
  // Tells `subscriber` of everything, besides the trace; null: only the trace.
  void observe(Subscriber* subscriber);

 private:
  std::unique_ptr<Session> session_;
  const std::optional<std::filesystem::path> trace_file_;
  const std::shared_ptr<Warnings> warnings_;
  Trace trace_;
  std::optional<Fanout> both_;
};

Outcome<std::unique_ptr<Opened>> open_session(const CommonOptions& common, Disk disk);
// The same with settings that are already there.
Outcome<std::unique_ptr<Opened>> open_session(const CommonOptions& common, Settings settings);

}  // namespace rooftune::cli

#endif  // ROOFTUNE_CLI_OPENED_H_
