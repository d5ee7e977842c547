// Hopper's warpgroup products: the rows of wgmma.cu, and how a problem becomes its arguments.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "ops/matmul/cuda/candidate.h"
#include "ops/matmul/cuda/layout.h"
#include "ops/matmul/cuda/wgmma_args.h"
#include "ops/matmul/cuda/wgmma_forms.h"

namespace rooftune {
namespace {

// Shared memory of a Hopper block, and what a second block on the multiprocessor leaves: each costs
// 1 KB besides.
constexpr std::uint32_t kSharedBytes = 227 * 1024;
constexpr std::uint32_t kHalfSharedBytes = 113 * 1024;
// Deeper rings than this never paid.
constexpr int kMostStages = 12;
// The widest m (or n) that narrow tiles are for.
constexpr std::int64_t kNarrow = 64;

// What is compiled: bits of a variant.
struct Kind {
  DType a = DType::f32, b = DType::f32, c = DType::f32;
  bool a_mn = false, b_mn = false;  // the operand's m (n) axis is contiguous
  bool bulk_c = false;              // C by bulk copies
  bool c_turned = false;            // C's m axis is contiguous

  CudaVariant bits() const {
    return static_cast<CudaVariant>(a) | static_cast<CudaVariant>(b) << 4 |
           static_cast<CudaVariant>(c) << 8 | CudaVariant{a_mn} << 12 | CudaVariant{b_mn} << 13 |
           CudaVariant{bulk_c} << 14 | CudaVariant{c_turned} << 15;
  }
  static Kind from(CudaVariant v) {
    return {.a = static_cast<DType>(v & 15),
            .b = static_cast<DType>(v >> 4 & 15),
            .c = static_cast<DType>(v >> 8 & 15),
            .a_mn = (v >> 12 & 1) != 0,
            .b_mn = (v >> 13 & 1) != 0,
            .bulk_c = (v >> 14 & 1) != 0,
            .c_turned = (v >> 15 & 1) != 0};
  }
};

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

bool is_f8(DType t) { return t == DType::f8e4m3 || t == DType::f8e5m2; }
bool is_int(DType t) { return t == DType::i8 || t == DType::u8; }

const char* ptx_type(DType t) {
  switch (t) {
    case DType::f32:
      return "tf32";
    case DType::f16:
      return "f16";
    case DType::bf16:
      return "bf16";
    case DType::f8e4m3:
      return "e4m3";
    case DType::f8e5m2:
      return "e5m2";
    case DType::u8:
      return "u8";
    default:
      return "s8";
  }
}

// C's n axis contiguous if either is.
GemmArgs by_rows(const GemmArgs& args) {
  return args.c_col != 1 && (args.c_row == 1 || args.n == 1) ? transposed(args) : args;
}

// The product as the kernel makes it: by rows; turned, C's m axis is the contiguous one.
GemmArgs oriented(const GemmArgs& args, const WgmmaForm& form) {
  const GemmArgs plain = by_rows(args);
  return form.narrow && plain.m < plain.n ? transposed(plain) : plain;
}

// An operand as rows of m (or n) and columns of k.
struct Matrix {
  const void* address;
  DType dtype;
  std::int64_t rows, row, col, batch;  // strides in elements
  std::int64_t batches;

  std::int64_t pitch(bool mn) const { return (mn ? col : row) * size_of(dtype); }
  // Whether bulk copies can read it with that axis contiguous.
  bool fits(bool mn, std::int64_t k) const {
    const std::int64_t inner = mn ? row : col, inner_extent = mn ? rows : k;
    const std::int64_t outer_extent = mn ? k : rows;
    if (inner != 1 && inner_extent != 1) return false;
    if (mn && size_of(dtype) != 2) return false;
    if (alignment(address) < 16) return false;
    // A copy's strides have 40 bits.
    constexpr std::int64_t kMost = std::int64_t{1} << 40;
    const std::int64_t to_next = batch * size_of(dtype);
    if (outer_extent > 1 && (pitch(mn) % 16 != 0 || pitch(mn) <= 0 || pitch(mn) >= kMost))
      return false;
    return batches == 1 || (to_next % 16 == 0 && to_next >= 0 && to_next < kMost);
  }
};

Matrix matrix_a(const GemmArgs& args, const FlatBatch& flat) {
  return {args.a, args.a_type, args.m, args.a_row, args.a_col, flat.a, flat.count};
}
Matrix matrix_b(const GemmArgs& args, const FlatBatch& flat) {
  return {args.b, args.b_type, args.n, args.b_col, args.b_row, flat.b, flat.count};
}

// A bulk copy of a tile's 8 columns of 16-bit elements would be narrower than any swizzle.
bool bulk_exists(const WgmmaForm& form, DType c, bool turned) {
  return !form.split && (turned || form.n * size_of(c) % 32 == 0);
}

// Of an oriented product.
Kind kind_of(const GemmArgs& args, const FlatBatch& flat, const WgmmaForm& form, bool turned) {
  Kind kind{.a = args.a_type, .b = args.b_type, .c = args.c_type};
  kind.a_mn = !matrix_a(args, flat).fits(false, args.k);
  kind.b_mn = !matrix_b(args, flat).fits(false, args.k);
  kind.c_turned = turned;
  if (!bulk_exists(form, args.c_type, turned) || args.beta != 0) return kind;
  // A bulk copy writes whole 16 bytes at the end of a line too.
  const std::int64_t size = size_of(args.c_type);
  const std::int64_t line = (turned ? args.m : args.n) * size;
  const std::int64_t pitch = (turned ? args.c_col : args.c_row) * size;
  const std::int64_t inner = turned ? args.c_row : args.c_col;
  kind.bulk_c = inner == 1 && line % 16 == 0 && pitch > 0 && alignment(args.c, pitch) == 16 &&
                (flat.count == 1 || (flat.c > 0 && alignment(nullptr, flat.c * size) == 16));
  return kind;
}

// --- Sizes in shared memory: those of wgmma.cu.
int stage_bytes(const WgmmaForm& form, const Kind& kind) {
  const int rows_b = kind.b_mn ? static_cast<int>(ceil_div(form.n, 64)) * 64 : form.n;
  return (form.m() + rows_b) * 128;
}
int staging_bytes(const WgmmaForm& form, const Kind& kind) {
  if (form.split) return 0;
  if (kind.bulk_c)
    return form.warpgroups * 2 * std::min(8192, 64 * form.n * static_cast<int>(size_of(kind.c)));
  return form.warpgroups * 4 * (kind.c_turned ? 32 * 68 : 64 * 40);
}
constexpr int kStageBarriers = 16;
constexpr int kFlag = 16;
int stages(const WgmmaForm& form, const Kind& kind) {
  const std::uint32_t room = form.blocks == 1 ? kSharedBytes : kHalfSharedBytes;
  const int left = static_cast<int>(room) - staging_bytes(form, kind) - kFlag;
  return std::min(kMostStages, left / (stage_bytes(form, kind) + kStageBarriers));
}
std::uint32_t shared_bytes(const WgmmaForm& form, const Kind& kind) {
  return static_cast<std::uint32_t>(stages(form, kind) *
                                        (stage_bytes(form, kind) + kStageBarriers) +
                                    staging_bytes(form, kind) + kFlag);
}

// Sums of a thread beyond which registers must move from the producer to where they are needed.
bool moves_registers(const WgmmaForm& form) {
  const int sums = form.row_blocks * form.n / 2 * (form.promote ? 3 : 1);
  return form.warpgroups >= 2 && sums >= 96;
}
std::uint32_t threads(const WgmmaForm& form) {
  return static_cast<std::uint32_t>(128 * form.warpgroups + (moves_registers(form) ? 128 : 32));
}

// --- How the work is cut.
struct Cut {
  std::int64_t tiles_m = 0, tiles_n = 0, tiles = 0;  // in units of a cluster's; tiles with batch
  std::int64_t k_blocks = 0;
  int k_groups = 1;
  std::int64_t clusters = 0;  // that the machine runs at a time
};

Cut cut_of(const GemmArgs& args, const WgmmaForm& form, const CudaMachine& machine) {
  Cut cut;
  cut.tiles_m = ceil_div(args.m, form.m() * form.cluster_m);
  cut.tiles_n = ceil_div(args.n, form.n * form.cluster_n);
  cut.k_blocks = ceil_div(args.k * size_of(args.a_type), 128);
  cut.tiles = cut.tiles_m * cut.tiles_n * args.batch;
  // Clusters of 4 and more do not fit everywhere: groups of multiprocessors have odd sizes. An H200
  // runs 30 of 33, 15 of 16.5.
  const int places = machine.multiprocessors * form.blocks / form.cluster();
  cut.clusters = std::max(1, form.cluster() > 2 ? places * 15 / 16 : places);
  if (form.split) {
    // As many parts as fill the machine, of 4 blocks of k or more: less does not pay for the sum.
    const std::int64_t most = std::max<std::int64_t>(1, cut.k_blocks / (4 * form.cluster_k));
    cut.k_groups = static_cast<int>(
        std::clamp<std::int64_t>(cut.clusters / cut.tiles, 1, std::min<std::int64_t>(most, 64)));
  }
  return cut;
}

// How a word looks that counts arrivals and has none. Scratch memory has this by chance once in
// 2^56 words, which spares a launch to clear it.
std::uint64_t no_arrivals() {
  static const std::uint64_t bits = [] {
    std::random_device random;
    return (std::uint64_t{random()} << 32 | random()) & ~std::uint64_t{255};
  }();
  return bits;
}

Status encode_operand(CudaLauncher& launcher, const Matrix& matrix, bool mn, std::int64_t k,
                      int rows, int sharers, TensorMap& map) {
  const std::int64_t size = size_of(matrix.dtype);
  const std::int64_t block = 128 / size;
  TensorMapShape shape;
  shape.dtype = matrix.dtype;
  shape.tf32 = matrix.dtype == DType::f32;
  shape.rank = 3;
  shape.address = matrix.address;
  const std::int64_t inner = mn ? matrix.rows : k, outer = mn ? k : matrix.rows;
  const bool batched = matrix.batches > 1 && matrix.batch != 0;
  // Strides along axes of one element are never used, but have to be multiples of 16.
  const std::int64_t pitch = outer > 1 ? matrix.pitch(mn) : ceil_div(inner * size, 16) * 16;
  const std::int64_t next = batched ? matrix.batch * size : 16;
  shape.extents = {static_cast<std::uint64_t>(inner), static_cast<std::uint64_t>(outer),
                   static_cast<std::uint64_t>(batched ? matrix.batches : 1)};
  shape.strides_bytes = {static_cast<std::uint64_t>(pitch), static_cast<std::uint64_t>(next)};
  shape.box = {static_cast<std::uint32_t>(mn ? 64 : block),
               static_cast<std::uint32_t>((mn ? block : rows) / sharers), 1};
  return launcher.encode(shape, map);
}

Status encode_output(CudaLauncher& launcher, const GemmArgs& args, const FlatBatch& flat,
                     const WgmmaForm& form, bool turned, TensorMap& map) {
  const int size = static_cast<int>(size_of(args.c_type));
  TensorMapShape shape;
  shape.dtype = args.c_type;
  shape.rank = 3;
  shape.address = args.c;
  const std::int64_t inner = turned ? args.m : args.n, outer = turned ? args.n : args.m;
  const std::int64_t pitch = turned ? args.c_col : args.c_row;
  shape.extents = {static_cast<std::uint64_t>(inner), static_cast<std::uint64_t>(outer),
                   static_cast<std::uint64_t>(flat.count)};
  shape.strides_bytes = {static_cast<std::uint64_t>(pitch * size),
                         static_cast<std::uint64_t>(flat.count > 1 ? flat.c * size : 16)};
  // The boxes of wgmma.cu.
  int width = 128, rows = 64;
  if (turned) {
    while (form.n % rows != 0) rows /= 2;
  } else {
    while (form.n * size % width != 0) width /= 2;
  }
  shape.box = {static_cast<std::uint32_t>(width / size), static_cast<std::uint32_t>(rows), 1};
  shape.swizzle_bytes = width;
  return launcher.encode(shape, map);
}

class WgmmaCandidate final : public CudaCandidate {
 public:
  explicit WgmmaCandidate(const WgmmaForm& form)
      : CudaCandidate(form.name, CudaNeeds::hopper), form_(form) {}

  const char* illegal_because(const GemmArgs& args, const CudaMachine&) const override {
    if (args.packed != nullptr) return "the right operand is packed";
    FlatBatch flat;
    if (!flatten_batch(args, flat)) return "the batch has several axes";
    switch (args.family) {
      case TypeFamily::f64:
        return "wgmma has no f64";
      case TypeFamily::f32:
        if (args.precision < Precision::high) return "TF32 is not exact enough";
        break;
      default:
        break;
    }
    if (is_f8(args.a_type) != form_.promote)
      return form_.promote ? "only for f8" : "sums of f8 have to be added up in registers";
    if (alignment(args.c) < static_cast<std::uint64_t>(size_of(args.c_type)))
      return "the output is misaligned";
    if (form_.has_twin) {
      const GemmArgs plain = by_rows(args);
      if (plain.m >= plain.n) return "another row does the same";
    }
    const GemmArgs product = oriented(args, form_);
    constexpr std::int64_t kMost = std::int64_t{1} << 31;
    if (product.m > kMost - 1024 || product.n > kMost - 1024 || product.k > kMost - 1024)
      return "a size is beyond 2^31";
    const Matrix a = matrix_a(product, flat), b = matrix_b(product, flat);
    if ((!a.fits(false, args.k) && !a.fits(true, args.k)) ||
        (!b.fits(false, args.k) && !b.fits(true, args.k)))
      return "bulk copies cannot read an operand: alignment, strides, or an 8-bit or f32 one with "
             "k not contiguous";
    const std::int64_t tiles = ceil_div(product.m, form_.m()) * ceil_div(product.n, form_.n);
    if (tiles > kMost / 64 / args.batch) return "too many tiles";
    if (ceil_div(args.k * size_of(args.a_type), 128) < form_.cluster_k)
      return "k is too small to be shared";
    return nullptr;
  }

  CudaVariant variant(const GemmArgs& args) const override {
    FlatBatch flat;
    if (!flatten_batch(args, flat)) return 0;
    const GemmArgs product = oriented(args, form_);
    return kind_of(product, flat, form_, is_turned(product)).bits();
  }

  std::vector<CudaKernelPlan> plans(CudaVariant variant) const override {
    const Kind kind = Kind::from(variant);
    const auto define = [](const char* name, auto value) {
      if constexpr (std::is_convertible_v<decltype(value), std::string_view>) {
        return std::string(name) + "=" + std::string(value);
      } else {
        return std::string(name) + "=" + std::to_string(static_cast<int>(value));
      }
    };
    CudaKernelPlan plan;
    plan.file = "wgmma.cu";
    plan.defines = {define("ELEMENT_C", cuda_type(kind.c)),
                    define("WGMMA_A", ptx_type(kind.a)),
                    define("WGMMA_B", ptx_type(kind.b)),
                    define("WGMMA_BYTES", size_of(kind.a)),
                    define("WGMMA_INT", is_int(kind.a)),
                    define("WGMMA_N", form_.n),
                    define("A_MN", kind.a_mn),
                    define("B_MN", kind.b_mn),
                    define("WARPGROUPS", form_.warpgroups),
                    define("ROW_BLOCKS", form_.row_blocks),
                    define("PING_PONG", form_.ping_pong),
                    define("STAGES", stages(form_, kind)),
                    define("CLUSTER_M", form_.cluster_m),
                    define("CLUSTER_N", form_.cluster_n),
                    define("CLUSTER_K", form_.cluster_k),
                    define("SPLIT", form_.split),
                    define("PROMOTE", form_.promote),
                    define("BULK_C", kind.bulk_c),
                    define("C_TURNED", kind.c_turned),
                    define("MOVE_REGISTERS", moves_registers(form_)),
                    define("BLOCKS", form_.blocks)};
    plan.threads = threads(form_);
    plan.shared_bytes = shared_bytes(form_, kind);
    // What 64K registers leave for each thread, in steps of 8.
    // The widest sums leave few registers for adding up parts, once a tile.
    plan.spill_bytes = form_.split && form_.row_blocks * form_.n >= 256 ? 32 : 0;
    plan.registers = std::min(255, static_cast<int>(65536 / plan.threads / form_.blocks / 8 * 8));
    return {plan};
  }

  std::vector<CudaVariant> variants() const override {
    struct Types {
      DType a, b, c;
    };
    std::vector<Types> types;
    if (form_.promote) {
      for (const DType a : {DType::f8e4m3, DType::f8e5m2}) {
        for (const DType b : {DType::f8e4m3, DType::f8e5m2}) {
          for (const DType c : {DType::f32, DType::bf16, DType::f16}) types.push_back({a, b, c});
        }
      }
    } else {
      types = {{DType::bf16, DType::bf16, DType::bf16},
               {DType::bf16, DType::bf16, DType::f32},
               {DType::f16, DType::f16, DType::f16},
               {DType::f16, DType::f16, DType::f32},
               {DType::f32, DType::f32, DType::f32}};
      for (const DType a : {DType::i8, DType::u8}) {
        for (const DType b : {DType::i8, DType::u8}) types.push_back({a, b, DType::i32});
      }
    }
    std::vector<CudaVariant> all;
    for (const Types& t : types) {
      const int layouts = size_of(t.a) == 2 ? 4 : 1;
      for (int layout = 0; layout < layouts; ++layout) {
        for (const bool bulk : {false, true}) {
          for (const bool turned : {false, true}) {
            if ((bulk && !bulk_exists(form_, t.c, turned)) || (turned && !form_.narrow)) continue;
            all.push_back(Kind{.a = t.a,
                               .b = t.b,
                               .c = t.c,
                               .a_mn = (layout & 1) != 0,
                               .b_mn = (layout & 2) != 0,
                               .bulk_c = bulk,
                               .c_turned = turned}
                              .bits());
          }
        }
      }
    }
    return all;
  }

  Status run(CudaLauncher& launcher, std::span<const Kernel* const> kernels,
             const GemmArgs& problem) const override;

  std::vector<Membership> memberships(const MatmulKey& key) const override {
    const bool exact = key.elem_lhs == DType::f64 ||
                       (key.elem_lhs == DType::f32 && key.precision < Precision::high);
    if (exact || is_f8(key.elem_lhs) != form_.promote) return {{"hopper", -1}};
    // Narrow tiles would read a large operand many times; wide ones multiply mostly zeros.
    const std::int64_t side = std::min(key.m, key.n);
    const bool fits = form_.narrow ? side <= kNarrow : side > kNarrow / 4;
    return {{"hopper", fits ? 3 : -1}};
  }

  double predicted_s(const GemmArgs& problem, const CudaMachine& machine) const override;

 private:
  // Whether an oriented product was transposed to make it narrow.
  bool is_turned(const GemmArgs& product) const {
    return form_.narrow && product.c_row == 1 && product.c_col != 1;
  }

  const WgmmaForm form_;
};

Status WgmmaCandidate::run(CudaLauncher& launcher, std::span<const Kernel* const> kernels,
                           const GemmArgs& problem) const {
  FlatBatch flat;
  const GemmArgs args = oriented(problem, form_);
  flatten_batch(args, flat);
  const bool turned = is_turned(args);
  const Kind kind = kind_of(args, flat, form_, turned);
  const CudaMachine& machine = launcher.machine();
  const Cut cut = cut_of(args, form_, machine);

  WgmmaArgs to{};
  if (Status done = encode_operand(launcher, matrix_a(args, flat), kind.a_mn, args.k, form_.m(),
                                   form_.cluster_n, to.a);
      !done)
    return done;
  if (Status done = encode_operand(launcher, matrix_b(args, flat), kind.b_mn, args.k, form_.n,
                                   form_.cluster_m, to.b);
      !done)
    return done;
  if (kind.bulk_c) {
    if (Status done = encode_output(launcher, args, flat, form_, turned, to.c); !done) return done;
  }
  to.c_memory = args.c;
  to.c_row = args.c_row;
  to.c_col = args.c_col;
  to.c_batch = flat.c;
  to.m = static_cast<int>(args.m);
  to.n = static_cast<int>(args.n);
  to.k_blocks = static_cast<int>(cut.k_blocks);
  to.tiles_m = static_cast<int>(cut.tiles_m);
  to.tiles_n = static_cast<int>(cut.tiles_n);
  to.tiles = static_cast<unsigned>(cut.tiles * cut.k_groups);
  // The tiles in flight make a square of C: it reads the least of A and B.
  const double square = std::sqrt(static_cast<double>(cut.clusters) * form_.n * form_.cluster_n /
                                  (form_.m() * form_.cluster_m));
  to.raster_rows = static_cast<int>(std::clamp<std::int64_t>(std::lround(square), 1, cut.tiles_m));
  to.a_batched = flat.count > 1 && flat.a != 0;
  to.b_batched = flat.count > 1 && flat.b != 0;
  to.k_groups = cut.k_groups;
  to.alpha = static_cast<float>(args.alpha);
  to.beta = static_cast<float>(args.beta);
  if (is_int(args.a_type)) {
    // Whole numbers of up to 2^31, of which the lower 32 bits count.
    const auto low = [](double x) {
      return static_cast<int>(static_cast<std::uint32_t>(static_cast<std::int64_t>(x)));
    };
    to.int_alpha = low(args.alpha);
    to.int_beta = low(args.beta);
  }
  if (cut.k_groups > 1) {
    const std::uint64_t slices = static_cast<std::uint64_t>(cut.tiles) * form_.cluster_k;
    const std::uint64_t tile = static_cast<std::uint64_t>(form_.m()) * form_.n * 4;
    const std::uint64_t counters = (slices * 8 + 255) / 256 * 256;
    Result<void*> memory =
        launcher.scratch(counters + static_cast<std::uint64_t>(cut.tiles) * cut.k_groups * tile);
    if (!memory) return std::unexpected(memory.error());
    to.arrivals = static_cast<unsigned long long*>(*memory);
    to.partials = static_cast<std::byte*>(*memory) + counters;
    to.no_arrivals = no_arrivals();
  }
  const std::int64_t inner = turned ? args.c_row : args.c_col;
  const std::int64_t size = size_of(args.c_type);
  const std::uint64_t quad = static_cast<std::uint64_t>(4 * size);
  to.c_quads = args.beta == 0 && inner == 1 &&
               alignment(args.c, (turned ? args.c_col : args.c_row) * size) >= quad &&
               alignment(nullptr, flat.c * size) >= quad;
  const std::int64_t clusters =
      form_.split ? cut.tiles * cut.k_groups : std::min(cut.tiles, cut.clusters);
  return launcher.launch(*kernels[0], &to, sizeof to,
                         {.x = static_cast<std::uint32_t>(clusters * form_.cluster())},
                         threads(form_), shared_bytes(form_, kind));
}

// The slowest of tensor cores, the way from the level-2 cache, and memory; in waves of tiles. The
// numbers are fitted to what an H200 took for products from 512^3 to 8192^3.
double WgmmaCandidate::predicted_s(const GemmArgs& problem, const CudaMachine& machine) const {
  constexpr double kClock = 1.7e9;       // under load
  constexpr double kReadRate = 4.1e12;   // of memory
  constexpr double kWriteRate = 3.3e12;  // likewise
  constexpr double kLevel2Rate = 65;     // bytes a cycle into a multiprocessor
  constexpr double kStart = 2e-6;        // launch, barriers, the first stage
  const GemmArgs args = oriented(problem, form_);
  FlatBatch flat;
  flatten_batch(args, flat);
  const Kind kind = kind_of(args, flat, form_, is_turned(args));
  const Cut cut = cut_of(args, form_, machine);
  const double size = static_cast<double>(size_of(args.a_type));
  const double batch = static_cast<double>(args.batch);
  const double read =
      batch * static_cast<double>(args.m + args.n) * static_cast<double>(args.k) * size;
  const double written =
      batch * static_cast<double>(args.m * args.n) * static_cast<double>(size_of(args.c_type));
  // A block of k is 128 bytes of it: 64 x 64 elements of C take as many cycles for each type. One
  // warpgroup that multiplies alone leaves more gaps, and so do narrow tiles of odd widths.
  double efficiency = form_.ping_pong || form_.warpgroups == 1 ? 0.83 : 0.87;
  if (form_.n % 32 != 0 && form_.n > 64 && form_.n < 160) efficiency *= 0.92;
  const double math = form_.m() * std::max(form_.n, 32) / 32.0 / efficiency * form_.blocks;
  // Whole groups of 64 columns where n is contiguous.
  const double rows_b = stage_bytes(form_, kind) / 128.0 - form_.m();
  const double rows_a = static_cast<double>(form_.m()) / form_.cluster_n;
  const double load = 128.0 * (rows_a + rows_b / form_.cluster_m) / kLevel2Rate * form_.blocks;
  // What promotion adds, unless the other warpgroup multiplies meanwhile.
  const double promotion = form_.promote ? 0.22 * math : 0;
  const double parts = static_cast<double>(cut.k_groups) * form_.cluster_k;
  const double blocks_of_k = std::ceil(static_cast<double>(cut.k_blocks) / parts);
  const double waves =
      std::ceil(static_cast<double>(cut.tiles * cut.k_groups) / static_cast<double>(cut.clusters));
  // The two disturb each other only when they take about as long.
  const double block = std::pow(std::pow(math, 6) + std::pow(load, 6), 1.0 / 6) + promotion;
  const double making = blocks_of_k * block;
  const double elements = form_.m() * form_.n;
  const double writing = 300 + elements / 20;
  // A warpgroup that writes its tile does not multiply; in turns, the other one does.
  const double busy = (form_.ping_pong ? waves * std::max(making, (making + writing) / 2) + writing
                                       : waves * (making + writing)) /
                      kClock;
  // Sums through the cluster, and through memory; blocks with one tile each start anew.
  double adding =
      (form_.cluster_k > 1 ? 1e-6 + elements * 4 / 32e9 : 0) + (cut.k_groups > 1 ? 3e-6 : 0);
  if (form_.split) adding = waves * adding + (waves - 1) * 1e-6;
  // The two overlap, but not wholly.
  const double moving = read / kReadRate + written / kWriteRate;
  return kStart + adding + std::max(busy, moving) + 0.1 * std::min(busy, moving);
}

}  // namespace

void add_wgmma(CudaCandidates& rows) {
  for (const WgmmaForm& form : kWgmmaForms) rows.push_back(std::make_unique<WgmmaCandidate>(form));
}

}  // namespace rooftune
