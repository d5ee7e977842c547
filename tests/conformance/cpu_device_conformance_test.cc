#include <utility>

#include "device/cpu/client.h"
#include "device_conformance.h"

namespace rooftune {
namespace {

KernelOutcome run_fold(const void* args, CpuContext&) {
  const auto& [cell, value, rounds] = *static_cast<const FoldArgs*>(args);
  *cell = fold(*cell, value, rounds);
  return KernelOutcome::done;
}

KernelSource fold_source(std::string parameters) {
  KernelSource source;
  source.id = {.name = "fold", .source_hash = "1", .parameters = std::move(parameters)};
  source.entry = cpu_entry(run_fold);
  return source;
}

KernelSource broken_source() {
  KernelSource source;  // without an entry
  source.id = {.name = "broken", .source_hash = "1", .parameters = ""};
  return source;
}

DeviceUnderTest device(std::string name, CpuOptions options) {
  return {
      .name = std::move(name),
      .open = [options]() -> Result<std::shared_ptr<Client>> { return CpuClient::make(options); },
      .fold = fold_source,
      .broken = broken_source(),
      .compiles_at_run_time = false};
}

INSTANTIATE_TEST_SUITE_P(Cpu, DeviceConformance,
                         testing::Values(device("best", {}),
                                         device("one_thread", {.threads = 1, .isa = {}}),
                                         device("three_threads", {.threads = 3, .isa = {}}),
                                         device("portable", {.threads = {}, .isa = Isa::portable}),
                                         device("neon", {.threads = {}, .isa = Isa::neon}),
                                         device("avx2", {.threads = {}, .isa = Isa::avx2}),
                                         device("avx512", {.threads = {}, .isa = Isa::avx512})),
                         name_of);

}  // namespace
}  // namespace rooftune
