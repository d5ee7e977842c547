#include "ops/matmul/cuda/repacked.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "ops/matmul/cuda/bulk_operand.h"
#include "ops/matmul/cuda/candidate.h"
#include "ops/matmul/cuda/repack_args.h"
#include "ops/matmul/cuda/wgmma_split.h"

namespace rooftune {
namespace {

enum class Form : std::uint8_t {
  in_place = 0,   // usable where it is
  copied = 1,     // its contiguous axis stays; lines get other distances
  transposed = 2  // k becomes contiguous
};

// How one operand is repacked.
struct Repacking {
  Form form = Form::in_place;
  bool keeps_mn = false;  // copied with m or n contiguous
  std::int64_t lines = 0, items = 0, line = 0, item = 0;
  std::int64_t batch = 1;   // matrices in the target
  std::int64_t pieces = 0;  // of 16 bytes that have items, in a line
  std::int64_t chunks = 0;  // of 16 bytes from line to line
  std::uint64_t bytes() const { return static_cast<std::uint64_t>(batch * lines * chunks) * 16; }
};

// A product as the inner candidate gets it.
struct Inner {
  GemmArgs args;
  Repacking a, b;
  bool narrow = false;
};

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

Repacking repacking(const GemmArgs& args, const OperandView& x, bool narrow) {
  Repacking how;
  if (!narrow && is_bulk_operand(args, x)) return how;
  const std::int64_t bytes = narrow ? 2 : size_of(x.dtype);
  // Shorter lines than a sector of 32 bytes would be padded to many times their length.
  how.keeps_mn = x.major == Major::mn && bytes == 2 && x.lines >= 16;
  how.form = how.keeps_mn || x.major == Major::k ? Form::copied : Form::transposed;
  how.lines = how.keeps_mn ? x.items : x.lines;
  how.items = how.keeps_mn ? x.lines : x.items;
  how.line = how.keeps_mn ? x.item : x.line;
  how.item = how.keeps_mn ? x.line : x.item;
  const BatchStride batch = batch_stride(args, *x.batch);
  how.batch = batch.even && batch.stride == 0 ? 1 : args.batch;
  // Whole sectors of 32 bytes for short lines, whole cache lines for long ones.
  how.pieces = ceil_div(how.items * bytes, 16);
  how.chunks = how.pieces <= 8 ? ceil_div(how.pieces, 2) * 2 : ceil_div(how.pieces, 8) * 8;
  return how;
}

struct Strides {
  std::int64_t mn, k, batch;
};
Strides strides_of(const Repacking& how, std::int64_t bytes) {
  const std::int64_t pitch = how.chunks * 16 / bytes;
  const std::int64_t batch = how.batch > 1 ? how.lines * pitch : 0;
  return how.keeps_mn ? Strides{1, pitch, batch} : Strides{pitch, 1, batch};
}

// Memory with the alignment of scratch, for questions about legality.
const void* any_scratch() { return std::bit_cast<const void*>(std::uintptr_t{256}); }

// The batch of A and B must be even by now, or they are repacked.
Inner inner_of(const GemmArgs& args, bool narrow) {
  Inner inner{args, repacking(args, view_of_a(args), narrow),
              repacking(args, view_of_b(args), narrow), narrow};
  GemmArgs& in = inner.args;
  if (narrow) {
    in.family = TypeFamily::bf16;
    in.a_type = in.b_type = DType::bf16;
  }
  std::int64_t a_batch = batch_stride(args, args.a_batch).stride;
  std::int64_t b_batch = batch_stride(args, args.b_batch).stride;
  if (inner.a.form != Form::in_place) {
    const Strides strides = strides_of(inner.a, size_of(in.a_type));
    in.a = any_scratch();
    in.a_row = strides.mn;
    in.a_col = strides.k;
    a_batch = strides.batch;
  }
  if (inner.b.form != Form::in_place) {
    const Strides strides = strides_of(inner.b, size_of(in.b_type));
    in.b = any_scratch();
    in.b_row = strides.k;
    in.b_col = strides.mn;
    b_batch = strides.batch;
  }
  in.gram = false;
  in.batch_rank = args.batch > 1 ? 1 : 0;
  in.batch_extent[0] = args.batch;
  in.a_batch[0] = a_batch;
  in.b_batch[0] = b_batch;
  in.c_batch[0] = batch_stride(args, args.c_batch).stride;
  return inner;
}

// The kernel numbers pieces and tiles in 31 bits.
bool fits(const Repacking& how) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max() - 4096;
  if (how.form == Form::in_place) return true;
  return how.lines <= kMost && how.items <= kMost && how.batch <= kMost &&
         how.pieces <= kMost / how.lines && how.pieces * how.lines <= kMost / how.batch;
}

// Of a repack kernel: the lowest bits of a variant.
constexpr int kOwnBits = 8;
struct Specialisation {
  Form a = Form::in_place, b = Form::in_place;
  std::int64_t bytes = 4;  // of an item in the source
  bool bytewise = false;   // items are misaligned even to their own size
  bool narrow = false;     // f32 becomes bf16

  CudaVariant bits() const {
    const auto log2 = bytes == 4 ? 2u : bytes == 2 ? 1u : 0u;
    return static_cast<CudaVariant>(a) | static_cast<CudaVariant>(b) << 2 | log2 << 4 |
           static_cast<CudaVariant>(bytewise) << 6 | static_cast<CudaVariant>(narrow) << 7;
  }
  static Specialisation of(CudaVariant bits) {
    return {static_cast<Form>(bits & 3), static_cast<Form>(bits >> 2 & 3),
            std::int64_t{1} << (bits >> 4 & 3), (bits >> 6 & 1) != 0, (bits >> 7 & 1) != 0};
  }
};

bool is_bytewise(const Repacking& how, const void* data, DType dtype) {
  return how.form != Form::in_place && alignment(data) < static_cast<std::uint64_t>(size_of(dtype));
}

Specialisation specialisation(const GemmArgs& args, const Inner& inner) {
  return {inner.a.form, inner.b.form, size_of(args.a_type),
          is_bytewise(inner.a, args.a, args.a_type) || is_bytewise(inner.b, args.b, args.b_type),
          inner.narrow};
}

CudaKernelPlan plan_of(const Specialisation& s) {
  const auto number = [](const char* name, auto value) {
    return std::string(name) + "=" + std::to_string(static_cast<int>(value));
  };
  return {.file = "repack.cu",
          .defines = {number("A_FORM", s.a), number("B_FORM", s.b), number("BYTES", s.bytes),
                      number("UNIT", s.bytewise ? 1 : s.bytes), number("NARROW", s.narrow)},
          .threads = kRepackThreads,
          .registers = 80};  // for three blocks of 256 threads on a multiprocessor
}

bool is_wide(const RepackOperand& x, std::int64_t bytes) {
  std::int64_t all = x.item_stride | static_cast<std::int64_t>(x.lines);
  for (const long long stride : x.batch_strides) all |= stride;
  return bytes == 1 && x.line_stride == 1 && all % 4 == 0 && alignment(x.source) >= 4;
}

RepackOperand launch_of(const GemmArgs& args, const OperandView& x, const Repacking& how,
                        bool narrow, void* target) {
  RepackOperand launch{};
  if (how.form == Form::in_place) return launch;
  const std::int64_t bytes = size_of(x.dtype);
  launch.source = static_cast<const char*>(x.data);
  launch.target = static_cast<char*>(target);
  launch.line_stride = how.line * bytes;
  launch.item_stride = how.item * bytes;
  if (how.batch > 1) {
    launch.batch_rank = args.batch_rank;
    for (int axis = 0; axis < args.batch_rank; ++axis) {
      const auto at = static_cast<std::size_t>(axis);
      launch.batch_strides[axis] = (*x.batch)[at] * bytes;
      launch.batch_extents[axis] = static_cast<unsigned>(args.batch_extent[at]);
    }
  }
  launch.batch = static_cast<unsigned>(how.batch);
  launch.lines = static_cast<unsigned>(how.lines);
  launch.items = static_cast<unsigned>(how.items);
  launch.chunks = static_cast<unsigned>(how.chunks);
  launch.pieces = static_cast<unsigned>(how.pieces);
  launch.by_pieces = fast_division(launch.pieces);
  launch.by_lines = fast_division(launch.lines);
  launch.wide = is_wide(launch, bytes);
  const unsigned tile = launch.wide ? kRepackWideTile : kRepackTile;
  launch.line_tiles = (launch.lines + tile - 1) / tile;
  launch.item_tiles = (launch.items + tile - 1) / tile;
  launch.dense = how.line == how.items;
  const unsigned per_block = kRepackThreads * repack_chunks_per_thread(narrow);
  launch.blocks = how.form == Form::transposed
                      ? launch.batch * launch.line_tiles * launch.item_tiles
                      : (launch.batch * launch.lines * launch.pieces + per_block - 1) / per_block;
  return launch;
}

class RepackedCandidate final : public CudaCandidate {
 public:
  RepackedCandidate(std::unique_ptr<CudaCandidate> inner, bool narrows)
      : CudaCandidate("repacked_" + inner->name(), inner->needs()),
        inner_(std::move(inner)),
        narrows_(narrows) {}

  const char* illegal_because(const GemmArgs& args, const CudaMachine& machine) const override {
    if (args.packed != nullptr) return "takes no packed operand";
    if (args.family == TypeFamily::f64) return "repacks items of at most 4 bytes";
    if (!batch_stride(args, args.c_batch).even) return "the batch of C has several strides";
    const Inner inner = brought_into_form(args);
    if (inner.a.form == Form::in_place && inner.b.form == Form::in_place) {
      return "operands are in form";
    }
    if (!fits(inner.a) || !fits(inner.b)) return "too large for 32-bit piece numbers";
    return inner_->illegal_because(inner.args, machine);
  }

  CudaVariant variant(const GemmArgs& args) const override {
    const Inner inner = brought_into_form(args);
    return specialisation(args, inner).bits() | inner_->variant(inner.args) << kOwnBits;
  }
  std::vector<CudaKernelPlan> plans(CudaVariant variant) const override {
    std::vector<CudaKernelPlan> plans = inner_->plans(variant >> kOwnBits);
    plans.insert(plans.begin(), plan_of(Specialisation::of(variant)));
    return plans;
  }
  std::vector<CudaVariant> variants() const override;
  std::optional<Wrapped> wrapped() const override { return Wrapped{inner_.get(), "repack.cu"}; }

  Status run(CudaLauncher& launcher, std::span<const Kernel* const> kernels,
             const GemmArgs& args) const override {
    Inner inner = brought_into_form(args);
    // One piece of memory for both: an allocation costs the host more than a launch.
    const auto bytes_of = [](const Repacking& how) {
      return how.form != Form::in_place ? (how.bytes() + 255) / 256 * 256 : 0;
    };
    const std::uint64_t a_bytes = bytes_of(inner.a);
    Result<void*> memory = launcher.scratch(a_bytes + bytes_of(inner.b));
    if (!memory) return std::unexpected(memory.error());
    void* const a = *memory;
    void* const b = static_cast<std::byte*>(*memory) + a_bytes;
    if (inner.a.form != Form::in_place) inner.args.a = a;
    if (inner.b.form != Form::in_place) inner.args.b = b;
    const RepackArgs launch = {launch_of(args, view_of_a(args), inner.a, inner.narrow, a),
                               launch_of(args, view_of_b(args), inner.b, inner.narrow, b)};
    if (Status ok = launcher.launch(*kernels[0], &launch, sizeof launch,
                                    {launch.a.blocks + launch.b.blocks, 1, 1}, kRepackThreads, 0);
        !ok) {
      return ok;
    }
    return inner_->run(launcher, kernels.subspan(1), inner.args);
  }

  std::vector<Membership> memberships(const MatmulKey& key) const override {
    // Those of the inner candidate for operands in form.
    MatmulKey in_form = key;
    in_form.lhs_stride = in_form.rhs_stride = 10;
    in_form.layout_lhs = in_form.layout_rhs = {};
    return inner_->memberships(in_form);
  }

  double predicted_s(const GemmArgs& args, const CudaMachine& machine) const override {
    const Inner inner = brought_into_form(args);
    double bytes = 0;
    for (const auto& [how, dtype] :
         {std::pair(inner.a, args.a_type), std::pair(inner.b, args.b_type)}) {
      const double read = how.form == Form::in_place
                              ? 0
                              : static_cast<double>(how.batch) *
                                    static_cast<double>(how.lines * how.items * size_of(dtype));
      bytes += read + static_cast<double>(how.bytes());
    }
    // 2.5 us: a kernel before another, and the wait between them. As measured on an H200.
    return 2.5e-6 + bytes / 3.8e12 + inner_->predicted_s(inner.args, machine);
  }

 private:
  Inner brought_into_form(const GemmArgs& args) const {
    return inner_of(
        args, narrows_ && args.family == TypeFamily::f32 && args.precision == Precision::medium);
  }

  const std::unique_ptr<CudaCandidate> inner_;
  const bool narrows_;
};

// --- Products that lead to every repack kernel.
struct ExampleTypes {
  TypeFamily family;
  DType a, b, c;
  Precision precision = Precision::highest;
};
std::vector<ExampleTypes> example_types() {
  std::vector<ExampleTypes> types;
  for (const Precision precision : {Precision::split, Precision::high, Precision::medium}) {
    types.push_back({TypeFamily::f32, DType::f32, DType::f32, DType::f32, precision});
  }
  for (const DType c : {DType::f32, DType::bf16}) {
    types.push_back({TypeFamily::bf16, DType::bf16, DType::bf16, c});
  }
  for (const DType c : {DType::f32, DType::f16}) {
    types.push_back({TypeFamily::f16, DType::f16, DType::f16, c});
  }
  for (const DType a : {DType::i8, DType::u8}) {
    for (const DType b : {DType::i8, DType::u8}) {
      types.push_back({TypeFamily::int8, a, b, DType::i32});
    }
  }
  for (const DType a : {DType::f8e4m3, DType::f8e5m2}) {
    for (const DType b : {DType::f8e4m3, DType::f8e5m2}) {
      for (const DType c : {DType::f32, DType::bf16, DType::f16}) {
        types.push_back({TypeFamily::f8, a, b, c});
      }
    }
  }
  return types;
}

// Strides of a matrix of 256 by 256: along its first axis, and along k.
struct ExampleStrides {
  std::int64_t mn, k;
};
constexpr ExampleStrides kExampleStrides[] = {{256, 1}, {257, 1}, {1, 256}, {1, 257}, {2, 515}};

std::vector<CudaVariant> RepackedCandidate::variants() const {
  const CudaMachine machine = {90, 132, 232448, 50u << 20};
  std::vector<CudaVariant> found;
  GemmArgs args;
  args.n = 256;
  args.k = 4096;  // enough for every way to split it
  for (const ExampleTypes& types : example_types()) {
    args.family = types.family;
    args.a_type = types.a;
    args.b_type = types.b;
    args.c_type = types.c;
    args.precision = types.precision;
    // Every way to lie in memory: of A, of B, both misaligned or not; C by rows or columns, on
    // 16-byte boundaries or not; with beta or without; few rows or many.
    for (unsigned way = 0; way < 5 * 5 * 2 * 4 * 2 * 2; ++way) {
      unsigned rest = way;
      const auto pick = [&rest](unsigned count) {
        const unsigned picked = rest % count;
        rest /= count;
        return picked;
      };
      const ExampleStrides a = kExampleStrides[pick(5)], b = kExampleStrides[pick(5)];
      args.a_row = a.mn;
      args.a_col = a.k;
      args.b_row = b.k;
      args.b_col = b.mn;
      args.a = args.b = std::bit_cast<const void*>(std::uintptr_t{256} + pick(2));
      const unsigned c = pick(4);
      args.c = std::bit_cast<void*>(std::uintptr_t{256});
      args.c_row = c % 2 == 0 ? 256 + c / 2 : 1;
      args.c_col = c % 2 == 0 ? 1 : 256 + c / 2;
      args.beta = pick(2);
      args.m = pick(2) == 0 ? 16 : 256;
      if (illegal_because(args, machine) != nullptr) continue;
      // The kernels of the inner candidate are among its own variants: here those count that have
      // another kernel before them.
      const CudaVariant one = variant(args);
      const bool known = std::ranges::any_of(found, [one](CudaVariant other) {
        return ((one ^ other) & ((1u << kOwnBits) - 1)) == 0;
      });
      if (!known) found.push_back(one);
    }
  }
  return found;
}

}  // namespace

std::unique_ptr<CudaCandidate> make_repacked(std::unique_ptr<CudaCandidate> inner, bool narrows) {
  return std::make_unique<RepackedCandidate>(std::move(inner), narrows);
}

void add_repacked(CudaCandidates& rows) {
  add_wgmma_split(rows);
  CudaCandidates split, wgmma;
  add_wgmma_split(split);
  add_wgmma(wgmma);
  for (auto& inner : split) rows.push_back(make_repacked(std::move(inner), false));
  for (auto& inner : wgmma) rows.push_back(make_repacked(std::move(inner), true));
}

}  // namespace rooftune
