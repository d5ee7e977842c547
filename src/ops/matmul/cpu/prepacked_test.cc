// Every candidate that reads panels and that this machine can run, and the fallback, on awkward
// problems between guard pages.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "device/cpu/client.h"
#include "ops/matmul/cpu/kernel_testing.h"
#include "ops/matmul/cpu/panels.h"

namespace rooftune::testing {
namespace {

const std::vector<CpuMatmulCandidate>& readers() {
  static const std::vector<CpuMatmulCandidate> all = [] {
    // Makes the process ask for the tile registers, where there are any.
    const auto client = CpuClient::make();
    std::vector<CpuMatmulCandidate> rows;
    for (const CpuMatmulCandidate& row : cpu_matmul_candidates()) {
      const bool runs = client && (*client)->isa_report().has_level(row.isa);
      if (row.rhs != RhsForm::plain && runs) rows.push_back(row);
    }
    return rows;
  }();
  return all;
}

// The right operand of a case in panels that end at a guard page, or begin at one.
class Panels {
 public:
  Panels(const GemmArgs& args, const PanelFormat& format, bool at_end)
      : rhs_(packed_rhs(format, args.b_type, args.k, args.n)),
        bytes_(static_cast<std::size_t>(panels_bytes(format, args.b_type, args.k, args.n).value())),
        memory_(bytes_) {
    std::byte* at = memory_.place(bytes_, at_end);
    std::memset(at, 0xff, bytes_);
    pack_panels(rhs_, {args.b, args.b_row, args.b_col}, 0,
                static_cast<std::int64_t>(bytes_) / rhs_.panel_bytes, at);
    rhs_.memory = at;
  }
  const PackedRhs& rhs() const { return rhs_; }

 private:
  PackedRhs rhs_;
  std::size_t bytes_;
  GuardedMemory memory_;
};

// The formats of all candidates for these types, each once.
std::vector<PanelFormat> formats_of(TypeFamily family) {
  std::vector<PanelFormat> formats;
  for (const CpuMatmulCandidate& row : readers()) {
    const auto format = panel_format(row.isa, family);
    if (format && std::find(formats.begin(), formats.end(), *format) == formats.end()) {
      formats.push_back(*format);
    }
  }
  return formats;
}

// Runs every candidate on every format that it reads; the number of those with panels alone.
template <class T>
int run(Operands<T>& operands, const Request& request, std::mt19937& random, int threads,
        bool real_threads = false) {
  const Case<T> c = operands.make(request, random);
  const Expected expected = reference(c);
  int ran = 0;
  for (const PanelFormat& format : formats_of(c.args.family)) {
    const Panels panels(c.args, format, request.at_end);
    GemmArgs args = c.args;
    args.packed = &panels.rhs();
    args.b = nullptr;
    args.b_row = args.b_col = 0;
    for (const CpuMatmulCandidate& row : readers()) {
      if (illegal_because(row, args, threads) != nullptr) continue;
      std::memcpy(c.c_begin, c.c_before.data(), c.c_before.size());
      std::unique_ptr<CpuContext> context;
      if (real_threads) {
        context = std::make_unique<ThreadedContext>(threads);
      } else {
        context = std::make_unique<ShuffledContext>(threads);
      }
      EXPECT_EQ(row.kernels.of(args.family)(&args, *context), KernelOutcome::done);
      EXPECT_EQ(difference(c, expected, request.integers), "")
          << row.name << " on " << c.text << ", " << threads << " threads";
      if (row.rhs == RhsForm::panels) ++ran;
    }
  }
  return ran;
}

template <class T>
class PrepackedKernels : public ::testing::Test {};
using AllTypes = ::testing::Types<
    Types<float, float, float>, Types<double, double, double>, Types<BFloat16, BFloat16, float>,
    Types<BFloat16, BFloat16, BFloat16>, Types<Float16, Float16, float>,
    Types<Float16, Float16, Float16>, Types<std::int8_t, std::int8_t, std::int32_t>,
    Types<std::uint8_t, std::int8_t, std::int32_t>, Types<std::int8_t, std::uint8_t, std::int32_t>,
    Types<std::uint8_t, std::uint8_t, std::int32_t>>;
TYPED_TEST_SUITE(PrepackedKernels, AllTypes);

TYPED_TEST(PrepackedKernels, AwkwardSizesAndLayouts) {
  Operands<TypeParam> operands;
  std::mt19937 random(101);
  const auto pick = [&](auto& from) { return from[random() % std::size(from)]; };
  constexpr double kAlpha[] = {1, 1, 2, -1}, kBeta[] = {0, 0, 1, -2};
  constexpr std::size_t kMisaligned[] = {0, 0, 1, sizeof(typename TypeParam::A)};
  for (std::int64_t i = 0; i < 350; ++i) {
    Request r;
    // 37, 53: coprime to 70, so every size occurs in every dimension.
    r.m = i % 70 + 1;
    r.n = (i * 37 + i / 70 * 11) % 70 + 1;
    r.k = (i * 53 + i / 70 * 29) % 70 + 1;
    r.a = pick(kInputForms);
    r.b = pick(kInputForms);
    r.c = pick(kOutputForms);
    r.alpha = pick(kAlpha);
    r.beta = pick(kBeta);
    r.misaligned_bytes = pick(kMisaligned);
    r.at_end = random() % 4 != 0;
    r.integers = random() % 4 != 0;
    EXPECT_GE(run(operands, r, random, i % 2 == 0 ? 1 : 3), 1);
  }
}

TYPED_TEST(PrepackedKernels, FewRowsAndLongSums) {
  Operands<TypeParam> operands;
  std::mt19937 random(103);
  const auto pick = [&](auto& from) { return from[random() % std::size(from)]; };
  for (const std::int64_t m : {1, 2, 3, 5, 14, 15, 16, 29, 64, 65}) {
    for (const std::int64_t k : {127, 128, 129, 257, 1100}) {
      Request r;
      r.m = m;
      r.n = 1 + static_cast<std::int64_t>(random() % 300);
      r.k = k;
      r.a = pick(kInputForms);
      r.c = pick(kOutputForms);
      r.beta = k % 2 == 0 ? 0 : -1;
      r.integers = false;
      EXPECT_GE(run(operands, r, random, 1 + static_cast<int>(random() % 4)), 1);
    }
  }
}

TYPED_TEST(PrepackedKernels, BatchesShareTheMatrix) {
  Operands<TypeParam> operands;
  std::mt19937 random(107);
  const auto pick = [&](auto& from) { return from[random() % std::size(from)]; };
  for (int i = 0; i < 30; ++i) {
    Request r;
    r.m = 1 + static_cast<std::int64_t>(random() % 30);
    r.n = 1 + static_cast<std::int64_t>(random() % 50);
    r.k = 1 + static_cast<std::int64_t>(random() % 50);
    r.batch = {1 + static_cast<std::int64_t>(random() % 3),
               2 + static_cast<std::int64_t>(random() % 9)};
    r.a_broadcast = {random() % 3 == 0, random() % 3 == 0};
    r.b_broadcast = {true, true};
    r.a = pick(kInputForms);
    r.c = pick(kOutputForms);
    r.beta = i % 2;
    EXPECT_GE(run(operands, r, random, 1 + i % 3), 1);
  }
}

TYPED_TEST(PrepackedKernels, LargeOnRealThreads) {
  Operands<TypeParam> operands;
  std::mt19937 random(109);
  EXPECT_GE(run(operands, {.m = 1150, .n = 289, .k = 146}, random, 3, true), 1);
  EXPECT_GE(run(operands,
                {.m = 500, .n = 97, .k = 401, .a = Form::columns, .c = Form::columns, .beta = 1},
                random, 2, true),
            1);
}

// Where an f32 has steps of 128, a sum of ones that grows one by one stays where it is.
TEST(PrepackedKernels, ALongSumOfOnesDoesNotStall) {
  constexpr std::int64_t kOnes = 4096;
  const std::vector<float> ones(kOnes, 1.0f);
  float result = 0;
  GemmArgs g;
  g.m = g.n = 1;
  g.k = kOnes;
  g.a = g.b = ones.data();
  g.c = &result;
  g.a_row = kOnes;
  g.a_col = g.b_row = g.b_col = g.c_row = g.c_col = 1;
  g.beta = 1;
  for (const PanelFormat& format : formats_of(TypeFamily::f32)) {
    const Panels panels(g, format, true);
    GemmArgs args = g;
    args.packed = &panels.rhs();
    args.b = nullptr;
    for (const CpuMatmulCandidate& row : readers()) {
      if (row.rhs != RhsForm::panels || illegal_because(row, args, 2) != nullptr) continue;
      result = 0x1p30f;
      ShuffledContext context(2);
      ASSERT_EQ(row.kernels.f32(&args, context), KernelOutcome::done);
      EXPECT_EQ(result, 0x1p30f + 4096) << row.name;
    }
  }
}

TEST(PrepackedKernels, OnlyTheFallbackTakesEveryFormat) {
  GemmArgs g;
  g.m = g.n = g.k = 5;
  const PackedRhs strange = packed_rhs({PanelUnit::element, 7, 1}, DType::f32, 5, 5);
  g.packed = &strange;
  for (const CpuMatmulCandidate& row : cpu_matmul_candidates()) {
    if (row.kernels.f32 == nullptr || row.gives != Precision::highest) continue;
    const char* reason = illegal_because(row, g, 1);
    if (row.rhs == RhsForm::either) {
      EXPECT_EQ(reason, nullptr) << row.name;
    } else {
      EXPECT_STREQ(reason,
                   row.rhs == RhsForm::plain ? "rhs is packed" : "rhs is packed in another format")
          << row.name;
    }
  }
}

}  // namespace
}  // namespace rooftune::testing
