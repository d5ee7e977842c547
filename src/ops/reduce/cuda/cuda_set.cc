// Makes tuner candidates of the rows of the CUDA table.
#include <algorithm>
#include <memory>
#include <string>

#include "device/cuda/client.h"
#include "ops/reduce/cuda/kernels.h"
#include "ops/reduce/sum_set.h"

namespace rooftune {
namespace {

Status launch(CudaClient& client, Stream stream, const CudaKernelPlan& plan,
              const SumLaunchArgs& args, std::int64_t blocks) {
  // Blocks take outputs in turn: more than these fill no device.
  constexpr std::int64_t kMostBlocks = 1 << 16;
  // From the second time on this is a look into the table of compiled kernels.
  const auto kernel = cuda_compiler(client, "sum")(plan);
  if (!kernel) return std::unexpected(kernel.error());
  const auto grid = static_cast<std::uint32_t>(std::min(blocks, kMostBlocks));
  return client.launch(stream, {kernel->get(), &args, sizeof args, {grid}, {kSumThreads}, 0, {}});
}

Status run(CudaClient& client, Stream stream, const CudaSumRow& row, const SumArgs& args) {
  const std::vector<CudaKernelPlan> plans = plans_of(row, args);
  SumLaunchArgs launched = launch_args(args);
  const std::int64_t blocks = (args.outputs + row.outputs - 1) / row.outputs;
  if (row.split) {
    // Every multiprocessor has a few blocks, and every thread a few terms.
    constexpr std::int64_t kBlocksOfUnit = 8, kTermsOfThread = 16;
    cut_into_chunks(launched, blocks, kBlocksOfUnit * client.capabilities().compute_units,
                    kTermsOfThread * row.terms);
  }
  if (launched.chunks == 1) return launch(client, stream, plans[0], launched, blocks);
  const auto parts = client.allocate_on(
      stream, static_cast<std::uint64_t>(args.outputs * launched.chunks) * sizeof(SumPart));
  if (!parts) return std::unexpected(parts.error());
  launched.partial = *parts;
  Status done = launch(client, stream, plans[0], launched, blocks * launched.chunks);
  constexpr std::int64_t kWarps = kSumThreads / 32;
  if (done) done = launch(client, stream, plans[1], launched, (args.outputs + kWarps - 1) / kWarps);
  client.free_on(stream, *parts);
  return done;
}

std::string version_of(const CudaSumRow& row) {
  std::string text;
  for (const DType dtype : {DType::f32, DType::f64}) {
    SumArgs args;
    args.dtype = dtype;
    for (const CudaKernelPlan& plan : plans_of(row, args)) {
      const auto source = cuda_kernel_source(plan);
      text += source ? source->get().id.digest() : "missing";
    }
  }
  return text;
}

}  // namespace

void add_cuda_candidates(TunableSet<SumKey, SumArgs>& set) {
  auto& client = dynamic_cast<CudaClient&>(set.client());
  set.group("cuda", [](const SumKey&) { return 3; });
  for (const CudaSumRow& row : cuda_sum_rows()) {
    set.add(std::string(row.name),
            [&client, &row](const SumArgs& args, Stream stream) {
              return run(client, stream, row, args);
            })
        .version(version_of(row))
        .prepare([&client, &row](const SumArgs& args) -> Status {
          for (const CudaKernelPlan& plan : plans_of(row, args)) {
            const auto kernel = cuda_compiler(client, "sum")(plan);
            if (!kernel) return std::unexpected(kernel.error());
          }
          return {};
        })
        .group("cuda", row.priority);
  }
}

}  // namespace rooftune
