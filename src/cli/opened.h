// From options, environment variables and settings file to an open session.
#ifndef ROOFTUNE_CLI_OPENED_H_
#define ROOFTUNE_CLI_OPENED_H_

#include <filesystem>
#include <memory>
#include <optional>

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

// A session, and the trace of what it did when one was asked for.
class Opened {
 public:
  Opened(std::unique_ptr<Session> session, std::optional<std::filesystem::path> trace_file);
  ~Opened();  // writes the trace
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  Session& session() { return *session_; }
  // Tells `subscriber` of everything, besides the trace; null: only the trace.
  void observe(Subscriber* subscriber);

 private:
  std::unique_ptr<Session> session_;
  const std::optional<std::filesystem::path> trace_file_;
  Trace trace_;
  std::optional<Fanout> both_;
};

Outcome<std::unique_ptr<Opened>> open_session(const CommonOptions& common, Disk disk);
// The same with settings that are already there.
Outcome<std::unique_ptr<Opened>> open_session(const CommonOptions& common, Settings settings);

}  // namespace rooftune::cli

#endif  // ROOFTUNE_CLI_OPENED_H_
