// Thread tiles: the reference's four of any type (unit.cu), and f32 at the full rate (simt.cu).
#include <algorithm>

#include "ops/matmul/cuda/candidate.h"
#include "ops/matmul/cuda/layout.h"
#include "ops/matmul/cuda/split.h"
#include "ops/matmul/cuda/strided_host.h"
#include "ops/matmul/cuda/tiled.h"

namespace rooftune {
namespace {

struct UnitForm {
  const char* name;
  int threads_m, threads_n, thread_m, thread_n, depth;
  bool doubled;  // two buffers
};

// Rows 6 to 9 of the reference, for a vector width of 4. Its tiles grow with m and k from 512 on;
// these do not: kernels are specialised by key, and large products have the rows below.
constexpr UnitForm kUnitForms[] = {
    {"simple_unit_max", 16, 16, 8, 8, 8, false},
    {"double_unit_max", 16, 8, 4, 8, 8, true},
    {"simple_unit_min", 8, 8, 16, 8, 16, false},
    {"double_unit_min", 16, 8, 8, 4, 8, true},
};

class Unit final : public CudaCandidate {
 public:
  explicit Unit(const UnitForm& form) : CudaCandidate(form.name, CudaNeeds::ampere), form_(form) {}

  const char* illegal_because(const GemmArgs& args, const CudaMachine& machine) const override {
    if (args.packed != nullptr) return "the right operand is packed for a CPU";
    if (!element_aligned(args)) return "misaligned elements";
    if (shared_bytes(args.family) + kStaticBytes > machine.shared_bytes) {
      return "too little shared memory";
    }
    // A strip of 8 tiles (tile_order.cuh) is counted in 32 bits too.
    constexpr std::int64_t kMost = (std::int64_t{1} << 31) - 1;
    if (tiles(args) > kMost || tiles_n(by_rows(args)) > kMost / 8)
      return "more tiles than a grid has blocks";
    return nullptr;
  }

  CudaVariant variant(const GemmArgs& args) const override { return type_bits(by_rows(args)); }
  std::vector<CudaVariant> variants() const override { return all_type_bits(); }

  std::vector<CudaKernelPlan> plans(CudaVariant variant) const override {
    const TypeFamily family =
        static_cast<DType>(variant & 15) == DType::f64 ? TypeFamily::f64 : TypeFamily::f32;
    const auto set = [](const char* name, int value) { return name + std::to_string(value); };
    CudaKernelPlan plan;
    plan.file = "unit.cu";
    plan.defines = type_defines(variant);
    plan.defines.insert(
        plan.defines.end(),
        {set("THREADS_M=", form_.threads_m), set("THREADS_N=", form_.threads_n),
         set("THREAD_M=", thread_m(family)), set("THREAD_N=", form_.thread_n),
         set("DEPTH=", form_.depth), set("BUFFERS=", form_.doubled ? 2 : 1), "BYTEWISE=0"});
    plan.threads = threads();
    plan.shared_bytes = shared_bytes(family);
    return {plan};
  }

  Status run(CudaLauncher& launcher, std::span<const Kernel* const> kernels,
             const GemmArgs& original) const override {
    const GemmArgs args = by_rows(original);
    SplitArgs device{};
    device.product = strided_args(args);
    device.tiles_m = static_cast<int>(tiles_m(args));
    device.tiles_n = static_cast<int>(tiles_n(args));
    device.splits = 1;
    device.terms = args.k;
    return launcher.launch(*kernels[0], &device, sizeof device,
                           {static_cast<std::uint32_t>(tiles(args))}, threads(),
                           shared_bytes(args.family));
  }

  std::vector<Membership> memberships(const MatmulKey& key) const override {
    const bool large = key.kind == MatmulKind::general && key.scale != MatmulScale::small;
    return {{"unit", form_.doubled && !large ? 2 : 3}};
  }

  // Waves of tiles at 0.4 of the peak, which is what loads through registers leave.
  double predicted_s(const GemmArgs& args, const CudaMachine& machine) const override {
    const double tile = form_.threads_m * thread_m(args.family) * form_.threads_n * form_.thread_n;
    const std::int64_t units = std::max(machine.multiprocessors, 1);
    const std::int64_t waves = (tiles(args) + units - 1) / units;
    const auto each = static_cast<double>(waves);
    const double rate = args.family == TypeFamily::f64 ? 64 * 1.7e9 : 128 * 1.7e9;
    return 5e-6 + each * tile * static_cast<double>(args.k) / (0.4 * rate);
  }

 private:
  // Of the operands' tiles, at most: two of 64 + 128 words of 8 bytes, 16 deep, and their padding.
  static constexpr std::uint32_t kStaticBytes = 2 * 16 * (64 + 128 + 2) * 8 / 2;

  static GemmArgs by_rows(const GemmArgs& args) {
    return args.c_row == 1 && args.c_col != 1 ? transposed(args) : args;
  }
  // Sums of 8 bytes: half as many, in the same registers.
  int thread_m(TypeFamily family) const {
    return family == TypeFamily::f64 ? form_.thread_m / 2 : form_.thread_m;
  }
  std::uint32_t threads() const { return unsigned(form_.threads_m * form_.threads_n); }
  std::uint32_t shared_bytes(TypeFamily family) const {
    return threads() * unsigned(thread_m(family) * form_.thread_n) *
           (family == TypeFamily::f64 ? 8 : 4);
  }
  std::int64_t tiles_m(const GemmArgs& args) const {
    const std::int64_t tile = form_.threads_m * thread_m(args.family);
    return (args.m + tile - 1) / tile;
  }
  std::int64_t tiles_n(const GemmArgs& args) const {
    const std::int64_t tile = form_.threads_n * form_.thread_n;
    return (args.n + tile - 1) / tile;
  }
  std::int64_t tiles(const GemmArgs& original) const {
    const GemmArgs args = by_rows(original);
    return tiles_m(args) * tiles_n(args) * args.batch;
  }

  const UnitForm form_;
};

class Simt final : public Tiled {
 public:
  explicit Simt(const TiledForm& tiles) : Tiled(tiles, TypeFamily::f32, "simt.cu") {}

  // Under `highest` nothing is faster; other policies have tensor cores.
  std::vector<Membership> memberships(const MatmulKey& key) const override {
    if (key.elem_lhs != DType::f32) return {};
    if (key.precision == Precision::highest) return {{"accelerated", 3}, {"unit", 3}};
    return {{"unit", 3}};
  }

 private:
  std::vector<std::string> own_defines() const override {
    return {"THREAD_M=" + std::to_string(form().tile_m / form().warps_m / 4),
            "THREAD_N=" + std::to_string(form().tile_n / form().warps_n / 8),
            "DEPTH=" + std::to_string(form().depth)};
  }
  std::uint32_t shared_bytes(Copies) const override {
    const int pitch = form().tile_n + (form().cluster_k > 1 ? 4 : 0);  // of totals: simt.cu
    return static_cast<std::uint32_t>(
        4 * (form().stages * form().depth * (form().tile_m + form().tile_n + 8) +
             form().tile_m * pitch));
  }
  bool likes_wide_terms() const override { return form().tile_m * form().tile_n < 128 * 128; }
};

// 128 threads with 8 x 16 elements each share a multiprocessor in pairs: more elements a thread
// mean fewer reads of shared memory, and one block multiplies while another waits at its barrier.
constexpr TiledForm kSimtForms[] = {
    {"simt_128x128", 128, 128, 2, 2, 8, 4, 2, false, 0.87, 0},
    {"simt_128x256", 128, 256, 4, 2, 8, 4, 1, false, 0.86, 0},
    {"simt_128x64", 128, 64, 4, 1, 16, 3, 3, false, 0.80, 0},
    {"simt_64x64", 64, 64, 2, 2, 16, 3, 4, false, 0.76, 0},
    {"simt_64x64_8w", 64, 64, 4, 2, 16, 3, 3, false, 0.69, 0},
    {"simt_64x32", 64, 32, 2, 1, 16, 4, 8, false, 0.69, 0},
    {"simt_32x32", 32, 32, 1, 1, 16, 3, 10, false, 0.62, 0},
    {"simt_128x128_split", 128, 128, 2, 2, 8, 4, 2, true, 0.87, 0},
    {"simt_128x64_split", 128, 64, 4, 1, 16, 3, 3, true, 0.80, 0},
    {"simt_64x64_split", 64, 64, 2, 2, 16, 3, 4, true, 0.76, 0},
    {"simt_64x64_8w_split", 64, 64, 4, 2, 16, 3, 3, true, 0.69, 0},
    {"simt_64x32_split", 64, 32, 2, 1, 16, 4, 8, true, 0.69, 0},
    // Few tiles. Two warps of 32x32 read more of shared memory for each product, but are twice as
    // many where a multiprocessor has one block.
    {"simt_64x64_k2", 64, 64, 2, 2, 16, 3, 4, false, 0.76, 0, 2},
    {"simt_64x64_k4", 64, 64, 2, 2, 16, 3, 4, false, 0.76, 0, 4},
    {"simt_64x64_k8", 64, 64, 2, 2, 16, 3, 4, false, 0.76, 0, 8},
    {"simt_64x64_8w_k2", 64, 64, 4, 2, 16, 3, 3, false, 0.69, 0, 2},
    {"simt_64x64_8w_k4", 64, 64, 4, 2, 16, 3, 3, false, 0.69, 0, 4},
    {"simt_64x64_8w_k8", 64, 64, 4, 2, 16, 3, 3, false, 0.69, 0, 8},
    {"simt_64x32_k2", 64, 32, 2, 1, 16, 4, 6, false, 0.69, 0, 2},
    {"simt_64x32_k4", 64, 32, 2, 1, 16, 4, 6, false, 0.69, 0, 4},
    {"simt_64x32_k8", 64, 32, 2, 1, 16, 4, 6, false, 0.69, 0, 8},
    {"simt_32x32_k2", 32, 32, 1, 1, 16, 3, 10, false, 0.62, 0, 2},
    {"simt_32x32_k4", 32, 32, 1, 1, 16, 3, 10, false, 0.62, 0, 4},
    {"simt_32x32_k8", 32, 32, 1, 1, 16, 3, 10, false, 0.62, 0, 8},
    {"simt_32x32_2w_k2", 32, 32, 2, 1, 16, 3, 8, false, 0.50, 0, 2},
    {"simt_32x32_2w_k4", 32, 32, 2, 1, 16, 3, 8, false, 0.50, 0, 4},
    {"simt_32x32_2w_k8", 32, 32, 2, 1, 16, 3, 8, false, 0.50, 0, 8},
};

}  // namespace

void add_unit(CudaCandidates& rows) {
  for (const UnitForm& form : kUnitForms) rows.push_back(std::make_unique<Unit>(form));
  for (const TiledForm& form : kSimtForms) rows.push_back(std::make_unique<Simt>(form));
}

}  // namespace rooftune
