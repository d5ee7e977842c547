// Products so small that what counts is how many run at once: all elements of all batches numbered
// through (flat), or a tile of C for a group of threads and several tiles a block (tile).
#include <algorithm>
#include <bit>

#include "ops/matmul/cuda/candidate.h"
#include "ops/matmul/cuda/layout.h"
#include "ops/matmul/cuda/small.h"
#include "ops/matmul/cuda/tiny_args.h"

namespace rooftune {
namespace {

TinyArgs args_of(const GemmArgs& args, const FlatBatch& flat) {
  TinyArgs to{};
  to.a = args.a, to.b = args.b, to.c = args.c;
  to.a_row = args.a_row, to.a_col = args.a_col, to.a_batch = flat.a;
  to.b_row = args.b_row, to.b_col = args.b_col, to.b_batch = flat.b;
  to.c_row = args.c_row, to.c_col = args.c_col, to.c_batch = flat.c;
  to.m = static_cast<unsigned>(args.m);
  to.n = static_cast<unsigned>(args.n);
  to.k = static_cast<unsigned>(args.k);
  to.out = output_of(args);
  return to;
}

double bytes_of(const GemmArgs& args) {
  const auto number = [](std::int64_t i) { return static_cast<double>(i); };
  return number(args.batch) * (number(args.m) * number(args.k) * number(size_of(args.a_type)) +
                               number(args.k) * number(args.n) * number(size_of(args.b_type)) +
                               number(args.m) * number(args.n) * number(size_of(args.c_type)));
}

const char* refuse_large(const GemmArgs& args) {
  if (const char* why = refuse_general(args)) return why;
  if (args.m > kMaxBlocks || args.n > kMaxBlocks / args.m || args.k > kMaxBlocks)
    return "too large";
  return nullptr;
}

// C's rows are what neighbouring threads store; where its columns are contiguous, the transposed
// product has them so.
GemmArgs rows_contiguous(const GemmArgs& args) {
  return args.c_col != 1 && args.c_row == 1 ? transposed(args) : args;
}

std::vector<CudaCandidate::Membership> small_only(const MatmulKey& key, std::int64_t largest) {
  if (std::max(key.m, key.n) > largest || key.k > 1024) return {};
  return {{"tiny", 3}};
}

// --- Flat.
constexpr std::uint32_t kFlatThreads = 256;

class TinyFlat : public CudaCandidate {
 public:
  TinyFlat(const char* name, int k_lanes)
      : CudaCandidate(name, CudaNeeds::ampere), k_lanes_(k_lanes) {}

  const char* illegal_because(const GemmArgs& args, const CudaMachine&) const override {
    return refuse_large(args);
  }
  CudaVariant variant(const GemmArgs& args) const override {
    return VariantWriter().put(args.a_type).put(args.b_type).variant();
  }
  std::vector<CudaKernelPlan> plans(CudaVariant variant) const override {
    VariantReader reader(variant);
    CudaKernelPlan plan;
    plan.file = "tiny_flat.cu";
    plan.defines.push_back(define("A_TYPE", reader.dtype()));
    plan.defines.push_back(define("B_TYPE", reader.dtype()));
    plan.defines.push_back(define("K_LANES", k_lanes_));
    plan.threads = kFlatThreads;
    plan.registers = 96;
    return {plan};
  }
  std::vector<CudaVariant> variants() const override {
    std::vector<CudaVariant> all;
    for (const TypePair& types : kTypePairs)
      all.push_back(VariantWriter().put(types.a).put(types.b).variant());
    return all;
  }
  Status run(CudaLauncher& launcher, std::span<const Kernel* const> kernels,
             const GemmArgs& args) const override {
    TinyArgs to = args_of(args, flat_batch(args));
    to.units = args.m * args.n * args.batch;
    // Beyond the most blocks that a grid may have, the kernel walks on.
    const auto blocks = static_cast<std::uint32_t>(
        std::min(ceil_div(to.units, kFlatThreads / k_lanes_), kMaxBlocks));
    return launcher.launch(*kernels[0], &to, sizeof(to), {blocks, 1, 1}, kFlatThreads, 0);
  }
  std::vector<Membership> memberships(const MatmulKey& key) const override {
    return small_only(key, 128);
  }
  double predicted_s(const GemmArgs& args, const CudaMachine& machine) const override {
    // Measured on an H200: a multiprocessor reads the operands of 5 terms a nanosecond from its
    // first cache, a thread waits 0.6 us for those of 8, and to add up lanes costs about 5 terms.
    const double processors = std::max(1, machine.multiprocessors);
    const double units =
        static_cast<double>(args.m) * static_cast<double>(args.n) * static_cast<double>(args.batch);
    const double terms = static_cast<double>(ceil_div(args.k, k_lanes_));
    const double adding = k_lanes_ > 1 ? 5 : 0;
    const double work = units * k_lanes_ * (terms + adding) / (5e9 * processors);
    const double wait = 0.6e-6 * static_cast<double>(ceil_div(args.k, 8 * k_lanes_));
    return kLaunchSeconds + std::max({work, wait, bytes_of(args) / (kBytesPerSecond * processors)});
  }

 private:
  const int k_lanes_;
};

// --- Tile.
struct Tile {
  const char* name;
  int thread_m, thread_n;    // tile of a thread
  int threads_y, threads_x;  // of a tile
  int groups;                // tiles of a block
  int m() const { return thread_m * threads_y; }
  int n() const { return thread_n * threads_x; }
  int threads() const { return threads_y * threads_x * groups; }
};
constexpr Tile kTiles[] = {{"tiny_tile_16", 2, 2, 8, 8, 4},
                           {"tiny_tile_32", 4, 4, 8, 8, 2},
                           {"tiny_tile_64", 4, 4, 16, 16, 1}};
constexpr int kTerms = 32;  // at a time: what a tile has in shared memory leaves room for others

class TinyTile : public CudaCandidate {
 public:
  explicit TinyTile(const Tile& tile) : CudaCandidate(tile.name, CudaNeeds::ampere), tile_(tile) {}

  const char* illegal_because(const GemmArgs& args, const CudaMachine& machine) const override {
    if (const char* why = refuse_large(args)) return why;
    const GemmArgs turned = rows_contiguous(args);
    if (a_major(turned) == Major::none || b_major(turned) == Major::none)
      return "an operand has no contiguous axis";
    const Special s = special_of(turned);
    if (shared_bytes(s) > machine.shared_bytes) return "too little shared memory";
    if (tiles(args.m, tile_.m()) * tiles(args.n, tile_.n()) > kMaxBlocks / args.batch)
      return "too large";
    return nullptr;
  }
  CudaVariant variant(const GemmArgs& args) const override {
    return encode(special_of(rows_contiguous(args)));
  }
  std::vector<CudaKernelPlan> plans(CudaVariant variant) const override {
    VariantReader reader(variant);
    Special s;
    s.a = reader.dtype();
    s.b = reader.dtype();
    s.a_k = reader.number(1) != 0;
    s.b_k = reader.number(1) != 0;
    s.vectors = reader.number(1) != 0;
    CudaKernelPlan plan;
    plan.file = "tiny_tile.cu";
    plan.defines = {define("A_TYPE", s.a),          define("B_TYPE", s.b),
                    define("A_K", s.a_k ? 1 : 0),   define("B_K", s.b_k ? 1 : 0),
                    define("TM", tile_.thread_m),   define("TN", tile_.thread_n),
                    define("TY", tile_.threads_y),  define("TX", tile_.threads_x),
                    define("GROUPS", tile_.groups), define("KC", kTerms),
                    define("LOAD", load(s))};
    plan.threads = static_cast<std::uint32_t>(tile_.threads());
    plan.shared_bytes = shared_bytes(s);
    plan.registers = 128;
    plan.spill_bytes = 128;  // of addresses, where the compiler prefers more warps
    return {plan};
  }
  std::vector<CudaVariant> variants() const override {
    std::vector<CudaVariant> all;
    for (const TypePair& types : kTypePairs) {
      for (const bool a_k : {false, true}) {
        for (const bool b_k : {false, true}) {
          for (const bool vectors : {false, true}) {
            if (vectors && size_of(types.a) == 1) continue;
            all.push_back(encode({types.a, types.b, a_k, b_k, vectors}));
          }
        }
      }
    }
    return all;
  }
  Status run(CudaLauncher& launcher, std::span<const Kernel* const> kernels,
             const GemmArgs& args) const override {
    const GemmArgs turned = rows_contiguous(args);
    const Special s = special_of(turned);
    TinyArgs to = args_of(turned, flat_batch(turned));
    to.tiles_m = static_cast<unsigned>(tiles(turned.m, tile_.m()));
    to.tiles_n = static_cast<unsigned>(tiles(turned.n, tile_.n()));
    to.units = turned.batch * to.tiles_m * to.tiles_n;
    const auto lanes = [&](std::int64_t extent, std::int64_t most) {
      const auto loads = static_cast<unsigned>(ceil_div(std::min(extent, most), load(s)));
      return std::bit_ceil(loads);
    };
    to.a_lanes = s.a_k ? lanes(turned.k, kTerms) : lanes(turned.m, tile_.m());
    to.b_lanes = s.b_k ? lanes(turned.k, kTerms) : lanes(turned.n, tile_.n());
    const auto blocks = static_cast<std::uint32_t>(ceil_div(to.units, tile_.groups));
    return launcher.launch(*kernels[0], &to, sizeof(to), {blocks, 1, 1},
                           static_cast<std::uint32_t>(tile_.threads()), shared_bytes(s));
  }
  std::vector<Membership> memberships(const MatmulKey& key) const override {
    return small_only(key, 4 * std::max(tile_.m(), tile_.n()));
  }
  double predicted_s(const GemmArgs& args, const CudaMachine& machine) const override {
    // Whole tiles are multiplied, at some 50 terms a nanosecond and multiprocessor (f64: 20), and
    // each kTerms of them wait about 1.5 us for memory and each other.
    const double processors = std::max(1, machine.multiprocessors);
    const double units = static_cast<double>(tiles(args.m, tile_.m())) *
                         static_cast<double>(tiles(args.n, tile_.n())) *
                         static_cast<double>(args.batch);
    const double terms = units * tile_.m() * tile_.n() * static_cast<double>(args.k);
    const double rate = args.a_type == DType::f64 ? 20e9 : 50e9;
    const double resident = 2048.0 / tile_.threads() * tile_.groups * processors;
    const double rounds = std::max(1.0, units / resident);
    return kLaunchSeconds +
           std::max({terms / (rate * processors), bytes_of(args) / (kBytesPerSecond * processors),
                     1.5e-6 * static_cast<double>(ceil_div(args.k, kTerms)) * rounds});
  }

 private:
  struct Special {
    DType a, b;
    bool a_k, b_k;  // contiguous along k
    bool vectors;   // both operands may be loaded 16 bytes at a time
  };
  static CudaVariant encode(const Special& s) {
    return VariantWriter()
        .put(s.a)
        .put(s.b)
        .put(s.a_k ? 1 : 0, 1)
        .put(s.b_k ? 1 : 0, 1)
        .put(s.vectors ? 1 : 0, 1)
        .variant();
  }
  static int load(const Special& s) { return s.vectors ? 16 / static_cast<int>(size_of(s.a)) : 1; }
  static std::int64_t tiles(std::int64_t extent, int tile) { return ceil_div(extent, tile); }

  static Special special_of(const GemmArgs& args) {
    const FlatBatch flat = flat_batch(args);
    Special s{args.a_type, args.b_type, a_major(args) == Major::k, b_major(args) == Major::k,
              false};
    const std::int64_t load = 16 / size_of(s.a);
    const auto loads = [&](const void* address, DType dtype, bool k, std::int64_t lines,
                           std::int64_t pitch, std::int64_t others, std::int64_t batch) {
      return (k ? args.k : others) % load == 0 &&
             loads_of(16, address, dtype, lines == 1 ? 0 : pitch, batch);
    };
    s.vectors = size_of(s.a) > 1 &&
                loads(args.a, s.a, s.a_k, s.a_k ? args.m : args.k, s.a_k ? args.a_row : args.a_col,
                      args.m, flat.a) &&
                loads(args.b, s.b, s.b_k, s.b_k ? args.n : args.k, s.b_k ? args.b_col : args.b_row,
                      args.n, flat.b);
    return s;
  }

  // As PanelA and PanelB of the kernel.
  std::uint32_t shared_bytes(const Special& s) const {
    const int size = s.a == DType::f64 ? 8 : 4, lane = 16 / size;
    const auto panel = [&](bool along_k, int rows) {
      return along_k ? rows * (kTerms + lane) : kTerms * (rows + lane);
    };
    return static_cast<std::uint32_t>((panel(s.a_k, tile_.m()) + panel(s.b_k, tile_.n())) * size *
                                      tile_.groups);
  }

  const Tile tile_;
};

}  // namespace

void add_tiny(CudaCandidates& rows) {
  rows.push_back(std::make_unique<TinyFlat>("tiny_flat_1k", 1));
  rows.push_back(std::make_unique<TinyFlat>("tiny_flat_8k", 8));
  rows.push_back(std::make_unique<TinyFlat>("tiny_flat_32k", 32));
  for (const Tile& tile : kTiles) rows.push_back(std::make_unique<TinyTile>(tile));
}

}  // namespace rooftune
