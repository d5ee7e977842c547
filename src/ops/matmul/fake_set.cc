// Candidates for the fake device: one right kernel under several names, whose times the script of
// the device decides. They make `--device fake` a deterministic demonstration, and let tests of
// the whole path run without a clock.
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "device/cpu/context.h"
#include "device/fake/script.h"
#include "ops/matmul/cpu/candidates.h"
#include "ops/matmul/fake_work.h"
#include "ops/matmul/matmul_set.h"
#include "ops/matmul/problem.h"

namespace rooftune {
namespace {

// One thread, memory on the heap: what the fallback kernel needs to run anywhere.
class SerialContext final : public CpuContext {
 public:
  int threads() const override { return 1; }
  void parallel_for(std::int64_t count, FunctionRef<void(std::int64_t, int)> task) override {
    for (std::int64_t i = 0; i < count; ++i) task(i, 0);
  }
  std::byte* scratch(std::size_t bytes) override {
    if (memory_.size() < bytes) memory_.resize(bytes);
    return memory_.data();
  }

 private:
  std::vector<std::byte> memory_;
};

Status run_fallback(const void* args) {
  const CpuMatmulCandidate& fallback = cpu_matmul_candidates().front();
  const auto& gemm = *static_cast<const GemmArgs*>(args);
  SerialContext context;
  const CpuKernelFn kernel = fallback.kernels.of(gemm.family);
  if (kernel(args, context) == KernelOutcome::done) return {};
  return fail(ErrorKind::out_of_memory, "no scratch memory");
}

struct FakeRow {
  const char* name;
  const char* group;
  int inner;
  const char* (*illegal_because)(const GemmArgs& args);
};

const char* needs_whole_tiles(const GemmArgs& args) {
  return args.m % 16 == 0 && args.n % 16 == 0 ? nullptr : "needs m and n that are multiples of 16";
}

constexpr FakeRow kRows[] = {
    {"fake_naive", "unit", 0, nullptr},
    {"fake_unit_small", "unit", 2, nullptr},
    {"fake_unit_large", "unit", 2, nullptr},
    {"fake_accelerated", "accelerated", 3, needs_whole_tiles},
    {"fake_accelerated_deep", "accelerated", 3, needs_whole_tiles},
};

}  // namespace

FakeWork fake_matmul_work(const FakeLaunch& launch) {
  // Only kernels of this file take these arguments.
  for (const FakeRow& row : kRows) {
    if (launch.kernel != row.name) continue;
    const auto& gemm = *static_cast<const GemmArgs*>(launch.args);
    return {matmul_ops(gemm), matmul_bytes(gemm)};
  }
  return {1e6, 1e6};
}

void add_fake_candidates(TunableSet<MatmulKey, GemmArgs>& set) {
  Client& client = set.client();
  set.group("unit", [](const MatmulKey&) { return 1; });
  set.group("accelerated", [](const MatmulKey&) { return 3; });
  for (const FakeRow& row : kRows) {
    // Compiled at first use, as on a device with a run-time compiler.
    struct State {
      std::mutex mutex;
      std::shared_ptr<const Kernel> kernel;
    };
    auto state = std::make_shared<State>();
    const auto prepare = [&client, state, name = std::string(row.name)]() -> Status {
      const std::lock_guard lock(state->mutex);
      if (state->kernel != nullptr) return {};
      KernelSource source;
      source.id = {name, "1", ""};
      source.entry = reinterpret_cast<void (*)()>(&run_fallback);
      auto kernel = client.compile(source);
      if (!kernel) return std::unexpected(kernel.error());
      state->kernel = *std::move(kernel);
      return {};
    };
    auto& candidate =
        set.add(row.name,
                [&client, state, prepare](const GemmArgs& args, Stream stream) -> Status {
                  // A decision from the store may be used before anything was compiled.
                  if (Status built = prepare(); !built) return built;
                  return client.launch(stream,
                                       {state->kernel.get(), &args, sizeof args, {}, {}, 0, {}});
                })
            .version("1")
            .prepare(prepare)
            .group(row.group, row.inner);
    if (row.illegal_because != nullptr) candidate.illegal_because(row.illegal_because);
  }
}

}  // namespace rooftune
