// Candidates of CudaCandidate's families as those of a TunableSet: their kernels compiled and kept
// by specialisation, their priorities, and the choice of what is measured first.
#include <algorithm>

#include "device/cuda/client.h"
#include "ops/matmul/cuda/candidate.h"
#include "ops/matmul/cuda/kernels.h"
#include "ops/matmul/cuda/priority.h"
#include "ops/matmul/cuda/specialisations.h"
#include "ops/matmul/matmul_set.h"

namespace rooftune {
namespace {

class Launcher final : public CudaLauncher {
 public:
  Launcher(CudaClient& client, const CudaMachine& machine, Stream stream)
      : client_(client), machine_(machine), stream_(stream) {}
  ~Launcher() override {
    for (int i = 0; i < used_; ++i) client_.free_on(stream_, scratch_[i]);
  }
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  const CudaMachine& machine() const override { return machine_; }
  Status launch(const Kernel& kernel, const void* args, std::size_t args_bytes, Dim3 blocks,
                std::uint32_t threads, std::uint32_t shared_bytes) override {
    return client_.launch(stream_,
                          {&kernel, args, args_bytes, blocks, {threads, 1, 1}, shared_bytes, {}});
  }
  Result<void*> scratch(std::uint64_t bytes) override {
    if (used_ == kMost) {
      return fail(ErrorKind::internal, "a candidate asks for more pieces of scratch memory than " +
                                           std::to_string(kMost));
    }
    auto memory = client_.allocate_on(stream_, bytes);
    if (memory) scratch_[used_++] = *memory;
    return memory;
  }
  Status clear(void* memory, std::uint64_t bytes) override {
    constexpr std::byte kZero[] = {std::byte{0}};
    return client_.fill(stream_, memory, kZero, bytes);
  }
  Status encode(const TensorMapShape& shape, TensorMap& map) override {
    return client_.encode(shape, map);
  }

 private:
  static constexpr int kMost = 8;
  CudaClient& client_;
  const CudaMachine& machine_;
  const Stream stream_;
  void* scratch_[kMost] = {};
  int used_ = 0;
};

const char* lacking(CudaNeeds needs, int capability) {
  switch (needs) {
    case CudaNeeds::ampere:
      return nullptr;
    case CudaNeeds::ada:
      return capability >= 89 ? nullptr : "needs compute capability 8.9";
    case CudaNeeds::tma:
      return capability >= 90 ? nullptr : "needs bulk tensor copies (compute capability 9.0)";
    case CudaNeeds::hopper:
      return capability == 90 ? nullptr : "needs wgmma (compute capability 9.0 and no other)";
  }
  return nullptr;
}

// One candidate on one client.
class Row {
 public:
  Row(CudaClient& client, const CudaMachine& machine, std::unique_ptr<CudaCandidate> candidate)
      : client_(client),
        machine_(machine),
        candidate_(std::move(candidate)),
        specialisations_(client) {}

  const CudaCandidate& candidate() const { return *candidate_; }

  Status prepare(const GemmArgs& args) {
    const auto kernels = kernels_for(args);
    return kernels ? Status{} : std::unexpected(kernels.error());
  }

  Status run(const GemmArgs& args, Stream stream) {
    const auto kernels = kernels_for(args);
    if (!kernels) [[unlikely]]
      return std::unexpected(kernels.error());
    Launcher launcher(client_, machine_, stream);
    return candidate_->run(launcher, *kernels, args);
  }

 private:
  Result<std::span<const Kernel* const>> kernels_for(const GemmArgs& args) {
    const CudaVariant variant = candidate_->variant(args);
    return specialisations_.of(variant, [&] { return candidate_->plans(variant); });
  }

  CudaClient& client_;
  const CudaMachine& machine_;
  const std::unique_ptr<CudaCandidate> candidate_;
  CudaSpecialisations specialisations_;
};

// What all rows of a client share; lives as long as the last candidate of the set.
struct Rows {
  CudaMachine machine;
  std::vector<std::unique_ptr<Row>> rows;
};

}  // namespace

void add_cuda_candidates(TunableSet<MatmulKey, GemmArgs>& set) {
  auto& client = dynamic_cast<CudaClient&>(set.client());
  const auto shared = std::make_shared<Rows>();
  shared->machine = {client.capability(), client.capabilities().compute_units,
                     client.most_shared_bytes(), client.capabilities().last_level_cache_bytes};
  for (auto& candidate : all_cuda_candidates()) {
    shared->rows.push_back(std::make_unique<Row>(client, shared->machine, std::move(candidate)));
  }

  for (const auto& [name, priority] : cuda_group_priorities())
    set.group(std::string(name), priority);
  // A compiler takes some tenths of a second for each on one core, and machines with such devices
  // have a dozen cores or more.
  set.shortlist({.most = 16, .worst_ratio = 2.5, .sibling_ratio = 1.5});
  for (const auto& each : shared->rows) {
    Row& row = *each;
    const CudaCandidate& candidate = row.candidate();
    const char* const missing = lacking(candidate.needs(), client.capability());
    auto& added =
        set.add(candidate.name(), [shared, &row](const GemmArgs& args,
                                                 Stream stream) { return row.run(args, stream); })
            .version(cuda_candidate_version(candidate))
            .kind(technique_of(candidate.name()))
            .prepare([&row](const GemmArgs& args) { return row.prepare(args); })
            .illegal_because([shared, &candidate, missing](const GemmArgs& args) {
              if (missing != nullptr) return missing;
              if (args.packed != nullptr) return "rhs is packed, and this device packs nothing";
              return candidate.illegal_because(args, shared->machine);
            });
    for (const std::string_view group : kCudaGroups) {
      added.group(std::string(group), [&candidate, group, missing](const MatmulKey& key) {
        for (const auto& membership : candidate.memberships(key)) {
          if (membership.group != group) continue;
          constexpr int kLast = 0;
          return missing != nullptr ? std::min(membership.inner, kLast) : membership.inner;
        }
        return -1;
      });
    }
    if (missing == nullptr) {
      added.group("best_guesses", 3).predicted([shared, &candidate](const GemmArgs& args) {
        return candidate.predicted_s(args, shared->machine);
      });
    }
  }
}

}  // namespace rooftune
