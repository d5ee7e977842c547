#include "ops/reduce/sum_set.h"

#include <memory>
#include <optional>
#include <utility>

#include "device/cpu/pool.h"
#include "ops/reduce/problem.h"
#include "ops/reduce/result_check.h"
#include "ops/reduce/trial.h"
#include "ops/runtime.h"

namespace rooftune {

void describe_sum(TunableSet<SumKey, SumArgs>& set) {
  Client& client = set.client();
  set.inputs([&client](const SumKey&, const SumArgs& args,
                       Stream stream) -> Result<std::unique_ptr<Trial<SumArgs>>> {
    auto trial = SumTrial::make(client, args, stream);
    if (!trial) return std::unexpected(std::move(trial.error()));
    return *std::move(trial);
  });
  set.result_check([&client](const SumArgs& args, Stream stream, std::uint64_t most_bytes) {
    return make_sum_result_check(client, args, stream, most_bytes);
  });
  set.rehearsal([&client](const SumArgs& args, Stream stream,
                          std::uint64_t most_bytes) -> Result<std::unique_ptr<Trial<SumArgs>>> {
    if (client.capabilities().host_memory) CpuExecutor::stand_back();
    auto trial = SumTrial::make_with_own_input(client, args, stream, most_bytes);
    if (!trial) return std::unexpected(std::move(trial.error()));
    return *std::move(trial);
  });
  set.bound([](const SumKey&, const SumArgs& args) -> std::optional<Work> {
    return Work{sum_ops(args), sum_bytes(args), args.dtype, false};
  });
  const std::string_view runtime = runtime_of(client);
  if (runtime == "cpu") {
    add_cpu_candidates(set);
  } else if (runtime == "cuda") {
    add_cuda_candidates(set);
  } else {
    add_fake_candidates(set);
  }
}

}  // namespace rooftune
