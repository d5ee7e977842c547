// Candidates for the fake device: the fallback under several names, whose times the script of the
// device decides.
#include <memory>
#include <string>

#include "device/cpu/context.h"
#include "ops/reduce/cpu/candidates.h"
#include "ops/reduce/sum_set.h"

namespace rooftune {
namespace {

// What the fallback needs to run anywhere: one thread, and no scratch memory.
class CallingThread final : public CpuContext {
 public:
  int threads() const override { return 1; }
  void parallel_for(std::int64_t count, FunctionRef<void(std::int64_t, int)> task) override {
    for (std::int64_t i = 0; i < count; ++i) task(i, 0);
  }
  std::byte* scratch(std::size_t) override { return nullptr; }
};

Status run_fallback(const void* args) {
  const CpuSumCandidate& fallback = cpu_sum_candidates().front();
  const auto& sum = *static_cast<const SumArgs*>(args);
  CallingThread context;
  const CpuKernelFn kernel = sum.dtype == DType::f32 ? fallback.f32 : fallback.f64;
  if (kernel(args, context) == KernelOutcome::done) return {};
  return fail(ErrorKind::out_of_memory, "no scratch memory");
}

}  // namespace

void add_fake_candidates(TunableSet<SumKey, SumArgs>& set) {
  Client& client = set.client();
  for (const std::string name : {"fake_sum_naive", "fake_sum_rows", "fake_sum_tree"}) {
    const auto compile = [&client, name] {
      KernelSource source;
      source.id = {name, "1", ""};
      source.entry = reinterpret_cast<void (*)()>(&run_fallback);
      return client.compile(source);
    };
    set.add(name,
            [&client, compile](const SumArgs& args, Stream stream) -> Status {
              // From the second time on this is a look into the table of compiled kernels.
              const auto kernel = compile();
              if (!kernel) return std::unexpected(kernel.error());
              return client.launch(stream, {kernel->get(), &args, sizeof args, {}, {}, 0, {}});
            })
        .version("1")
        .prepare([compile]() -> Status {
          const auto kernel = compile();
          if (!kernel) return std::unexpected(kernel.error());
          return {};
        });
  }
}

}  // namespace rooftune
