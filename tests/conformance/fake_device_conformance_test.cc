#include <utility>

#include "device/fake/fake_client.h"
#include "device_conformance.h"

namespace rooftune {
namespace {

Status run_fold(const void* args) {
  const auto& [cell, value, rounds] = *static_cast<const FoldArgs*>(args);
  *cell = fold(*cell, value, rounds);
  return {};
}

KernelSource fold_source(std::string parameters) {
  KernelSource source;
  source.id = {.name = "fold", .source_hash = "1", .parameters = std::move(parameters)};
  source.entry = reinterpret_cast<void (*)()>(&run_fold);
  return source;
}

KernelSource broken_source() {
  KernelSource source;
  source.id = {.name = "broken", .source_hash = "1", .parameters = ""};
  return source;
}

FakeScript script_with_fold(FakeScript script) {
  script.kernels["fold"] = {.seconds_of = [](const FakeLaunch& launch) {
    const auto& args = *static_cast<const FoldArgs*>(launch.args);
    return 1e-6 + 1e-9 * static_cast<double>(args.rounds);
  }};
  script.kernels["broken"] = {.build_error = Error{ErrorKind::build_failed, "line 1: expected ;"}};
  return script;
}

DeviceUnderTest device(std::string name, FakeScript script) {
  return {
      .name = std::move(name),
      .open = [script = script_with_fold(std::move(script))]() -> Result<std::unique_ptr<Client>> {
        return std::make_unique<FakeClient>(script);
      },
      .fold = fold_source,
      .broken = broken_source()};
}

INSTANTIATE_TEST_SUITE_P(Fake, DeviceConformance,
                         testing::Values(device("plain", {}), device("demo", demo_script())),
                         name_of);

}  // namespace
}  // namespace rooftune
