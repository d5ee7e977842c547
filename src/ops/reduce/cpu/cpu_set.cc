// Makes tuner candidates of the rows of the CPU table.
#include <algorithm>
#include <memory>
#include <string>

#include "device/cpu/client.h"
#include "ops/kernel_hashes.h"
#include "ops/reduce/cpu/candidates.h"
#include "ops/reduce/sum_set.h"

namespace rooftune {
namespace {

Result<std::shared_ptr<const Kernel>> compile_row(Client& client, const CpuSumCandidate& row,
                                                  const std::string& version, DType dtype) {
  KernelSource source;
  // Counters are by name, and other operations have a candidate "naive" as well.
  source.id = {"sum_" + std::string(row.name), version, std::string(to_string(dtype))};
  source.entry = cpu_entry(dtype == DType::f32 ? row.f32 : row.f64);
  return client.compile(source);
}

}  // namespace

void add_cpu_candidates(TunableSet<SumKey, SumArgs>& set) {
  Client& client = set.client();
  const int threads = client.capabilities().threads;
  Isa best = Isa::portable;
  for (const Isa isa : {Isa::neon, Isa::avx2, Isa::avx512}) {
    if (client.capabilities().has_feature("isa:" + std::string(to_string(isa)))) best = isa;
  }
  set.group("cpu", [](const SumKey&) { return 3; });
  for (const CpuSumCandidate& row : cpu_sum_candidates()) {
    if (row.isa > best) continue;
    const std::string version(kernel_source_hash("reduce", row.source));
    const auto f32 = compile_row(client, row, version, DType::f32);
    const auto f64 = compile_row(client, row, version, DType::f64);
    // A level below the machine's is the last resort, and there to be forced. The fallback has no
    // other level.
    const bool below = row.isa < best && set.size() > 0;
    set.add(std::string(row.name),
            [&client, f32, f64](const SumArgs& args, Stream stream) -> Status {
              const auto& kernel = args.dtype == DType::f32 ? f32 : f64;
              if (!kernel) [[unlikely]]
                return std::unexpected(kernel.error());
              return client.launch(stream, {kernel->get(), &args, sizeof args, {}, {}, 0, {}});
            })
        .version(version)
        .prepare([f32, f64]() -> Status {
          for (const auto& kernel : {f32, f64}) {
            if (!kernel) return std::unexpected(kernel.error());
          }
          return {};
        })
        .illegal_because([test = row.illegal_because, threads](const SumArgs& args) {
          return test(args, threads);
        })
        .group("cpu", [priority = row.priority, below](const SumKey& key) {
          return below ? std::min(priority(key), 0) : priority(key);
        });
  }
}

}  // namespace rooftune
