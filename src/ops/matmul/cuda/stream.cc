// A few vectors against a big matrix, at the memory's rate: rows that differ in how the warps of a
// block divide k and the matrix's rows, and whether the blocks of a cluster divide k too.
#include <algorithm>
#include <array>

#include "ops/matmul/cuda/candidate.h"
#include "ops/matmul/cuda/layout.h"
#include "ops/matmul/cuda/small.h"
#include "ops/matmul/cuda/stream_args.h"

namespace rooftune {
namespace {

struct Shape {
  const char* name;
  int row_groups;  // tiles of 16 rows of a warp, where the matrix is contiguous along k
  int warps;       // of a block
  int k_warps;     // of those, how many divide k
  int split;       // blocks of a cluster that divide k
};

// Warps that share rows keep more loads of the same rows under way, and meet at the end; warps with
// rows of their own suit a small k. Clusters are for matrices with too few rows to go round.
constexpr Shape kShapes[] = {
    {"stream_8k", 1, 8, 8, 1},    {"stream_4k", 1, 4, 4, 1},    {"stream_4x2k", 1, 8, 2, 1},
    {"stream_8x1k", 1, 8, 1, 1},  {"stream_8k_2r", 2, 8, 8, 1}, {"stream_8x1k_2r", 2, 8, 1, 1},
    {"stream_8k_c2", 1, 8, 8, 2}, {"stream_8k_c4", 1, 8, 8, 4}, {"stream_8k_c8", 1, 8, 8, 8},
    {"stream_16k", 1, 16, 16, 1},
};

// A block has 16 warps or a multiprocessor has two blocks of 8: either way 128 registers a thread,
// and 64 KB of loads under way.
constexpr int kWarpsResident = 16;

enum class Loads : std::uint8_t { elements, vectors, arranged };  // of the vectors

struct Special {
  DType w, x;
  int tile_vectors;  // 1, 2, 4, ... that a tile has room for
  bool columns;      // the matrix is contiguous along its rows
  bool w_vector;     // and may be loaded 16 bytes at a time
  Loads x_loads;
};

CudaVariant encode(const Special& s) {
  return VariantWriter()
      .put(s.w)
      .put(s.x)
      .put(static_cast<std::uint64_t>(s.tile_vectors), 6)
      .put(s.columns ? 1 : 0, 1)
      .put(s.w_vector ? 1 : 0, 1)
      .put(static_cast<std::uint64_t>(s.x_loads), 2)
      .variant();
}
Special decode(CudaVariant variant) {
  VariantReader reader(variant);
  Special s;
  s.w = reader.dtype();
  s.x = reader.dtype();
  s.tile_vectors = reader.number(6);
  s.columns = reader.number(1) != 0;
  s.w_vector = reader.number(1) != 0;
  s.x_loads = static_cast<Loads>(reader.number(2));
  return s;
}

// f32 has no tensor core that keeps its accuracy; f64 has, and needs it from 8 vectors on.
bool on_tensor_cores(DType w, int tile_vectors) {
  return size_of(w) <= 2 || (w == DType::f64 && tile_vectors >= 8);
}
int most_vectors(DType w) { return size_of(w) <= 2 ? 32 : 16; }
int tile_vectors(DType w, std::int64_t vectors) {
  int tile = size_of(w) <= 2 || (w == DType::f64 && vectors > 4) ? 8 : 1;
  while (tile < vectors) tile *= 2;
  return tile;
}
int elements_of_load(DType w) { return 16 / static_cast<int>(size_of(w)); }
int tile_rows(const Special& s, const Shape& shape) {
  return s.columns ? 8 * elements_of_load(s.w) : 16 * shape.row_groups;
}
int sum_bytes(DType w) { return w == DType::f64 ? 8 : 4; }
std::uint32_t shared_bytes(const Special& s, const Shape& shape) {
  return static_cast<std::uint32_t>(2 * shape.warps * s.tile_vectors * tile_rows(s, shape) *
                                    sum_bytes(s.w));
}

// Chunks of k that a warp loads at once: as many as its 128 registers allow beside the sums.
int unroll(const Special& s, const Shape& shape) {
  const bool bytes = s.w == DType::i8 || s.w == DType::u8;
  if (!on_tensor_cores(s.w, s.tile_vectors)) {
    if (s.tile_vectors == 16 || shape.warps == 16) return 1;
    if (s.columns) return s.tile_vectors == 8 ? 1 : 2;
    return (s.tile_vectors == 8 ? 2 : 4) / shape.row_groups;
  }
  if (s.columns) return bytes || s.tile_vectors > 16 ? 1 : 2;
  if (s.tile_vectors > 16 || (s.tile_vectors == 16 && s.x_loads == Loads::elements))
    return shape.row_groups == 1 ? 2 : 1;
  return 4 / shape.row_groups;
}
int terms_of_chunk(const Special& s) {
  if (!s.columns) return 4 * elements_of_load(s.w);
  return s.w == DType::i8 || s.w == DType::u8 ? 32 : 16;
}

// A problem as the kernels see it. The matrix is the operand with more rows.
struct View {
  Special special;
  std::int64_t rows, vectors, k, batch;
  const void *w, *x;
  std::int64_t w_r, w_k, w_batch;
  std::int64_t x_v, x_k, x_batch;
  std::int64_t c_v, c_r, c_batch;

  std::int64_t w_pitch() const { return special.columns ? w_k : w_r; }
};

View view_of(const GemmArgs& args) {
  const FlatBatch flat = flat_batch(args);
  View v;
  v.k = args.k;
  v.batch = flat.count;
  v.c_batch = flat.c;
  if (args.n <= args.m) {
    v.rows = args.m, v.vectors = args.n;
    v.w = args.a, v.w_r = args.a_row, v.w_k = args.a_col, v.w_batch = flat.a;
    v.x = args.b, v.x_v = args.b_col, v.x_k = args.b_row, v.x_batch = flat.b;
    v.c_v = args.c_col, v.c_r = args.c_row;
    v.special.w = args.a_type, v.special.x = args.b_type;
  } else {
    v.rows = args.n, v.vectors = args.m;
    v.w = args.b, v.w_r = args.b_col, v.w_k = args.b_row, v.w_batch = flat.b;
    v.x = args.a, v.x_v = args.a_row, v.x_k = args.a_col, v.x_batch = flat.a;
    v.c_v = args.c_row, v.c_r = args.c_col;
    v.special.w = args.b_type, v.special.x = args.a_type;
  }
  if (v.rows == 1) v.w_r = 0;
  if (v.vectors == 1) v.x_v = 0;
  if (v.k == 1) v.w_k = 1, v.x_k = 1;
  Special& s = v.special;
  s.tile_vectors = tile_vectors(s.w, std::min<std::int64_t>(v.vectors, most_vectors(s.w)));
  s.columns = v.w_k != 1 || (v.k == 1 && v.w_r == 1);
  s.w_vector = loads_of(16, v.w, s.w, v.w_pitch(), v.w_batch) &&
               (!s.columns || v.rows % elements_of_load(s.w) == 0);
  // Elements of x one by one cost f32 with many vectors, and bytes, more than to arrange x first.
  const bool gathers =
      on_tensor_cores(s.w, s.tile_vectors) ? size_of(s.x) > 1 : s.tile_vectors <= 2;
  s.x_loads = v.x_k == 1 && loads_of(16, v.x, s.x, v.x_v, v.x_batch) ? Loads::vectors
              : gathers                                              ? Loads::elements
                                                                     : Loads::arranged;
  return v;
}

class StreamCandidate : public CudaCandidate {
 public:
  explicit StreamCandidate(const Shape& shape)
      : CudaCandidate(shape.name, shape.split > 1 ? CudaNeeds::tma : CudaNeeds::ampere),
        shape_(shape) {}

  const char* illegal_because(const GemmArgs& args, const CudaMachine& machine) const override {
    if (const char* why = refuse_general(args)) return why;
    const View v = view_of(args);
    const Special& s = v.special;
    if (v.vectors > most_vectors(s.w)) return "more vectors than a tile has room for";
    if (s.columns && v.w_r != 1 && v.rows != 1) return "no axis of the matrix is contiguous";
    if (const char* why = no_kernel(s)) return why;
    if (shared_bytes(s, shape_) > machine.shared_bytes) return "too little shared memory";
    if (ceil_div(v.rows, tile_rows(s, shape_)) > kMaxBlocks / v.batch || v.k > kMaxBlocks)
      return "too large";
    return nullptr;
  }

  CudaVariant variant(const GemmArgs& args) const override { return encode(view_of(args).special); }

  std::vector<CudaKernelPlan> plans(CudaVariant variant) const override {
    const Special s = decode(variant);
    CudaKernelPlan plan;
    plan.file = !on_tensor_cores(s.w, s.tile_vectors) ? "stream_fma.cu"
                : s.w == DType::f64                   ? "stream_dmma.cu"
                                                      : "stream_mma.cu";
    // Rows with fewer warps share the kernel of those with eight.
    const int threads = shape_.warps == 16 ? 512 : 256;
    plan.defines = {define("W_TYPE", s.w),
                    define("X_TYPE", s.x),
                    define("VECTORS", s.tile_vectors),
                    define("COLUMNS", s.columns ? 1 : 0),
                    define("W_VECTOR", s.w_vector ? 1 : 0),
                    define("X_VECTOR", s.x_loads != Loads::elements ? 1 : 0),
                    define("ROW_GROUPS", shape_.row_groups),
                    define("UNROLL", unroll(s, shape_)),
                    define("SPLIT", shape_.split),
                    define("THREADS", threads),
                    define("BLOCKS", kWarpsResident * 32 / threads)};
    plan.threads = static_cast<std::uint32_t>(32 * shape_.warps);
    plan.shared_bytes = shared_bytes(s, shape_);
    plan.registers = 128;
    // Where sums and loads fill the registers, what spills are addresses outside the loop.
    plan.spill_bytes = 512;
    std::vector<CudaKernelPlan> all = {plan};
    if (s.x_loads == Loads::arranged) {
      CudaKernelPlan arrange;
      arrange.file = "stream_arrange.cu";
      arrange.defines = {define("BYTES", size_of(s.x))};
      arrange.threads = kArrangeThreads;
      all.push_back(arrange);
    }
    return all;
  }

  std::vector<CudaVariant> variants() const override {
    std::vector<CudaVariant> all;
    for (const TypePair& types : kTypePairs) {
      Special s;
      s.w = types.a, s.x = types.b;
      for (s.tile_vectors = tile_vectors(s.w, 1); s.tile_vectors <= most_vectors(s.w);
           s.tile_vectors *= 2) {
        for (const bool columns : {false, true}) {
          for (const bool w_vector : {false, true}) {
            for (const Loads loads : {Loads::elements, Loads::vectors, Loads::arranged}) {
              s.columns = columns, s.w_vector = w_vector, s.x_loads = loads;
              const bool gathers =
                  on_tensor_cores(s.w, s.tile_vectors) ? size_of(s.x) > 1 : s.tile_vectors <= 2;
              const bool asked = loads == Loads::vectors || (loads == Loads::elements) == gathers;
              if (asked && no_kernel(s) == nullptr) all.push_back(encode(s));
            }
          }
        }
      }
    }
    return all;
  }

  Status run(CudaLauncher& launcher, std::span<const Kernel* const> kernels,
             const GemmArgs& args) const override {
    const View v = view_of(args);
    const Special& s = v.special;
    StreamArgs to{};
    to.w = v.w, to.x = v.x, to.c = args.c;
    to.rows = v.rows, to.k = v.k;
    to.w_pitch = v.w_pitch();
    to.x_v = v.x_v, to.x_k = v.x_k;
    to.c_v = v.c_v, to.c_r = v.c_r;
    to.w_batch = v.w_batch, to.x_batch = v.x_batch, to.c_batch = v.c_batch;
    to.out = output_of(args);
    to.vectors = static_cast<int>(v.vectors);
    to.k_warps = shape_.k_warps;
    if (s.x_loads == Loads::arranged) {
      StreamArrangeArgs arrange{};
      const std::int64_t load = elements_of_load(s.x);
      arrange.pitch = ceil_div(v.k, load) * load;
      // A broadcast x is arranged once.
      arrange.batch = static_cast<int>(v.x_batch == 0 ? 1 : v.batch);
      const std::int64_t elements = arrange.pitch * v.vectors * arrange.batch;
      auto scratch = launcher.scratch(static_cast<std::uint64_t>(elements * size_of(s.x)));
      if (!scratch) return std::unexpected(std::move(scratch.error()));
      arrange.x = v.x, arrange.arranged = *scratch;
      arrange.k = v.k;
      arrange.x_v = v.x_v, arrange.x_k = v.x_k, arrange.x_batch = v.x_batch;
      arrange.vectors = to.vectors;
      const auto blocks = static_cast<std::uint32_t>(ceil_div(v.k, kArrangeThreads));
      // The y axis of a grid ends at 65535; the kernel walks on from there.
      const auto batches = static_cast<std::uint32_t>(std::min(arrange.batch, 65535));
      if (Status done = launcher.launch(*kernels[1], &arrange, sizeof(arrange),
                                        {blocks, batches, 1}, kArrangeThreads, 0);
          !done)
        return done;
      to.x = *scratch;
      to.x_v = arrange.pitch, to.x_k = 1;
      to.x_batch = v.x_batch == 0 ? 0 : arrange.pitch * v.vectors;
    }
    const Grid grid = grid_of(v, launcher.machine());
    to.tiles = static_cast<unsigned>(grid.tiles);
    to.all_tiles = static_cast<unsigned>(grid.tiles * v.batch);
    to.units = static_cast<unsigned>(grid.units);
    return launcher.launch(
        *kernels[0], &to, sizeof(to),
        {static_cast<std::uint32_t>(grid.blocks), static_cast<std::uint32_t>(shape_.split), 1},
        static_cast<std::uint32_t>(32 * shape_.warps), shared_bytes(s, shape_));
  }

  std::vector<Membership> memberships(const MatmulKey& key) const override {
    const std::int64_t vectors = std::min(key.m, key.n);
    if (vectors > most_vectors(key.elem_lhs)) return {};
    if (vectors == 1) return {{"gemv", 3}, {"stream", 3}};
    return {{"stream", 3}};
  }

  double predicted_s(const GemmArgs& args, const CudaMachine& machine) const override {
    const View v = view_of(args);
    const Special& s = v.special;
    const Grid grid = grid_of(v, machine);
    const double size = static_cast<double>(size_of(s.w));
    const double batch = static_cast<double>(v.batch);
    const double bytes = size * batch *
                         (static_cast<double>(v.rows) * static_cast<double>(v.k) +
                          static_cast<double>(v.vectors) * static_cast<double>(v.rows + v.k));
    // Rounds of units over the resident blocks: the last one is as long as the others.
    const double blocks = static_cast<double>(grid.blocks * shape_.split);
    const double resident = resident_blocks(machine);
    const double rounds =
        shape_.split > 1
            ? std::max(1.0, static_cast<double>(ceil_div(grid.blocks * shape_.split,
                                                         static_cast<std::int64_t>(resident))))
            : static_cast<double>(ceil_div(grid.units, grid.blocks));
    const double busy = static_cast<double>(grid.units * shape_.split) /
                        (rounds * std::max(blocks / (shape_.split > 1 ? rounds : 1), resident));
    // Warps without a step of their own load nothing, and a warp's first loads find none ahead.
    const double steps = static_cast<double>(v.k) / (terms_of_chunk(s) * unroll(s, shape_)) /
                         (shape_.k_warps * shape_.split);
    const double ahead = std::min(1.0, steps) * (0.8 + 0.2 * std::min(1.0, steps / 4));
    // Two thirds of the warps are enough to reach the memory's rate.
    const double share = std::min(1.0, 1.5 * busy) * (0.5 + 0.5 * busy) * ahead;
    const double rows = tile_rows(s, shape_);
    double slower = 1 + 0.25 * s.tile_vectors / rows;  // x comes from the first cache
    if (!on_tensor_cores(s.w, s.tile_vectors)) slower += 0.08 * s.tile_vectors;
    if (!s.w_vector) slower += 0.5 * elements_of_load(s.w) / 2;
    double launches = kLaunchSeconds;
    if (s.x_loads == Loads::arranged) launches += kLaunchSeconds;
    if (shape_.split > 1) launches += 1e-6;  // the cluster meets twice
    return launches +
           slower * bytes /
               (kBytesPerSecond * std::max(1, machine.multiprocessors) * std::max(share, 1e-3));
  }

 private:
  static constexpr std::uint32_t kArrangeThreads = 128;

  struct Grid {
    std::int64_t tiles;   // of rows, in each batch
    std::int64_t units;   // of tiles that a block has at once
    std::int64_t blocks;  // along x
  };

  double resident_blocks(const CudaMachine& machine) const {
    return static_cast<double>(std::max(1, machine.multiprocessors)) * kWarpsResident /
           shape_.warps;
  }

  // As many blocks as are resident at once, and fewer where all then have the same to do. Clusters
  // do not fill a device evenly: each takes a unit, and the device hands them out.
  Grid grid_of(const View& v, const CudaMachine& machine) const {
    Grid grid;
    grid.tiles = ceil_div(v.rows, tile_rows(v.special, shape_));
    grid.units = ceil_div(grid.tiles * v.batch, shape_.warps / shape_.k_warps);
    grid.blocks = grid.units;
    if (shape_.split == 1) {
      const auto resident = static_cast<std::int64_t>(resident_blocks(machine));
      grid.blocks = ceil_div(grid.units, ceil_div(grid.units, resident));
    }
    return grid;
  }

  // Kernels that would be many and are worth little.
  const char* no_kernel(const Special& s) const {
    if (s.columns && shape_.row_groups > 1) return "the matrix is not contiguous along k";
    const bool only_aligned = shape_.split > 1 || shape_.warps == 16 ||
                              (s.columns && size_of(s.w) == 1) || s.tile_vectors > 16;
    if (!s.w_vector && only_aligned) return "the matrix cannot be loaded 16 bytes at a time";
    if (s.tile_vectors > 16 && (s.columns || shape_.split > 2 || shape_.warps == 16))
      return "no kernel for so many vectors";
    if (size_of(s.w) == 1 && (shape_.warps == 16 || shape_.split == 8))
      return "no kernel for elements of a byte";
    return nullptr;
  }

  const Shape shape_;
};

}  // namespace

void add_stream(CudaCandidates& rows) {
  for (const Shape& shape : kShapes) rows.push_back(std::make_unique<StreamCandidate>(shape));
}

}  // namespace rooftune
