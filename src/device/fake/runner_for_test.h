// Short ways to make and run kernels of a fake device, for its tests.
#ifndef ROOFTUNE_DEVICE_FAKE_RUNNER_FOR_TEST_H_
#define ROOFTUNE_DEVICE_FAKE_RUNNER_FOR_TEST_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "device/fake/fake_client.h"

namespace rooftune {

inline KernelSource source_of(std::string name, FakeKernelFn entry = nullptr) {
  KernelSource source;
  source.id = {.name = std::move(name), .source_hash = "1", .parameters = "f32"};
  source.entry = reinterpret_cast<void (*)()>(entry);
  return source;
}

inline FakeScript script_of(std::string kernel, FakeBehaviour behaviour) {
  FakeScript script;
  script.kernels[std::move(kernel)] = std::move(behaviour);
  return script;
}

// A kernel of the device, ready to be launched.
struct Runner {
  Runner(FakeClient& on, std::string name, FakeKernelFn entry = nullptr)
      : client(on), kernel(client.compile(source_of(std::move(name), entry)).value()) {
    launch.kernel = kernel.get();
  }
  Status operator()(Stream stream = {}) { return client.launch(stream, launch); }
  Result<double> profile(int repeats = 1, Stream stream = {}) {
    return client.profile(
        stream, [&] { return client.launch(stream, launch); }, repeats);
  }
  FakeClient& client;
  std::shared_ptr<const Kernel> kernel;
  Launch launch;
};

// The kind of the error; nothing for a success.
std::optional<ErrorKind> kind_of(const auto& result) {
  return result ? std::nullopt : std::optional(result.error().kind);
}

}  // namespace rooftune

#endif  // ROOFTUNE_DEVICE_FAKE_RUNNER_FOR_TEST_H_
