#include "ops/matmul/cuda/repacked.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <functional>
#include <random>
#include <string>

#include "ops/matmul/cuda/bulk_operand.h"
#include "ops/matmul/cuda/repack_args.h"

namespace rooftune {
namespace {

constexpr CudaMachine kHopper = {90, 132, 232448, 50u << 20};

// Takes what bulk tensor copies take, and keeps what it was asked to run.
class InnerStub final : public CudaCandidate {
 public:
  explicit InnerStub(std::function<void(const GemmArgs&)> on_run)
      : CudaCandidate("stub", CudaNeeds::hopper), on_run_(std::move(on_run)) {}
  const char* illegal_because(const GemmArgs& args, const CudaMachine&) const override {
    if (!is_bulk_operand(args, view_of_a(args))) return "A is not in form";
    if (!is_bulk_operand(args, view_of_b(args))) return "B is not in form";
    return args.batch_rank > 1 ? "more than one batch axis" : nullptr;
  }
  CudaVariant variant(const GemmArgs& args) const override {
    return static_cast<CudaVariant>(args.family);
  }
  std::vector<CudaKernelPlan> plans(CudaVariant variant) const override {
    return {{.file = "stub.cu", .defines = {"V=" + std::to_string(variant)}, .threads = 32}};
  }
  std::vector<CudaVariant> variants() const override { return {0}; }
  Status run(CudaLauncher&, std::span<const Kernel* const> kernels,
             const GemmArgs& args) const override {
    EXPECT_EQ(kernels.size(), 1u);
    on_run_(args);
    return {};
  }
  std::vector<Membership> memberships(const MatmulKey&) const override { return {}; }
  double predicted_s(const GemmArgs&, const CudaMachine&) const override { return 1e-3; }

 private:
  std::function<void(const GemmArgs&)> on_run_;
};

// Does on the host, item by item, what repack.cu is asked to do. `narrow`: keeps the upper halves.
void repack_on_host(const RepackOperand& x, std::int64_t bytes, bool narrow) {
  if (x.blocks == 0) return;
  const std::int64_t out = narrow ? 2 : bytes;
  for (std::int64_t batch = 0; batch < x.batch; ++batch) {
    std::int64_t offset = 0, rest = batch;
    for (int axis = x.batch_rank - 1; axis >= 0; --axis) {
      offset += rest % x.batch_extents[axis] * x.batch_strides[axis];
      rest /= x.batch_extents[axis];
    }
    for (std::int64_t line = 0; line < x.lines; ++line) {
      for (std::int64_t item = 0; item < x.items; ++item) {
        const char* from = x.source + offset + line * x.line_stride + item * x.item_stride;
        char* to = x.target + (batch * x.lines + line) * x.chunks * 16 + item * out;
        std::memcpy(to, narrow ? from + 2 : from, static_cast<std::size_t>(out));
      }
    }
  }
}

class HostLauncher final : public CudaLauncher {
 public:
  explicit HostLauncher(std::string defines) : defines_(std::move(defines)) {}
  const CudaMachine& machine() const override { return kHopper; }
  Status launch(const Kernel&, const void* args, std::size_t bytes, Dim3 blocks, std::uint32_t,
                std::uint32_t) override {
    EXPECT_EQ(bytes, sizeof(RepackArgs));
    RepackArgs repack;
    std::memcpy(&repack, args, sizeof repack);
    EXPECT_EQ(blocks.x, repack.a.blocks + repack.b.blocks);
    const bool narrow = defines_.find("NARROW=1") != std::string::npos;
    const std::int64_t item = defines_.at(defines_.find("BYTES=") + 6) - '0';
    repack_on_host(repack.a, item, narrow);
    repack_on_host(repack.b, item, narrow);
    return {};
  }
  Result<void*> scratch(std::uint64_t bytes) override {
    auto memory = std::make_unique<std::vector<char>>(bytes + 256, '\x7f');
    void* at = memory->data();
    std::size_t space = bytes + 256;
    memory_.push_back(std::move(memory));
    return std::align(256, bytes, at, space);
  }
  Status clear(void*, std::uint64_t) override { return {}; }
  Status encode(const TensorMapShape&, TensorMap&) override { return {}; }

 private:
  std::string defines_;
  std::vector<std::unique_ptr<std::vector<char>>> memory_;
};

// Bits of A(i, p) and B(p, j) of a batch, as many as an item of the inner product has.
struct Items {
  std::vector<std::uint32_t> a, b;
  bool operator==(const Items&) const = default;
};
Items items_of(const GemmArgs& args, std::int64_t bytes, bool upper_half) {
  Items items;
  for (std::int64_t batch = 0; batch < args.batch; ++batch) {
    std::int64_t a = 0, b = 0, rest = batch;
    for (int axis = args.batch_rank - 1; axis >= 0; --axis) {
      const auto at = static_cast<std::size_t>(axis);
      a += rest % args.batch_extent[at] * args.a_batch[at];
      b += rest % args.batch_extent[at] * args.b_batch[at];
      rest /= args.batch_extent[at];
    }
    const auto bits = [&](const void* data, std::int64_t index) {
      std::uint32_t value = 0;
      std::memcpy(&value, static_cast<const char*>(data) + index * bytes,
                  static_cast<std::size_t>(bytes));
      return upper_half ? value >> 16 : value;
    };
    for (std::int64_t p = 0; p < args.k; ++p) {
      for (std::int64_t i = 0; i < args.m; ++i) {
        items.a.push_back(bits(args.a, a + i * args.a_row + p * args.a_col));
      }
      for (std::int64_t j = 0; j < args.n; ++j) {
        items.b.push_back(bits(args.b, b + p * args.b_row + j * args.b_col));
      }
    }
  }
  return items;
}

struct Case {
  const char* name;
  TypeFamily family = TypeFamily::bf16;
  DType dtype = DType::bf16;
  Precision precision = Precision::highest;
  std::int64_t m = 5, n = 7, k = 33;
  std::int64_t a_row = 33, a_col = 1, b_row = 1, b_col = 33;
  std::vector<std::int64_t> extents = {}, a_batch = {}, b_batch = {}, c_batch = {};
  const char* defines = "";  // of the repacking
};

TEST(Repacked, InnerSeesTheSameItems) {
  const Case cases[] = {
      {.name = "odd pitches", .defines = "A_FORM=1 B_FORM=1 BYTES=2 UNIT=2 NARROW=0"},
      {.name = "B is fine",
       .k = 32,
       .a_row = 33,
       .b_col = 32,
       .defines = "A_FORM=1 B_FORM=0 BYTES=2 UNIT=2 NARROW=0"},
      {.name = "16 bits may stay MN-major",
       .m = 17,
       .n = 18,
       .a_row = 1,
       .a_col = 17,
       .b_row = 18,
       .b_col = 1,
       .defines = "A_FORM=1 B_FORM=1 BYTES=2 UNIT=2 NARROW=0"},
      {.name = "but not when m is tiny",
       .a_row = 1,
       .a_col = 5,
       .defines = "A_FORM=2 B_FORM=1 BYTES=2 UNIT=2 NARROW=0"},
      {.name = "bytes may not",
       .family = TypeFamily::int8,
       .dtype = DType::i8,
       .a_row = 1,
       .a_col = 16,
       .defines = "A_FORM=2 B_FORM=1 BYTES=1 UNIT=1 NARROW=0"},
      {.name = "nothing contiguous, backwards",
       .a_row = -99,
       .a_col = -3,
       .b_row = 2,
       .b_col = 0,
       .defines = "A_FORM=2 B_FORM=2 BYTES=2 UNIT=2 NARROW=0"},
      {.name = "f32 to bf16",
       .family = TypeFamily::f32,
       .dtype = DType::f32,
       .precision = Precision::medium,
       .m = 16,
       .a_row = 1,
       .a_col = 20,
       .defines = "A_FORM=1 B_FORM=1 BYTES=4 UNIT=4 NARROW=1"},
      {.name = "two batch axes, A broadcast along one",
       .family = TypeFamily::f32,
       .dtype = DType::f32,
       .precision = Precision::split,
       .b_row = 7,
       .b_col = 1,
       .extents = {3, 2},
       .a_batch = {0, 200},
       .b_batch = {462, 231},
       .c_batch = {70, 35},
       .defines = "A_FORM=1 B_FORM=2 BYTES=4 UNIT=4 NARROW=0"},
      {.name = "one matrix for the batch",
       .extents = {4},
       .a_batch = {0},
       .b_batch = {231},
       .c_batch = {35},
       .defines = "A_FORM=1 B_FORM=1 BYTES=2 UNIT=2 NARROW=0"},
  };
  std::mt19937 random(1);
  std::vector<char> memory(1 << 14);
  for (char& byte : memory) byte = static_cast<char>(random());
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    GemmArgs args;
    args.family = c.family;
    args.a_type = args.b_type = c.dtype;
    args.precision = c.precision;
    args.m = c.m;
    args.n = c.n;
    args.k = c.k;
    // In the middle, for strides of either sign; on 16 bytes.
    auto* middle = memory.data() + (1 << 13);
    middle -= std::bit_cast<std::uintptr_t>(middle) % 16;
    args.a = args.b = middle;
    args.a_row = c.a_row;
    args.a_col = c.a_col;
    args.b_row = c.b_row;
    args.b_col = c.b_col;
    args.c_row = c.n;
    args.c_col = 1;
    args.batch_rank = static_cast<int>(c.extents.size());
    for (std::size_t axis = 0; axis < c.extents.size(); ++axis) {
      args.batch_extent[axis] = c.extents[axis];
      args.batch *= c.extents[axis];
      args.a_batch[axis] = c.a_batch[axis];
      args.b_batch[axis] = c.b_batch[axis];
      args.c_batch[axis] = c.c_batch[axis];
    }
    const bool narrow = c.precision == Precision::medium;
    Items got;
    GemmArgs inner;
    const auto candidate = make_repacked(std::make_unique<InnerStub>([&](const GemmArgs& seen) {
                                           inner = seen;
                                           got =
                                               items_of(seen, narrow ? 2 : size_of(c.dtype), false);
                                         }),
                                         true);
    ASSERT_EQ(candidate->illegal_because(args, kHopper), nullptr);
    const auto plans = candidate->plans(candidate->variant(args));
    ASSERT_EQ(plans.size(), 2u);
    std::string defines;
    for (const std::string& define : plans[0].defines) {
      defines += (defines.empty() ? "" : " ") + define;
    }
    EXPECT_EQ(defines, c.defines);
    EXPECT_EQ(plans[1].defines[0],
              "V=" + std::to_string(static_cast<int>(narrow ? TypeFamily::bf16 : c.family)));

    HostLauncher launcher(defines);
    const Kernel kernel(KernelId{});
    const Kernel* kernels[] = {&kernel, &kernel};
    ASSERT_TRUE(candidate->run(launcher, kernels, args));
    EXPECT_TRUE(got == items_of(args, size_of(c.dtype), narrow));
    EXPECT_EQ(InnerStub([](const GemmArgs&) {}).illegal_because(inner, kHopper), nullptr);
  }
}

TEST(Repacked, LeavesAloneWhatIsInForm) {
  const auto candidate = make_repacked(std::make_unique<InnerStub>([](const GemmArgs&) {}), true);
  GemmArgs args;
  args.family = TypeFamily::f16;
  args.a_type = args.b_type = DType::f16;
  args.m = args.n = args.k = 64;
  args.a_row = args.b_col = args.c_row = 64;
  args.a_col = args.b_row = args.c_col = 1;
  EXPECT_STREQ(candidate->illegal_because(args, kHopper), "operands are in form");
}

// Division by multiplication, at the places where it could be off by one.
TEST(Repacked, FastDivisionIsExact) {
  for (const unsigned divisor : {1u, 2u, 3u, 7u, 129u, 1025u, 65537u, 0x7ffffffdu, 0x7fffffffu}) {
    const FastDivision by = fast_division(divisor);
    for (const unsigned near :
         {0u, divisor, 2 * (divisor % 0x3fffffff), 0x7ffffffeu / divisor * divisor, 0x7fffffffu}) {
      for (const unsigned n : {near == 0 ? 0 : near - 1, near}) {
        EXPECT_EQ((static_cast<std::uint64_t>(n) * by.factor) >> by.shift, n / divisor)
            << n << " / " << divisor;
      }
    }
  }
}

}  // namespace
}  // namespace rooftune
