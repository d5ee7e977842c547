// Makes tuner candidates of the rows of the CPU table.
#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include "device/cpu/client.h"
#include "ops/kernel_hashes.h"
#include "ops/matmul/cpu/candidates.h"
#include "ops/matmul/cpu/guess.h"
#include "ops/matmul/matmul_set.h"
#include "ops/matmul/problem.h"

namespace rooftune {
namespace {

constexpr int kFirst = 3;

// A result so narrow that vectors of half the width waste less of it: there the level below the
// machine's often wins, and is measured along with it.
bool is_narrow(const MatmulKey& key) {
  constexpr std::int64_t kTwoVectors = 32;  // of f32 in AVX-512
  return key.kind == MatmulKind::general && std::min(key.m, key.n) <= kTwoVectors;
}

using Kernels = std::array<std::shared_ptr<const Kernel>, kTypeFamilies>;

std::string_view to_string(TypeFamily family) {
  constexpr std::string_view kNames[] = {"f32", "f64", "bf16", "f16", "int8"};
  return kNames[static_cast<std::size_t>(family)];
}

std::shared_ptr<const Kernel> compile_row(Client& client, const CpuMatmulCandidate& row,
                                          const std::string& version, TypeFamily family) {
  const CpuKernelFn entry = row.kernels.of(family);
  if (entry == nullptr) return nullptr;
  KernelSource source;
  source.id = {std::string(row.name), version, std::string(to_string(family))};
  source.entry = cpu_entry(entry);
  auto kernel = client.compile(source);
  return kernel ? *std::move(kernel) : nullptr;
}

// Levels with vectors of their own, from narrow to wide; those that add instructions to them come
// with the widest.
int vector_rank(Isa isa) {
  if (isa == Isa::portable) return 0;
  return isa == Isa::avx2 || isa == Isa::neon ? 1 : 2;
}

bool usable(const Client& client, Isa isa) {
  return isa == Isa::portable ||
         client.capabilities().has_feature("isa:" + std::string(to_string(isa)));
}

}  // namespace

void add_cpu_candidates(TunableSet<MatmulKey, GemmArgs>& set) {
  Client& client = set.client();
  const int threads = client.capabilities().threads;
  Isa best = Isa::portable;  // of the levels with vectors of their own
  for (const Isa isa : {Isa::neon, Isa::avx2, Isa::avx512}) {
    if (usable(client, isa)) best = isa;
  }
  // Two groups of one priority: rows with a guess are all in the first round, which measures the
  // best guesses; priorities order the others, and what is left when a round fails.
  set.group("cpu", [](const MatmulKey&) { return 3; });
  set.group("best_guesses", [](const MatmulKey&) { return 3; });
  // Where guesses were compared with times, three of a technique were as good as any number of it,
  // and left room for others. How many of these are launched is seen while they are measured.
  set.shortlist({.most = 24, .most_measured = 8, .worst_ratio = 3, .most_of_a_kind = 3});
  for (const CpuMatmulCandidate& row : cpu_matmul_candidates()) {
    if (!usable(client, row.isa)) continue;
    const std::string version(kernel_source_hash("matmul", row.source));
    Kernels kernels;
    std::uint8_t families = 0;  // bit by bit
    for (std::size_t family = 0; family < kernels.size(); ++family) {
      kernels[family] = compile_row(client, row, version, static_cast<TypeFamily>(family));
      if (kernels[family] != nullptr) families |= static_cast<std::uint8_t>(1u << family);
    }
    const CpuMatmulCandidate* const table = &row;
    const auto priority = row.priority;
    const Precision gives = row.gives;
    const RhsForm rhs = row.rhs;
    const bool narrower = best != Isa::neon;  // its vectors are those of the portable level
    // Levels beyond the widest vectors add instructions, and compete.
    const int below = std::max(0, vector_rank(best) - vector_rank(row.isa));
    // -1 where it is not for this key at all.
    const auto inner_priority = [=](const MatmulKey& key) {
      const auto family = type_family(key.elem_lhs, key.elem_rhs, key.elem_out);
      if (!family || (families >> static_cast<int>(*family) & 1) == 0) return -1;
      if (gives > key.precision) return -1;
      const bool panels = key.storage_rhs == MatrixStorage::panels;
      if (rhs != RhsForm::either && panels != (rhs == RhsForm::panels)) return -1;
      return priority(key);
    };
    auto& added =
        set.add(std::string(row.name),
                [&client, kernels = std::move(kernels)](const GemmArgs& args, Stream stream) {
                  const Kernel* kernel = kernels[static_cast<std::size_t>(args.family)].get();
                  return client.launch(stream, {kernel, &args, sizeof args, {}, {}, 0, {}});
                })
            .version(version)
            .kind(std::string(row.source))
            .illegal_because([=](const GemmArgs& args) -> const char* {
              return rooftune::illegal_because(*table, args, threads);
            })
            .group("cpu", [=](const MatmulKey& key) {
              const int inner = inner_priority(key);
              // Other levels below are the last resort, and there to be forced.
              const bool competes = below == 0 || (below == 1 && narrower && is_narrow(key));
              return competes || inner < 0 ? inner : 0;
            });
    const auto guess = KernelGuess::make(row);
    // Vectors of half the width may be as fast where memory decides; guesses know it.
    if (!guess || below > 1 || (below == 1 && !narrower)) continue;
    added.predicted(
        [guess = *guess, threads](const GemmArgs& args) { return guess.seconds(args, threads); });
    added.group("best_guesses",
                [=](const MatmulKey& key) { return inner_priority(key) < 0 ? -1 : kFirst; });
  }
}

}  // namespace rooftune
