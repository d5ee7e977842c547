// The reference system's twenty candidates on matrix units: one kernel file, twenty rows.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ops/matmul/cuda/accelerated_args.h"
#include "ops/matmul/cuda/candidate.h"
#include "ops/matmul/cuda/layout.h"

namespace rooftune {
namespace {

// As accelerated.cu numbers them.
enum class Schedule : std::uint8_t { simple, doubled, ordered, loaders, ring, pipeline };
enum class Load : std::uint8_t { aligned, shifted, gather, bulk, raw };

// The tile of a block and who works on it.
struct Tiling {
  int block_m, block_n, block_k_bytes;
  int warps_m, warps_n, load_warps;
  int stages;
  int min_blocks;  // of a multiprocessor
  // Of a thread, where the architecture lets warps hand registers over; 0: the same for all.
  int math_registers = 0, load_registers = 0;
};

struct Row {
  const char* name;
  bool mma;  // mma.sync; else wmma
  bool bulk;
  bool doubled;  // two buffers: pays where there is enough to overlap
  Schedule schedule;
  Tiling tiling;
  // Where lines are not aligned, or elements have to be gathered. Registers then hold what is
  // under way, unless copies bring raw lines.
  Schedule unaligned_schedule;
  Tiling unaligned;
  // Measured rates on an H200 with 132 multiprocessors, bf16, 4096 cubed and 4097 x 4095 x 4099.
  double teraflops, unaligned_teraflops;
};

// The reference's default for 16-bit types: eight warps of one row of tiles each.
constexpr Tiling kDefault{128, 128, 64, 8, 1, 0, 1, 2};
constexpr Tiling kMultiRows{128, 128, 64, 4, 1, 0, 1, 2};
constexpr Tiling kOrdered4{64, 64, 64, 2, 1, 0, 2, 2};
constexpr Tiling kOrdered8{128, 128, 64, 4, 1, 0, 2, 1};
// Square shares of 64 x 64 read least of shared memory.
constexpr Tiling kDouble{128, 128, 128, 2, 2, 0, 2, 2};
// What is under way takes the registers that a second block would need.
constexpr Tiling kGathering{128, 128, 64, 2, 4, 0, 2, 1};
// Eight loading warps: fewer hold too few loads in flight.
constexpr Tiling kLoaders{128, 128, 128, 2, 4, 8, 2, 1, 160, 96};
constexpr Tiling kRing{128, 256, 128, 2, 4, 4, 2, 1, 216, 72};
constexpr Tiling kRawRing{128, 256, 128, 2, 4, 4, 2, 1, 208, 88};
constexpr Tiling kRingShifted{128, 128, 64, 2, 4, 8, 4, 1, 160, 96};
constexpr Tiling kTma{128, 128, 128, 2, 2, 0, 1, 2};
constexpr Tiling kTmaRing{128, 256, 128, 2, 4, 4, 2, 1, 232, 40};

constexpr Schedule kSimple = Schedule::simple, kDoubled = Schedule::doubled,
                   kOrdered = Schedule::ordered, kSpecialized = Schedule::loaders,
                   kProducers = Schedule::ring, kPipeline = Schedule::pipeline;

constexpr Row kRows[] = {
    {"simple_cyclic_cmma", false, false, false, kSimple, kDefault, kSimple, kDefault, 195, 113},
    {"simple_cyclic_mma", true, false, false, kSimple, kDefault, kSimple, kDefault, 197, 118},
    {"simple_cyclic_cmma_multi_rows", false, false, false, kSimple, kMultiRows, kSimple, kMultiRows,
     209, 105},
    {"simple_cyclic_mma_multi_rows", true, false, false, kSimple, kMultiRows, kSimple, kMultiRows,
     215, 103},
    {"ordered_double_cmma_k2_rows4_rpp2", false, false, true, kOrdered, kOrdered4, kOrdered,
     kOrdered4, 162, 74},
    {"ordered_double_mma_k2_rows4_rpp2", true, false, true, kOrdered, kOrdered4, kOrdered,
     kOrdered4, 171, 74},
    {"ordered_double_cmma_k2_rows8_rpp2", false, false, true, kOrdered, kOrdered8, kOrdered,
     kOrdered8, 270, 113},
    {"ordered_double_mma_k2_rows8_rpp2", true, false, true, kOrdered, kOrdered8, kOrdered,
     kOrdered8, 285, 109},
    {"double_cyclic_cmma", false, false, true, kPipeline, kDouble, kDoubled, kGathering, 329, 95},
    {"double_cyclic_mma", true, false, true, kPipeline, kDouble, kPipeline, kDouble, 373, 176},
    {"double_cyclic_cmma_specialized", false, false, true, kSpecialized, kLoaders, kSpecialized,
     kLoaders, 269, 105},
    {"double_cyclic_mma_specialized", true, false, true, kSpecialized, kLoaders, kSpecialized,
     kLoaders, 257, 102},
    {"specialized_cyclic_cmma", false, false, true, kProducers, kRing, kProducers, kRingShifted,
     365, 108},
    {"specialized_cyclic_mma", true, false, true, kProducers, kRing, kProducers, kRawRing, 441,
     182},
    {"simple_tma_cmma", false, true, false, kSimple, kTma, kSimple, kTma, 222, 222},
    {"simple_tma_mma", true, true, false, kSimple, kTma, kSimple, kTma, 367, 367},
    {"simple_tma_cmma_multi_rows", false, true, false, kSimple, kMultiRows, kSimple, kMultiRows,
     194, 194},
    {"simple_tma_mma_multi_rows", true, true, false, kSimple, kMultiRows, kSimple, kMultiRows, 247,
     247},
    {"specialized_tma_cmma", false, true, true, kProducers, kTmaRing, kProducers, kTmaRing, 299,
     299},
    {"specialized_tma_mma", true, true, true, kProducers, kTmaRing, kProducers, kTmaRing, 470, 470},
};

// How one operand gets to shared memory.
struct Form {
  bool k_major = true;  // in shared memory
  Load load = Load::aligned;
};

// What specialises a kernel, beside its row.
struct Special {
  DType a_type, b_type, c_type;
  Form a, b;
};

CudaVariant encode(const Special& s) {
  const auto bits = [](auto value) { return static_cast<CudaVariant>(value); };
  return bits(s.a_type) | bits(s.b_type) << 4 | bits(s.c_type) << 8 | bits(s.a.k_major) << 12 |
         bits(s.b.k_major) << 13 | bits(s.a.load) << 16 | bits(s.b.load) << 20;
}

Special decode(CudaVariant v) {
  return {.a_type = static_cast<DType>(v & 15),
          .b_type = static_cast<DType>(v >> 4 & 15),
          .c_type = static_cast<DType>(v >> 8 & 15),
          .a = {.k_major = (v >> 12 & 1) != 0, .load = static_cast<Load>(v >> 16 & 15)},
          .b = {.k_major = (v >> 13 & 1) != 0, .load = static_cast<Load>(v >> 20 & 15)}};
}

// One operand as it lies in memory. `other` extent runs along m or n.
struct Operand {
  const void* data;
  DType dtype;
  Major major;
  std::int64_t pitch;  // elements, from line to line
  std::int64_t other;
  const std::array<std::int64_t, kMaxBatchAxes>* batch;
};
Operand operand_a(const GemmArgs& args) {
  const Major major = a_major(args);
  return {args.a, args.a_type,  major, major == Major::k ? args.a_row : args.a_col,
          args.m, &args.a_batch};
}
Operand operand_b(const GemmArgs& args) {
  const Major major = b_major(args);
  return {args.b, args.b_type,  major, major == Major::k ? args.b_col : args.b_row,
          args.n, &args.b_batch};
}

// The largest power of two up to 16 that divides all addresses where a line begins.
std::uint64_t line_alignment(const GemmArgs& args, const Operand& operand, std::int64_t size) {
  std::int64_t strides = operand.pitch;
  for (int axis = 0; axis < args.batch_rank; ++axis) {
    if (args.batch_extent[static_cast<std::size_t>(axis)] > 1) {
      strides |= (*operand.batch)[static_cast<std::size_t>(axis)];
    }
  }
  return alignment(operand.data, (strides & 15) * size);
}

// Rows of C are written, so a C with contiguous columns is taken as the transposed product.
GemmArgs with_rows(const GemmArgs& args) {
  return args.c_col != 1 && args.c_row == 1 ? transposed(args) : args;
}

class Accelerated final : public CudaCandidate {
 public:
  explicit Accelerated(const Row& row)
      : CudaCandidate(row.name, row.bulk ? CudaNeeds::tma : CudaNeeds::ampere), row_(row) {}

  const char* illegal_because(const GemmArgs& given, const CudaMachine& machine) const override {
    const GemmArgs args = with_rows(given);
    if (args.packed != nullptr) return "the right operand is packed";
    switch (args.family) {
      case TypeFamily::f64:
        return "f64 has no 16 x 16 tile products";
      case TypeFamily::f32:
        if (args.precision < Precision::high) return "TF32 is less than the policy asks for";
        break;
      case TypeFamily::int8:
        if (!row_.mma && args.a_type != args.b_type) return "wmma multiplies bytes of equal sign";
        break;
      case TypeFamily::f8:
        if (!row_.mma) return "wmma has no f8";
        if (machine.capability < 89) return "f8 needs compute capability 8.9";
        break;
      case TypeFamily::bf16:
      case TypeFamily::f16:
        break;
    }
    const Operand a = operand_a(args), b = operand_b(args);
    const std::int64_t size = size_of(args.a_type);
    const std::uint64_t a_alignment = line_alignment(args, a, size),
                        b_alignment = line_alignment(args, b, size);
    if (a_alignment < static_cast<std::uint64_t>(size) ||
        b_alignment < static_cast<std::uint64_t>(size) ||
        alignment(args.c) < static_cast<std::uint64_t>(size_of(args.c_type))) {
      return "addresses are not multiples of the element size";
    }
    const bool transposes =
        size != 2;  // only 16-bit elements are transposed on the way to registers
    if (row_.bulk) {
      if (a.major == Major::none || b.major == Major::none) return "no contiguous axis";
      if (transposes && (a.major != Major::k || b.major != Major::k)) {
        return "bulk copies do not transpose, and the type needs k contiguous";
      }
      if (a_alignment < 16 || b_alignment < 16) {
        return "bulk copies need addresses and strides that are multiples of 16 bytes";
      }
      FlatBatch batch;
      if (!flatten_batch(args, batch)) return "several batch axes";
      if (a.pitch <= 0 || b.pitch <= 0 || batch.a < 0 || batch.b < 0) {
        return "bulk copies need strides above zero";
      }
      // A map counts in 31 bits and takes strides below 2^40 bytes.
      if (std::max({args.m, args.n, args.k, args.batch}) >= std::int64_t{1} << 31 ||
          std::max({a.pitch, b.pitch, batch.a, batch.b}) >= std::int64_t{1} << 37) {
        return "too large for a tensor map";
      }
    } else if (!transposes && (a.major == Major::none || b.major == Major::none)) {
      return "no contiguous axis";
    }
    const Special special = special_of(args);
    const Tiling& t = tiling(special);
    const std::int64_t tiles_m = (args.m - 1) / t.block_m + 1,
                       tiles_n = (args.n - 1) / t.block_n + 1;
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
    if (tiles_m > kMost / 4 || tiles_n > kMost / tiles_m ||
        args.batch > kMost / (tiles_m * tiles_n) || args.k > kMost) {
      return "more tiles than a grid has blocks";
    }
    if (shared_bytes(special) > machine.shared_bytes) return "too little shared memory";
    return nullptr;
  }

  CudaVariant variant(const GemmArgs& args) const override {
    return encode(special_of(with_rows(args)));
  }

  std::vector<CudaKernelPlan> plans(CudaVariant variant) const override {
    const Special special = decode(variant);
    const Tiling& t = tiling(special);
    const auto number = [](const char* name, int value) {
      return std::string(name) + "=" + std::to_string(value);
    };
    const auto type = [](const char* name, DType dtype) {
      return std::string(name) + "=" + std::string(cuda_type(dtype));
    };
    CudaKernelPlan plan;
    plan.file = "accelerated.cu";
    plan.defines = {number("MMA_KIND", row_.mma),
                    number("INPUT", input(special.a_type)),
                    type("A_TYPE", special.a_type),
                    type("B_TYPE", special.b_type),
                    type("C_TYPE", special.c_type),
                    std::string("A_PTX=") + ptx_type(special.a_type),
                    std::string("B_PTX=") + ptx_type(special.b_type),
                    number("BLOCK_M", t.block_m),
                    number("BLOCK_N", t.block_n),
                    number("BLOCK_K_BYTES", t.block_k_bytes),
                    number("WARPS_M", t.warps_m),
                    number("WARPS_N", t.warps_n),
                    number("A_K_MAJOR", special.a.k_major),
                    number("B_K_MAJOR", special.b.k_major),
                    number("A_LOAD", static_cast<int>(special.a.load)),
                    number("B_LOAD", static_cast<int>(special.b.load)),
                    number("SCHEDULE", static_cast<int>(schedule(special))),
                    number("LOAD_WARPS", t.load_warps),
                    number("STAGES", t.stages),
                    number("MIN_BLOCKS", t.min_blocks),
                    number("MATH_REGISTERS", t.math_registers),
                    number("LOAD_REGISTERS", t.load_registers)};
    plan.threads = threads(t);
    plan.shared_bytes = shared_bytes(special);
    plan.spill_bytes = kSpillBytes;
    return {plan};
  }

  // Every form of operands for bf16, and for each other type one that differs in its instructions.
  // What is left out differs from these in the name of a type.
  std::vector<CudaVariant> variants() const override {
    std::vector<CudaVariant> all;
    const auto add = [&](DType in, DType out, bool a_k, bool b_k, bool aligned) {
      GemmArgs args;
      args.a_type = args.b_type = in;
      args.c_type = out;
      args.m = args.n = args.k = 1024;
      const std::int64_t pitch = aligned ? 1024 : 1025;
      (a_k ? args.a_row : args.a_col) = pitch;
      (a_k ? args.a_col : args.a_row) = 1;
      (b_k ? args.b_col : args.b_row) = pitch;
      (b_k ? args.b_row : args.b_col) = 1;
      args.c_row = 1024;
      args.c_col = 1;
      all.push_back(variant(args));
    };
    for (const bool aligned : {true, false}) {
      if (!aligned && row_.bulk) continue;
      for (const bool a_k : {true, false}) {
        for (const bool b_k : {true, false}) add(DType::bf16, DType::bf16, a_k, b_k, aligned);
      }
      add(DType::f32, DType::f32, true, true, aligned);
      add(DType::i8, DType::i32, true, true, aligned);
    }
    add(DType::f16, DType::f32, true, true, true);
    if (row_.mma) add(DType::f8e4m3, DType::bf16, true, true, true);
    if (!row_.bulk) {
      add(DType::f32, DType::f32, true, false, false);
      add(DType::u8, DType::i32, false, true, false);
    }
    return all;
  }

  Status run(CudaLauncher& launcher, std::span<const Kernel* const> kernels,
             const GemmArgs& given) const override {
    const GemmArgs args = with_rows(given);
    const Special special = special_of(args);
    const Tiling& t = tiling(special);
    AcceleratedTmaArgs all{};
    AcceleratedArgs& product = all.product;
    product.a = args.a;
    product.b = args.b;
    product.c = args.c;
    product.m = args.m;
    product.n = args.n;
    product.k = args.k;
    product.a_row = args.a_row;
    product.a_col = args.a_col;
    product.b_row = args.b_row;
    product.b_col = args.b_col;
    product.c_row = args.c_row;
    product.c_col = args.c_col;
    // An axis of extent 1 is contiguous whatever its stride says, and kernels believe strides.
    if (args.k == 1) product.a_col = product.b_row = 1;
    if (args.m == 1 && operand_a(args).major == Major::mn) product.a_row = 1;
    if (args.n == 1 && operand_b(args).major == Major::mn) product.b_col = 1;
    product.batch_rank = args.batch_rank;
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(args.batch_rank); ++axis) {
      product.batch_extent[axis] = args.batch_extent[axis];
      product.a_batch[axis] = args.a_batch[axis];
      product.b_batch[axis] = args.b_batch[axis];
      product.c_batch[axis] = args.c_batch[axis];
    }
    product.tiles_m = static_cast<unsigned>((args.m - 1) / t.block_m + 1);
    product.tiles_n = static_cast<unsigned>((args.n - 1) / t.block_n + 1);
    product.c_vector = takes_vectors(args);
    product.alpha = static_cast<float>(args.alpha);
    product.beta = static_cast<float>(args.beta);
    if (args.family == TypeFamily::int8) {
      product.whole_alpha = static_cast<unsigned>(static_cast<std::int64_t>(args.alpha));
      product.whole_beta = static_cast<unsigned>(static_cast<std::int64_t>(args.beta));
    }
    const Dim3 blocks{static_cast<std::uint32_t>(product.tiles_m * product.tiles_n * args.batch), 1,
                      1};
    if (!row_.bulk) {
      return launcher.launch(*kernels[0], &product, sizeof product, blocks, threads(t),
                             shared_bytes(special));
    }
    FlatBatch batch;
    flatten_batch(args, batch);
    all.a_batched = batch.a != 0;
    all.b_batched = batch.b != 0;
    if (Status done = launcher.encode(
            map_shape(args, special, operand_a(args), special.a, t.block_m, batch.a, batch.count),
            all.a_map);
        !done) {
      return done;
    }
    if (Status done = launcher.encode(
            map_shape(args, special, operand_b(args), special.b, t.block_n, batch.b, batch.count),
            all.b_map);
        !done) {
      return done;
    }
    return launcher.launch(*kernels[0], &all, sizeof all, blocks, threads(t),
                           shared_bytes(special));
  }

  std::vector<Membership> memberships(const MatmulKey& key) const override {
    const bool large = key.kind == MatmulKind::general && key.scale != MatmulScale::small;
    const int inner = row_.doubled && !large ? 2 : 3;
    std::vector<Membership> groups{{"accelerated", inner}};
    if (row_.bulk) groups.push_back({"tma", inner});
    return groups;
  }

  double predicted_s(const GemmArgs& given, const CudaMachine& machine) const override {
    const GemmArgs args = with_rows(given);
    const Special special = special_of(args);
    const Tiling& t = tiling(special);
    const double size = static_cast<double>(size_of(args.a_type));
    const double terms = t.block_k_bytes / size;
    // The tensor cores' rate is inverse to the size of an element.
    const double rate =
        1e12 / 132 * 2 / size * (is_fast(special) ? row_.teraflops : row_.unaligned_teraflops);
    const double tiles = std::ceil(static_cast<double>(args.m) / t.block_m) *
                         std::ceil(static_cast<double>(args.n) / t.block_n) *
                         static_cast<double>(args.batch);
    const double turns = std::ceil(static_cast<double>(args.k) / terms);
    const double tile_s = 2.0 * t.block_m * t.block_n * terms * turns / rate;
    const double waves = std::ceil(tiles / machine.multiprocessors);
    // A block alone on its multiprocessor does not hide the time of its own loads.
    const double alone = t.min_blocks > 1 && waves < t.min_blocks ? 1.4 : 1;
    const double bytes =
        static_cast<double>(args.batch) *
        (size * static_cast<double>(args.k) * static_cast<double>(args.m + args.n) +
         static_cast<double>(size_of(args.c_type)) * static_cast<double>(args.m) *
             static_cast<double>(args.n));
    constexpr double kLaunch = 2e-6, kBytesPerSecond = 4e12, kFill = 2e-6;
    const double busy = waves * tile_s * alone + kFill, memory = bytes / kBytesPerSecond;
    // Blocks without a producer of their own wait for memory now and then.
    return kLaunch + std::max(busy, memory) + 0.5 * std::min(busy, memory);
  }

 private:
  // `args` with rows of C.
  Special special_of(const GemmArgs& args) const {
    const Operand a = operand_a(args), b = operand_b(args);
    const std::int64_t size = size_of(args.a_type);
    Special special{args.a_type,
                    args.b_type,
                    args.c_type,
                    {a.major == Major::k, Load::aligned},
                    {b.major == Major::k, Load::aligned}};
    if (row_.bulk) {
      special.a.load = special.b.load = Load::bulk;
      return special;
    }
    const bool aligned = line_alignment(args, a, size) >= 16 && line_alignment(args, b, size) >= 16;
    const bool in_lines = a.major != Major::none && b.major != Major::none;
    const bool k_lines = special.a.k_major && special.b.k_major;
    if (takes_raw() && size != 1 && in_lines) {
      if (!aligned || (size == 4 && !k_lines)) special.a.load = special.b.load = Load::raw;
      return special;
    }
    // Where one operand cannot be copied as it is, the other may as well be shifted.
    if (!aligned || (size != 2 && !k_lines)) special.a.load = special.b.load = Load::shifted;
    if (size != 2) {
      if (!special.a.k_major) special.a = {true, Load::gather};
      if (!special.b.k_major) special.b = {true, Load::gather};
    }
    return special;
  }

  // f8 where products of it are made of others, and 64 x 64 shares where registers cannot be handed
  // over.
  static constexpr int kSpillBytes = 256;

  static bool is_fast(const Special& special) {
    return (special.a.load == Load::aligned && special.b.load == Load::aligned) ||
           special.a.load == Load::bulk;
  }
  // wmma loads know one distance between lines, so raw lines are for mma.
  bool takes_raw() const {
    return row_.mma && (row_.unaligned_schedule == Schedule::pipeline ||
                        row_.unaligned_schedule == Schedule::ring);
  }
  // A row that takes raw lines, but not of these operands.
  bool falls_back(const Special& special) const {
    return takes_raw() && special.a.load != Load::raw;
  }
  Schedule schedule(const Special& special) const {
    if (is_fast(special)) return row_.schedule;
    if (!falls_back(special)) return row_.unaligned_schedule;
    return row_.unaligned_schedule == Schedule::ring ? Schedule::ring : Schedule::doubled;
  }
  const Tiling& tiling(const Special& special) const {
    if (is_fast(special)) return row_.tiling;
    if (!falls_back(special)) return row_.unaligned;
    return row_.unaligned_schedule == Schedule::ring ? kRingShifted : kGathering;
  }
  static std::uint32_t threads(const Tiling& t) {
    return static_cast<std::uint32_t>((t.warps_m * t.warps_n + t.load_warps) * 32);
  }

  static int input(DType dtype) {
    switch (dtype) {
      case DType::bf16:
        return 0;
      case DType::f16:
        return 1;
      case DType::f32:
        return 2;
      case DType::i8:
      case DType::u8:
        return 3;
      default:
        return 4;
    }
  }
  static const char* ptx_type(DType dtype) {
    switch (dtype) {
      case DType::i8:
        return "s8";
      case DType::u8:
        return "u8";
      case DType::f8e4m3:
        return "e4m3";
      case DType::f8e5m2:
        return "e5m2";
      default:
        return "none";
    }
  }

  // The kernel's arithmetic on its stages, again.
  std::uint32_t shared_bytes(const Special& special) const {
    const Tiling& t = tiling(special);
    const int size = static_cast<int>(size_of(special.a_type));
    const auto stage = [&](const Form& form, int other) {
      const int lines = form.k_major ? other : t.block_k_bytes / size;
      const int bytes = form.k_major ? t.block_k_bytes : other * size;
      int padding = 0;
      if (form.load == Load::raw) {
        padding = size == 4 && !form.k_major ? 32 : 16;
      } else if (!row_.mma && form.load != Load::bulk) {
        padding = 16;
      }
      return lines * (bytes + padding);
    };
    const auto whole = [](int bytes) { return (bytes + 1023) / 1024 * 1024; };
    const Schedule how = schedule(special);
    const int parts = how == Schedule::ordered ? t.warps_m : 1;
    const int a = whole(stage(special.a, t.block_m / parts) * parts);
    const int b = whole(stage(special.b, t.block_n));
    int buffers = 2;
    if (how == Schedule::simple) buffers = 1;
    if (how == Schedule::ring || how == Schedule::pipeline) buffers = t.stages;
    const int staged = (how == Schedule::ordered ? 1 : buffers) * a + buffers * b + 16 * buffers;
    // Sums on their way to C.
    const int wanted = 64 / t.warps_m * 8, tiles_n = t.block_n / t.warps_n / 16;
    const bool mixed = special.b.load == Load::raw && special.b.k_major;
    const int pass = mixed || tiles_n * 16 * t.warps_n <= wanted
                         ? tiles_n
                         : std::max(wanted / (16 * t.warps_n), 1);
    const int sums = t.warps_m * 16 * (pass * 16 * t.warps_n + 8) * 4;
    return static_cast<std::uint32_t>(std::max(staged, sums));
  }

  static bool takes_vectors(const GemmArgs& args) {
    if (args.c_col != 1) return false;
    std::int64_t strides = args.c_row;
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(args.batch_rank); ++axis) {
      strides |= args.c_batch[axis];
    }
    const auto size = static_cast<std::uint64_t>(size_of(args.c_type));
    return strides % 4 == 0 && alignment(args.c) >= 4 * size;
  }

  TensorMapShape map_shape(const GemmArgs& args, const Special& special, const Operand& operand,
                           const Form& form, int block, std::int64_t batch_stride,
                           std::int64_t count) const {
    const Tiling& t = row_.tiling;
    const std::int64_t size = size_of(special.a_type);
    const int line_bytes = form.k_major ? t.block_k_bytes : block * static_cast<int>(size);
    const int piece = row_.mma ? std::min(line_bytes, 128) : 32;
    const auto u64 = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
    const auto u32 = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
    // The pitch of a single line says nothing, but a map wants one.
    const std::int64_t pitch_bytes = std::max<std::int64_t>(operand.pitch * size, 16);
    TensorMapShape shape;
    shape.dtype = operand.dtype;
    shape.tf32 = special.a_type == DType::f32;
    shape.rank = 3;
    shape.address = operand.data;
    shape.extents = {u64(form.k_major ? args.k : operand.other),
                     u64(form.k_major ? operand.other : args.k),
                     u64(batch_stride != 0 ? count : 1)};
    shape.strides_bytes = {u64(pitch_bytes),
                           u64(batch_stride != 0 ? batch_stride * size : pitch_bytes)};
    shape.box = {u32(piece / size), u32(form.k_major ? block : t.block_k_bytes / size), 1};
    shape.swizzle_bytes = row_.mma ? piece : 0;
    return shape;
  }

  const Row& row_;
};

}  // namespace

void add_accelerated(CudaCandidates& rows) {
  for (const Row& row : kRows) rows.push_back(std::make_unique<Accelerated>(row));
}

}  // namespace rooftune
