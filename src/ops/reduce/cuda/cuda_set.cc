// Makes tuner candidates of the rows of the CUDA table.
#include <algorithm>
#include <memory>
#include <string>

#include "device/cuda/client.h"
#include "ops/matmul/cuda/specialisations.h"
#include "ops/reduce/cuda/kernels.h"
#include "ops/reduce/sum_set.h"

namespace rooftune {
namespace {

Status launch(CudaClient& client, Stream stream, const Kernel* kernel, const SumLaunchArgs& args,
              std::int64_t blocks) {
  // Blocks take outputs in turn: more than these fill no device.
  constexpr std::int64_t kMostBlocks = 1 << 16;
  const auto grid = static_cast<std::uint32_t>(std::min(blocks, kMostBlocks));
  return client.launch(stream, {kernel, &args, sizeof args, {grid}, {kSumThreads}, 0, {}});
}

// One row on one client.
class Row {
 public:
  Row(CudaClient& client, const CudaSumRow& row)
      : client_(client), row_(row), specialisations_(client) {}

  Status prepare(const SumArgs& args) {
    const auto kernels = kernels_for(args);
    return kernels ? Status{} : std::unexpected(kernels.error());
  }

  Status run(const SumArgs& args, Stream stream) {
    const auto kernels = kernels_for(args);
    if (!kernels) return std::unexpected(kernels.error());
    SumLaunchArgs launched = launch_args(args);
    const std::int64_t blocks = (args.outputs + row_.outputs - 1) / row_.outputs;
    if (row_.split) {
      // Every multiprocessor has a few blocks, and every thread a few terms.
      constexpr std::int64_t kBlocksOfUnit = 8, kTermsOfThread = 16;
      cut_into_chunks(launched, blocks, kBlocksOfUnit * client_.capabilities().compute_units,
                      kTermsOfThread * row_.terms);
    }
    if (launched.chunks == 1) return launch(client_, stream, (*kernels)[0], launched, blocks);
    const auto parts = client_.allocate_on(
        stream, static_cast<std::uint64_t>(args.outputs * launched.chunks) * sizeof(SumPart));
    if (!parts) return std::unexpected(parts.error());
    launched.partial = *parts;
    Status done = launch(client_, stream, (*kernels)[0], launched, blocks * launched.chunks);
    constexpr std::int64_t kWarps = kSumThreads / 32;
    if (done) {
      done = launch(client_, stream, (*kernels)[1], launched, (args.outputs + kWarps - 1) / kWarps);
    }
    client_.free_on(stream, *parts);
    return done;
  }

 private:
  Result<std::span<const Kernel* const>> kernels_for(const SumArgs& args) {
    const std::uint64_t variant = static_cast<std::uint64_t>(args.dtype) * 2 + is_aligned(args);
    return specialisations_.of(variant, [&] { return plans_of(row_, args); });
  }

  CudaClient& client_;
  const CudaSumRow& row_;
  CudaSpecialisations specialisations_;
};

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
    const auto on_client = std::make_shared<Row>(client, row);
    set.add(
           std::string(row.name),
           [on_client](const SumArgs& args, Stream stream) { return on_client->run(args, stream); })
        .version(version_of(row))
        .prepare([on_client](const SumArgs& args) { return on_client->prepare(args); })
        .group("cuda", row.priority);
  }
}

}  // namespace rooftune
