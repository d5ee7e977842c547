#include <utility>

#include "device/cuda/client.h"
#include "device_conformance.h"

namespace rooftune {
namespace {

constexpr std::string_view kFold = R"(
struct Args {
  unsigned long long* cell;
  unsigned long long value;
  unsigned long long rounds;
};
extern "C" __global__ void rooftune_kernel(const __grid_constant__ Args args) {
  unsigned long long cell = *args.cell;
  for (unsigned long long i = 0; i < args.rounds; ++i) cell = cell * FACTOR + args.value;
  *args.cell = cell;
}
)";

KernelSource fold_source(std::string parameters) {
  KernelSource source;
  source.id = {.name = "fold", .source_hash = "1", .parameters = std::move(parameters)};
  source.text = kFold;
  source.options = {"FACTOR=" + std::to_string(kFoldFactor) + "ull"};
  return source;
}

KernelSource broken_source() {
  KernelSource source;
  source.id = {.name = "broken", .source_hash = "1", .parameters = ""};
  source.text = "extern \"C\" __global__ void rooftune_kernel() { this is no statement; }";
  return source;
}

INSTANTIATE_TEST_SUITE_P(Cuda, DeviceConformance,
                         testing::Values(DeviceUnderTest{
                             .name = "first",
                             .open = []() -> Result<std::shared_ptr<Client>> {
                               auto client = CudaClient::make(0);
                               if (!client) return std::unexpected(client.error());
                               return *std::move(client);
                             },
                             .fold = fold_source,
                             .broken = broken_source(),
                             .compiles_at_run_time = true}),
                         name_of);

}  // namespace
}  // namespace rooftune
