// The candidates for Gram products that this machine can run, on awkward problems between guard
// pages.
#include <gtest/gtest.h>

#include <cstring>

#include "device/cpu/client.h"
#include "ops/matmul/cpu/kernel_testing.h"

namespace rooftune::testing {
namespace {

const std::vector<CpuMatmulCandidate>& gram_kernels() {
  static const std::vector<CpuMatmulCandidate> all = [] {
    const auto client = CpuClient::make();
    std::vector<CpuMatmulCandidate> rows;
    for (const CpuMatmulCandidate& row : cpu_matmul_candidates()) {
      const bool runs = client && (*client)->isa_report().has_level(row.isa);
      if (row.source == "gram" && runs) rows.push_back(row);
    }
    return rows;
  }();
  return all;
}

template <class T>
void run(Operands<T>& operands, Request request, std::mt19937& random, int threads,
         bool real_threads = false) {
  request.n = request.m;
  request.b_broadcast = request.a_broadcast;
  Case<T> c = operands.make(request, random);
  GemmArgs& args = c.args;
  c.b = c.a;
  args.b = args.a;
  args.b_row = args.a_col;
  args.b_col = args.a_row;
  args.b_batch = args.a_batch;
  EXPECT_TRUE(is_gram_shaped(args) || args.m == 1 || args.k == 1);
  args.gram = true;
  const Expected expected = reference(c);
  for (const CpuMatmulCandidate& row : gram_kernels()) {
    ASSERT_EQ(illegal_because(row, args, threads), nullptr) << row.name;
    std::memcpy(c.c_begin, c.c_before.data(), c.c_before.size());
    std::unique_ptr<CpuContext> context;
    if (real_threads) {
      context = std::make_unique<ThreadedContext>(threads);
    } else {
      context = std::make_unique<ShuffledContext>(threads);
    }
    ASSERT_EQ(row.kernels.of(args.family)(&args, *context), KernelOutcome::done);
    EXPECT_EQ(difference(c, expected, request.integers), "")
        << row.name << " on " << c.text << ", " << threads << " threads";
  }
}

template <class T>
class GramKernels : public ::testing::Test {};
using RealTypes = ::testing::Types<Types<float, float, float>, Types<double, double, double>>;
TYPED_TEST_SUITE(GramKernels, RealTypes);

TYPED_TEST(GramKernels, AwkwardSizesAndLayouts) {
  Operands<TypeParam> operands;
  std::mt19937 random(201);
  const auto pick = [&](auto& from) { return from[random() % std::size(from)]; };
  constexpr double kAlpha[] = {1, 1, 2, -1}, kBeta[] = {0, 0, 1, -2};
  ASSERT_GE(gram_kernels().size(), 1u);
  for (std::int64_t i = 0; i < 210; ++i) {
    Request r;
    r.m = i % 70 + 1;
    r.k = (i * 53 + i / 70 * 29) % 70 + 1;
    r.a = pick(kInputForms);
    r.c = pick(kOutputForms);
    r.alpha = pick(kAlpha);
    r.beta = pick(kBeta);
    r.misaligned_bytes = random() % 2;
    r.at_end = random() % 4 != 0;
    r.integers = random() % 4 != 0;
    if (i % 5 == 0) r.batch = {2, 3};
    r.a_broadcast = {i % 10 == 0, i % 15 == 0};
    run(operands, r, random, 1 + static_cast<int>(i % 3));
  }
}

TYPED_TEST(GramKernels, SeveralTasksAndLongSums) {
  Operands<TypeParam> operands;
  std::mt19937 random(203);
  for (const Form form : {Form::rows, Form::columns}) {
    run(operands, {.m = 431, .k = 300, .a = form, .c = form, .beta = 1}, random, 3, true);
    run(operands, {.m = 47, .k = 2600, .a = form, .alpha = 0.5, .beta = -1, .integers = false},
        random, 2, true);
  }
  // More terms than are packed at a time.
  run(operands, {.m = 3, .k = 1'100'000, .a = Form::columns, .beta = 1, .integers = false}, random,
      2);
}

// What is above the diagonal is a copy of what is below, bit by bit.
TYPED_TEST(GramKernels, ResultsAreSymmetric) {
  using T = typename TypeParam::Out;
  Operands<TypeParam> operands;
  std::mt19937 random(205);
  Case<TypeParam> c = operands.make({.m = 100, .n = 100, .k = 700, .integers = false}, random);
  c.args.b = c.args.a;
  c.args.b_row = c.args.a_col;
  c.args.b_col = c.args.a_row;
  c.args.gram = true;
  for (const CpuMatmulCandidate& row : gram_kernels()) {
    ShuffledContext context(2);
    ASSERT_EQ(row.kernels.of(c.args.family)(&c.args, context), KernelOutcome::done);
    for (std::int64_t i = 0; i < 100; ++i) {
      for (std::int64_t j = 0; j < i; ++j) {
        const T below = read(c.c + i * 100 + j), above = read(c.c + j * 100 + i);
        ASSERT_EQ(std::memcmp(&below, &above, sizeof below), 0) << row.name;
      }
    }
  }
}

TEST(GramKernels, TakeNothingElse) {
  GemmArgs args;
  args.m = args.n = args.k = 8;
  for (const CpuMatmulCandidate& row : gram_kernels()) {
    EXPECT_STREQ(illegal_because(row, args, 1), "rhs is not lhs transposed");
  }
}

}  // namespace
}  // namespace rooftune::testing
