// Row 1 of the reference, and the fallback: takes every problem.
#include <algorithm>

#include "ops/matmul/cuda/candidate.h"
#include "ops/matmul/cuda/layout.h"
#include "ops/matmul/cuda/strided_host.h"

namespace rooftune {
namespace {

constexpr CudaVariant kBytewise = CudaVariant{1} << kTypeBits;

class Naive final : public CudaCandidate {
 public:
  Naive() : CudaCandidate("naive", CudaNeeds::ampere) {}

  const char* illegal_because(const GemmArgs& args, const CudaMachine&) const override {
    return args.packed != nullptr ? "the right operand is packed for a CPU" : nullptr;
  }

  CudaVariant variant(const GemmArgs& args) const override {
    // A's and B's types change places where C is column-major (run()).
    return type_bits(columns_first(args) ? transposed(args) : args) |
           (element_aligned(args) ? 0 : kBytewise);
  }

  std::vector<CudaKernelPlan> plans(CudaVariant variant) const override {
    CudaKernelPlan plan;
    plan.file = "naive.cu";
    plan.defines = type_defines(variant);
    plan.defines.push_back(variant & kBytewise ? "BYTEWISE=1" : "BYTEWISE=0");
    plan.threads = 256;
    return {plan};
  }

  std::vector<CudaVariant> variants() const override {
    std::vector<CudaVariant> all = all_type_bits();
    const std::size_t aligned = all.size();
    for (std::size_t i = 0; i < aligned; ++i) {
      // Where only C has more than a byte, it can still be misaligned.
      all.push_back(all[i] | kBytewise);
    }
    return all;
  }

  Status run(CudaLauncher& launcher, std::span<const Kernel* const> kernels,
             const GemmArgs& args) const override {
    const StridedArgs device = strided_args(columns_first(args) ? transposed(args) : args);
    const std::int64_t tiles = ((device.m + 7) / 8) * ((device.n + 31) / 32);
    return launcher.launch(*kernels[0], &device, sizeof device, {blocks_for(tiles * device.batch)},
                           256, 0);
  }

  std::vector<Membership> memberships(const MatmulKey& key) const override {
    if (key.kind == MatmulKind::inner_product) return {{"unit", 3}};
    return {{"unit", key.scale == MatmulScale::small ? 2 : 0}};
  }

  // A warp's multiply-add waits for a load of A and one of B: some 4 multiply-adds a clock and
  // multiprocessor of 64 are what large products reach; small ones take the memory's latency,
  // 0.5 us, for every few terms.
  double predicted_s(const GemmArgs& args, const CudaMachine& machine) const override {
    const std::int64_t rows = (args.m + 7) / 8 * 8, columns = (args.n + 31) / 32;
    const double warps =
        static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(args.batch);
    const double slots = 64.0 * std::max(machine.multiprocessors, 1);
    const double k = static_cast<double>(args.k);
    const double rounds = std::max(1.0, warps / slots);
    // Every element comes from memory once at least, at some 4 TB/s of an H200.
    const double bytes = static_cast<double>(args.batch) *
                         (static_cast<double>((args.m + args.n) * size_of(args.a_type)) * k +
                          static_cast<double>(args.m * args.n * size_of(args.c_type)));
    const double work = rounds * k * 64 * 0.25e-9 * (args.family == TypeFamily::f64 ? 2 : 1);
    return 3e-6 + work + bytes / 4e12 + k * 15e-9;
  }

 private:
  // Threads of a warp are neighbours in a row of C; where columns are contiguous, the transposed
  // product has them as rows.
  static bool columns_first(const GemmArgs& args) { return args.c_row == 1 && args.c_col != 1; }
};

}  // namespace

void add_naive(CudaCandidates& rows) { rows.push_back(std::make_unique<Naive>()); }

}  // namespace rooftune
