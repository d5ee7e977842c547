#include "ops/matmul/cuda/wgmma_split.h"

#include <algorithm>
#include <limits>
#include <string>

#include "ops/matmul/cuda/bulk_operand.h"
#include "ops/matmul/cuda/wgmma_split_args.h"

namespace rooftune {
namespace {

constexpr std::int64_t kTileM = 128;
constexpr std::int64_t kStep = 32;  // terms: 128 bytes
constexpr std::uint32_t kThreads = 384;
constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

class WgmmaSplit final : public CudaCandidate {
 public:
  WgmmaSplit(int tile_n, int stages)
      : CudaCandidate("wgmma_split_128x" + std::to_string(tile_n), CudaNeeds::hopper),
        tile_n_(tile_n),
        stages_(stages) {}

  const char* illegal_because(const GemmArgs& args, const CudaMachine&) const override {
    if (args.family != TypeFamily::f32) return "multiplies f32";
    if (args.precision == Precision::highest) return "the policy wants f32 arithmetic";
    if (args.packed != nullptr) return "takes no packed operand";
    if (a_major(args) != Major::k || !is_bulk_operand(args, view_of_a(args))) {
      return "A is not K-major on 16-byte boundaries";
    }
    if (b_major(args) != Major::k || !is_bulk_operand(args, view_of_b(args))) {
      return "B is not K-major on 16-byte boundaries";
    }
    if (alignment(args.c) < 4) return "C is misaligned to its elements";
    if (!batch_stride(args, args.c_batch).even) return "the batch of C has several strides";
    if (args.m > kMost || args.n > kMost || args.k > kMost - kStep ||
        args.batch > kMost / (tiles_m(args) * tiles_n(args))) {
      return "too large for 32-bit tile numbers";
    }
    return nullptr;
  }

  CudaVariant variant(const GemmArgs&) const override { return 0; }
  std::vector<CudaVariant> variants() const override { return {0}; }
  std::vector<CudaKernelPlan> plans(CudaVariant) const override {
    return {{.file = "wgmma_split.cu",
             .defines = {"TILE_N=" + std::to_string(tile_n_), "STAGES=" + std::to_string(stages_)},
             .threads = kThreads,
             .shared_bytes = shared_bytes(),
             // What the compiler reports, of 384 threads in 64 K registers. The kernel moves
             // registers between its warps.
             .registers = 168}};
  }

  Status run(CudaLauncher& launcher, std::span<const Kernel* const> kernels,
             const GemmArgs& args) const override {
    WgmmaSplitArgs launch{};
    const BatchStride a = batch_stride(args, args.a_batch);
    const BatchStride b = batch_stride(args, args.b_batch);
    if (Status ok = encode(launcher, args, view_of_a(args), a.stride, kTileM, launch.a); !ok) {
      return ok;
    }
    if (Status ok = encode(launcher, args, view_of_b(args), b.stride, tile_n_, launch.b); !ok) {
      return ok;
    }
    launch.c = static_cast<float*>(args.c);
    launch.c_row = args.c_row;
    launch.c_col = args.c_col;
    launch.c_batch = batch_stride(args, args.c_batch).stride;
    launch.m = static_cast<unsigned>(args.m);
    launch.n = static_cast<unsigned>(args.n);
    launch.steps = static_cast<unsigned>(ceil_div(args.k, kStep));
    launch.tiles_m = static_cast<unsigned>(tiles_m(args));
    launch.tiles_n = static_cast<unsigned>(tiles_n(args));
    launch.tiles = static_cast<unsigned>(tiles_m(args) * tiles_n(args) * args.batch);
    launch.a_batched = a.stride != 0;
    launch.b_batched = b.stride != 0;
    launch.pairs =
        args.c_col == 1 && args.c_row % 2 == 0 && launch.c_batch % 2 == 0 && alignment(args.c) >= 8;
    launch.alpha = static_cast<float>(args.alpha);
    launch.beta = static_cast<float>(args.beta);
    const auto blocks =
        std::min(launch.tiles, static_cast<unsigned>(launcher.machine().multiprocessors));
    return launcher.launch(*kernels[0], &launch, sizeof launch, {blocks, 1, 1}, kThreads,
                           shared_bytes());
  }

  std::vector<Membership> memberships(const MatmulKey& key) const override {
    if (key.elem_lhs != DType::f32) return {};
    switch (key.precision) {
      case Precision::highest:
        return {};
      case Precision::split:
        return {{"hopper", 3}};
      case Precision::high:
      case Precision::medium:
        return {{"hopper", 0}};  // exacter than asked for, and three times the work
    }
    return {};
  }

  double predicted_s(const GemmArgs& args, const CudaMachine& machine) const override {
    // As measured on an H200. Shared memory, which is read 64 bytes a cycle by the instructions
    // alone, takes it from the 1.0 us that 128 columns need at the tensor cores' rate.
    const double step_s = 0.3e-6 + 7.2e-9 * tile_n_;
    // Before and after the steps of a tile: filling the ring, writing C.
    const double tile_s = static_cast<double>(ceil_div(args.k, kStep)) * step_s + 2e-6;
    const std::int64_t waves =
        ceil_div(tiles_m(args) * tiles_n(args) * args.batch, std::max(machine.multiprocessors, 1));
    return 3e-6 + static_cast<double>(waves) * tile_s;
  }

 private:
  std::int64_t tiles_m(const GemmArgs& args) const { return ceil_div(args.m, kTileM); }
  std::int64_t tiles_n(const GemmArgs& args) const { return ceil_div(args.n, tile_n_); }

  std::uint32_t shared_bytes() const {
    // A, B and B's low parts; and what it takes to align the ring to 1024 bytes.
    const auto lines = static_cast<std::uint32_t>(kTileM + 2 * tile_n_);
    return static_cast<std::uint32_t>(stages_) * lines * 128 + 1024;
  }

  static Status encode(CudaLauncher& launcher, const GemmArgs& args, const OperandView& x,
                       std::int64_t batch, std::int64_t tile_lines, TensorMap& map) {
    TensorMapShape shape;
    shape.dtype = DType::f32;
    shape.rank = 3;
    shape.address = x.data;
    shape.extents = {static_cast<std::uint64_t>(x.items), static_cast<std::uint64_t>(x.lines),
                     static_cast<std::uint64_t>(batch != 0 ? args.batch : 1)};
    // The stride of an axis of extent 1 means nothing, but has to be valid.
    const std::int64_t pitch = x.lines > 1 ? x.line * 4 : 16;
    shape.strides_bytes = {static_cast<std::uint64_t>(pitch),
                           static_cast<std::uint64_t>(batch != 0 ? batch * 4 : pitch)};
    shape.box = {static_cast<std::uint32_t>(kStep), static_cast<std::uint32_t>(tile_lines), 1};
    return launcher.encode(shape, map);
  }

  const int tile_n_, stages_;
};

}  // namespace

void add_wgmma_split(CudaCandidates& rows) {
  // Columns of a tile, and as many stages as fit: wide tiles spare shared memory, narrow ones fill
  // the device with small products.
  struct Row {
    int tile_n, stages;
  };
  for (const Row row : {Row{128, 4}, Row{192, 3}, Row{160, 4}, Row{96, 5}, Row{64, 6}}) {
    rows.push_back(std::make_unique<WgmmaSplit>(row.tile_n, row.stages));
  }
}

}  // namespace rooftune
