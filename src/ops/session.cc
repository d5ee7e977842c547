#include "rooftune/session.h"

#include <pwd.h>
#include <unistd.h>

#include <charconv>
#include <system_error>
#include <utility>
#include <vector>

#include "base/text.h"
#include "device/cpu/client.h"
#include "device/cuda/client.h"
#include "device/fake/fake_client.h"
#include "ops/matmul/fake_work.h"
#include "ops/matmul/matmul_set.h"
#include "ops/matmul/parts.h"
#include "ops/reduce/sum_set.h"
#include "ops/session_operations.h"
#include "rooftune/rooftune.h"
#include "store/location.h"

namespace rooftune {
namespace {

// 3 for "cuda:3"; nothing for other devices.
std::optional<int> cuda_index(std::string_view device) {
  constexpr std::string_view kPrefix = "cuda:";
  int index = 0;
  if (!device.starts_with(kPrefix)) return std::nullopt;
  device.remove_prefix(kPrefix.size());
  const auto [end, error] = std::from_chars(device.data(), device.data() + device.size(), index);
  if (error != std::errc() || end != device.data() + device.size() || index < 0) {
    return std::nullopt;
  }
  return index;
}

std::unexpected<Error> not_available(const std::string& device, const std::string& reason) {
  std::string text = "device '" + device + "' is not available: " + reason + "; there are:";
  for (const DeviceStatus& each : list_devices()) {
    if (each.available && each.name != device) text += " " + each.name;
  }
  return fail(ErrorKind::unsupported, std::move(text));
}

Result<std::shared_ptr<Client>> open_device(const Settings& settings) {
  if (settings.device == "cpu") {
    CpuOptions options;
    if (settings.threads) options.threads = *settings.threads;
    if (settings.isa) {
      options.isa = parse_isa(*settings.isa);
      if (!options.isa) {
        return fail(ErrorKind::settings,
                    "isa = \"" + *settings.isa + "\": allowed are " + list_in_quotes(kIsaNames));
      }
    }
    auto client = CpuClient::make(options);
    if (!client) return std::unexpected(client.error());
    return *std::move(client);
  }
  if (const auto index = cuda_index(settings.device)) {
    auto client = CudaClient::make(*index);
    if (client) return *std::move(client);
    return not_available(settings.device, client.error().text);
  }
  if (settings.device == "fake") {
    return std::make_shared<FakeClient>(demo_script(fake_matmul_work));
  }
  std::string reason = "no such device";
  for (const DeviceStatus& device : list_devices()) {
    if (device.name == settings.device) reason = device.reason;
  }
  return not_available(settings.device, reason);
}

// The home folder as the password database has it: the environment is not the library's to read.
std::filesystem::path user_cache_folder() {
  std::vector<char> buffer(16384);
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(getuid(), &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr ||
      found->pw_dir == nullptr || found->pw_dir[0] != '/') {
    return {};
  }
  return std::filesystem::path(found->pw_dir) / ".cache";
}

}  // namespace

std::vector<DeviceStatus> list_devices() {
  std::vector<DeviceStatus> all = {{"cpu", true, ""}, {"fake", true, ""}};
  if (const auto devices = CudaClient::list()) {
    for (std::size_t i = 0; i < devices->size(); ++i) {
      const std::string& refusal = (*devices)[i].refusal;
      all.push_back({"cuda:" + std::to_string(i), refusal.empty(), refusal});
    }
  } else {
    all.push_back({"cuda:0", false, devices.error().text});
  }
  all.push_back({"vulkan:0", false, "this build has no Vulkan device"});
  return all;
}

Session::Session(std::shared_ptr<Client> client, Settings settings, Folders folders, Warn warn)
    : TuneContext(std::move(client), std::move(settings), std::move(folders), std::move(warn)),
      operations_(std::make_unique<Operations>()) {
  const auto make = [this]<class K, class Args>(const char* name, const auto& describe) {
    return static_cast<Tuner<K, Args>*>(&tuner(name, [&]() -> std::unique_ptr<TunerBase> {
      return std::make_unique<Tuner<K, Args>>(*this, name, describe);
    }));
  };
  operations_->matmul =
      make.operator()<MatmulKey, GemmArgs>("matmul", [this](TunableSet<MatmulKey, GemmArgs>& set) {
        describe_matmul(set);
        add_vendor_candidates(set, this->settings());
        add_matmul_parts(set, this->settings().autotune.level);
      });
  operations_->panel_formats = panel_formats(this->client());
  operations_->sum = make.operator()<SumKey, SumArgs>("sum", &describe_sum);
}

Session::~Session() = default;

Result<std::unique_ptr<Session>> Session::open(const SessionOptions& options) {
  Folders folders = options.folders;
  if (folders.current.empty()) {
    std::error_code error;
    folders.current = std::filesystem::current_path(error);
    if (error) folders.current = "/";
  }
  if (folders.user_cache.empty()) folders.user_cache = user_cache_folder();
  Settings settings;
  if (options.settings) {
    settings = *options.settings;
  } else {
    auto found = find_settings(folders.current);
    if (!found) return std::unexpected(found.error());
    settings = *std::move(found);
  }
  if (!options.device.empty()) settings.device = options.device;
  if (!options.environment.empty()) settings.environment = options.environment;
  if (Status valid = validate(settings); !valid) return std::unexpected(valid.error());
  auto client = open_device(settings);
  if (!client) return std::unexpected(client.error());
  const auto place = resolve_environment(settings.environment, folders.current, folders.user_cache);
  if (!place && place.error().kind == ErrorKind::invalid_argument) {
    return std::unexpected(place.error());
  }
  return std::unique_ptr<Session>(
      new Session(*std::move(client), std::move(settings), std::move(folders), options.warn));
}

Session& default_session() {
  // A failed opening throws out of the initialisation and is tried again by the next call.
  static const std::unique_ptr<Session> session = [] {
    auto opened = Session::open();
    if (!opened) throw Exception(opened.error());
    return *std::move(opened);
  }();
  return *session;
}

void matmul(const ConstView& lhs, const ConstView& rhs, const View& out,
            const MatmulOptions& options) {
  if (Status done = default_session().matmul(lhs, rhs, out, options); !done) {
    throw Exception(std::move(done.error()));
  }
}

void sum(const ConstView& in, const View& out, std::span<const int> axes,
         const SumOptions& options) {
  if (Status done = default_session().sum(in, out, axes, options); !done) {
    throw Exception(std::move(done.error()));
  }
}

}  // namespace rooftune
