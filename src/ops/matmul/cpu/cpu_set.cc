// Makes tuner candidates of the rows of the CPU table.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "device/cpu/client.h"
#include "ops/kernel_hashes.h"
#include "ops/matmul/cpu/candidates.h"
#include "ops/matmul/matmul_set.h"

namespace rooftune {
namespace {

// A result so narrow that vectors of half the width waste less of it: there the level below the
// machine's often wins, and is measured along with it.
bool is_narrow(const MatmulKey& key) {
  constexpr std::int64_t kTwoVectors = 32;  // of f32 in AVX-512
  return key.kind == MatmulKind::general && std::min(key.m, key.n) <= kTwoVectors;
}

// Both kernels of a row; null for a type that it does not have.
struct RowKernels {
  std::shared_ptr<const Kernel> f32, f64;
  const Kernel* of(DType dtype) const { return dtype == DType::f32 ? f32.get() : f64.get(); }
};

std::shared_ptr<const Kernel> compile_row(Client& client, const CpuMatmulCandidate& row,
                                          const std::string& version, DType dtype) {
  const CpuKernelFn entry = dtype == DType::f32 ? row.f32 : row.f64;
  if (entry == nullptr) return nullptr;
  KernelSource source;
  source.id = {std::string(row.name), version, std::string(to_string(dtype))};
  source.entry = cpu_entry(entry);
  auto kernel = client.compile(source);
  return kernel ? *std::move(kernel) : nullptr;
}

}  // namespace

void add_cpu_candidates(TunableSet<MatmulKey, GemmArgs>& set) {
  Client& client = set.client();
  const int threads = client.capabilities().threads;
  Isa best = Isa::portable;
  std::vector<Isa> levels;  // that may be used here, lowest first
  for (const Isa isa : {Isa::portable, Isa::neon, Isa::avx2, Isa::avx512}) {
    if (client.capabilities().has_feature("isa:" + std::string(to_string(isa)))) {
      levels.push_back(best = isa);
    }
  }
  set.group("cpu", [](const MatmulKey&) { return 3; });
  for (const CpuMatmulCandidate& row : cpu_matmul_candidates()) {
    if (row.isa > best) continue;
    const std::string version(kernel_source_hash("matmul", row.source));
    RowKernels kernels;
    kernels.f32 = compile_row(client, row, version, DType::f32);
    kernels.f64 = compile_row(client, row, version, DType::f64);
    const auto illegal = row.illegal_because;
    const auto priority = row.priority;
    const bool narrower = best != Isa::neon;  // its vectors are those of the portable level
    const auto below =
        std::count_if(levels.begin(), levels.end(), [&](Isa isa) { return isa > row.isa; });
    // What a test of legality and a launch read at every call lies in the closures themselves.
    const bool has_f32 = kernels.f32 != nullptr, has_f64 = kernels.f64 != nullptr;
    set.add(std::string(row.name),
            [&client, kernels = std::move(kernels)](const GemmArgs& args, Stream stream) {
              return client.launch(stream,
                                   {kernels.of(args.dtype), &args, sizeof args, {}, {}, 0, {}});
            })
        .version(version)
        .illegal_because([=](const GemmArgs& args) -> const char* {
          if (args.dtype == DType::f32 ? !has_f32 : !has_f64) return "has no kernel for this type";
          return illegal != nullptr ? illegal(args, threads) : nullptr;
        })
        .group("cpu", [=](const MatmulKey& key) {
          const int inner = priority(key);
          // Other levels below are the last resort, and there to be forced.
          const bool competes = below == 0 || (below == 1 && narrower && is_narrow(key));
          return competes || inner < 0 ? inner : 0;
        });
  }
}

}  // namespace rooftune
