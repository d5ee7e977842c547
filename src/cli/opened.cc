#include "cli/opened.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/environment_variables.h"
#include "cli/output.h"
#include "device/cpu/isa.h"
#include "fmt/format.h"

namespace rooftune::cli {
namespace {

Outcome<std::filesystem::path> current_folder() {
  std::error_code error;
  auto folder = std::filesystem::current_path(error);
  if (error) {
    return stop(Exit::failed, "the current folder cannot be found: " + error.message());
  }
  return folder;
}

// Names as the device list has them; "cuda:1" counts as known where "cuda" or "cuda:0" is.
Outcome<void> check_device_name(const std::string& device) {
  const auto kind = [](std::string_view name) { return name.substr(0, name.find(':')); };
  const std::vector<DeviceStatus> devices = list_devices();
  std::vector<std::string_view> names;
  for (const DeviceStatus& status : devices) {
    if (kind(status.name) == kind(device)) return {};
    names.push_back(status.name);
  }
  return stop(Exit::usage,
              fmt::format("unknown device {}; there are {} (see `rooftune devices`){}",
                          in_quotes(device), list_in_quotes(names), did_you_mean(device, names)));
}

}  // namespace

Outcome<Settings> settings_for(const CommonOptions& common) {
  auto current = current_folder();
  if (!current) return std::unexpected(current.error());
  auto read = common.settings ? load_settings(*common.settings) : find_settings(*current);
  if (!read) {
    // Also a file that cannot be read: it was named by the user.
    return stop(common.settings ? Exit::usage : failure_of(read.error()).exit, read.error().text);
  }
  Settings settings = *std::move(read);
  if (common.settings && !settings.found) {
    return stop(Exit::usage, fmt::format("{} has no [rooftune] table; only a file named "
                                         "rooftune.toml is read whole",
                                         *common.settings));
  }
  if (Status applied = apply_environment_variables(settings); !applied) {
    return stop(applied.error());
  }
  if (common.device) settings.device = *common.device;
  if (common.environment) settings.environment = *common.environment;
  if (common.threads) settings.threads = common.threads;
  if (common.isa) settings.isa = *common.isa;
  if (common.level) {
    settings.autotune.level = parse_level(*common.level).value_or(settings.autotune.level);
  }
  if (!common.rivals.empty()) {
    settings.vendor_path = fmt::format("{}", fmt::join(common.rivals, ":"));
  }
  if (const auto folder = virtual_environment_folder(); !folder.empty()) {
    settings.vendor_path += (settings.vendor_path.empty() ? "" : ":") + folder.string();
  }
  if (Status valid = validate(settings); !valid) return stop(valid.error());
  return settings;
}

Opened::Opened(std::unique_ptr<Session> session, std::optional<std::filesystem::path> trace_file,
               std::shared_ptr<Warnings> warnings)
    : session_(std::move(session)),
      trace_file_(std::move(trace_file)),
      warnings_(std::move(warnings)) {
  observe(nullptr);
}

Opened::~Opened() {
  session_->set_subscriber(nullptr);
  if (trace_file_ && !write_file(*trace_file_, trace_.json())) {
    note_lost_output(
        fmt::format("the trace cannot be written to {}", in_quotes(trace_file_->string())));
  }
}

void Opened::observe(Subscriber* subscriber) {
  if (!trace_file_) {
    session_->set_subscriber(subscriber);
  } else if (subscriber == nullptr) {
    session_->set_subscriber(&trace_);
  } else {
    session_->set_subscriber(nullptr);
    both_.emplace(std::vector<Subscriber*>{&trace_, subscriber});
    session_->set_subscriber(&*both_);
  }
}

Outcome<std::unique_ptr<Opened>> open_session(const CommonOptions& common, Disk disk) {
  auto settings = settings_for(common);
  if (!settings) return std::unexpected(settings.error());
  if (disk == Disk::untouched) settings->autotune.cache = false;
  return open_session(common, *std::move(settings));
}

Outcome<std::unique_ptr<Opened>> open_session(const CommonOptions& common, Settings settings) {
  auto current = current_folder();
  if (!current) return std::unexpected(current.error());
  if (auto known = check_device_name(settings.device); !known) {
    return std::unexpected(known.error());
  }
  SessionOptions options;
  options.settings = std::move(settings);
  options.folders = {*current, user_cache_folder()};
  const auto warnings = std::make_shared<Warnings>();
  options.warn = [warnings](const std::string& text) {
    warnings->add(text);
    note(text);
  };
  // Candidates of the group vendor are loaded while a session opens, for the whole process.
  const bool help = options.settings->vendor && detect(read_cpuid()).level >= Isa::avx512;
  if (help) set_variable_for_library("OPENBLAS_CORETYPE", "SkylakeX");
  auto session = Session::open(options);
  if (help) set_variable_for_library("OPENBLAS_CORETYPE", nullptr);
  if (!session) return stop(session.error());
  std::optional<std::filesystem::path> trace_file;
  if (common.trace) trace_file = *common.trace;
  return std::make_unique<Opened>(*std::move(session), std::move(trace_file), warnings);
}

}  // namespace rooftune::cli
