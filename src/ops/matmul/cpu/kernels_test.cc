// Every candidate that this machine can run, on awkward problems, between guard pages.
#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>
#include <set>
#include <stdexcept>

#include "device/cpu/client.h"
#include "ops/matmul/cpu/kernel_testing.h"
#include "ops/matmul/cpu/legality.h"

namespace rooftune::testing {
namespace {

const std::vector<CpuMatmulCandidate>& runnable() {
  static const std::vector<CpuMatmulCandidate> all = [] {
    // Makes the process ask for the tile registers, where there are any.
    const auto client = CpuClient::make();
    std::vector<CpuMatmulCandidate> rows;
    for (const CpuMatmulCandidate& row : cpu_matmul_candidates()) {
      if (client && (*client)->isa_report().has_level(row.isa)) rows.push_back(row);
    }
    return rows;
  }();
  return all;
}

// The kernel of a row for a product; null where the row does not take it.
CpuKernelFn kernel_for(const CpuMatmulCandidate& row, const GemmArgs& args, int threads) {
  return illegal_because(row, args, threads) == nullptr ? row.kernels.of(args.family) : nullptr;
}

using F32 = Types<float, float, float>;
using F64 = Types<double, double, double>;

// Runs every candidate that accepts the case.
template <class T>
int check_all(const Case<T>& c, const Expected& expected, bool exact, int threads,
              bool real_threads = false) {
  int ran = 0;
  for (const CpuMatmulCandidate& row : runnable()) {
    const CpuKernelFn kernel = kernel_for(row, c.args, threads);
    if (kernel == nullptr) continue;
    std::memcpy(c.c_begin, c.c_before.data(), c.c_before.size());
    std::unique_ptr<CpuContext> context;
    if (real_threads) {
      context = std::make_unique<ThreadedContext>(threads);
    } else {
      context = std::make_unique<ShuffledContext>(threads);
    }
    EXPECT_EQ(kernel(&c.args, *context), KernelOutcome::done);
    const std::string wrong = difference(c, expected, exact);
    EXPECT_EQ(wrong, "") << row.name << " on " << c.text << ", " << threads << " threads";
    ++ran;
  }
  return ran;
}

template <class T>
void run(Operands<T>& operands, const Request& request, std::mt19937& random, int threads,
         bool real_threads = false) {
  const Case<T> c = operands.make(request, random);
  const int ran = check_all(c, reference(c), request.integers, threads, real_threads);
  EXPECT_GE(ran, 1) << "no kernel accepts " << c.text;
}

template <class T>
class Kernels : public ::testing::Test {};
using AllTypes = ::testing::Types<
    F32, F64, Types<BFloat16, BFloat16, float>, Types<BFloat16, BFloat16, BFloat16>,
    Types<Float16, Float16, float>, Types<Float16, Float16, Float16>,
    Types<std::int8_t, std::int8_t, std::int32_t>, Types<std::uint8_t, std::int8_t, std::int32_t>,
    Types<std::int8_t, std::uint8_t, std::int32_t>,
    Types<std::uint8_t, std::uint8_t, std::int32_t>>;
TYPED_TEST_SUITE(Kernels, AllTypes);

// What holds for the types whose arithmetic is IEEE's.
template <class T>
class IeeeKernels : public ::testing::Test {};
using IeeeTypes = ::testing::Types<F32, F64>;
TYPED_TEST_SUITE(IeeeKernels, IeeeTypes);

TYPED_TEST(Kernels, AwkwardSizesAndLayouts) {
  Operands<TypeParam> operands;
  std::mt19937 random(2026);
  const auto pick = [&](auto& from) { return from[random() % std::size(from)]; };
  constexpr double kAlpha[] = {1, 1, 2, -1};
  constexpr double kBeta[] = {0, 0, 1, -2};
  constexpr std::size_t kMisaligned[] = {0, 0, 1, sizeof(typename TypeParam::A)};
  for (std::int64_t i = 0; i < 980; ++i) {
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
    run(operands, r, random, i % 2 == 0 ? 1 : 3);
  }
}

TYPED_TEST(Kernels, SizesAroundTheTiles) {
  Operands<TypeParam> operands;
  std::mt19937 random(7);
  constexpr Form kMatrix[] = {Form::rows, Form::columns};
  for (const std::int64_t tile : {4, 6, 8, 12, 14, 16, 24, 32, 48}) {
    for (const std::int64_t m : {tile - 1, tile, tile + 1, 2 * tile + 1}) {
      Request r;
      r.m = m;
      r.n = tile + static_cast<std::int64_t>(random() % 3) - 1;
      r.k = 1 + static_cast<std::int64_t>(random() % 40);
      r.a = kMatrix[random() % 2];
      r.b = kMatrix[random() % 2];
      r.c = kMatrix[random() % 2];
      run(operands, r, random, 1);
      std::swap(r.m, r.n);
      r.beta = 1;
      run(operands, r, random, 2);
    }
  }
}

TYPED_TEST(Kernels, VectorsAndSkinnyMatrices) {
  Operands<TypeParam> operands;
  std::mt19937 random(11);
  const auto pick = [&](auto& from) { return from[random() % std::size(from)]; };
  for (const std::int64_t narrow : {1, 1, 2, 5, 13, 16, 32}) {
    for (const std::int64_t wide : {300, 2049, 4099}) {
      for (const std::int64_t k : {1, 7, 257, 1031}) {
        Request r;
        r.m = narrow;
        r.n = wide;
        r.k = k;
        r.a = pick(kInputForms);
        r.b = pick(kInputForms);
        r.c = pick(kOutputForms);
        r.beta = k % 2 == 0 ? 0 : -1;
        r.misaligned_bytes = random() % 2;
        if (random() % 2 == 0) {
          std::swap(r.m, r.n);
          std::swap(r.a, r.b);
        }
        if (wide * k > 2'200'000) continue;
        run(operands, r, random, 1 + static_cast<int>(random() % 4));
      }
    }
  }
}

TYPED_TEST(Kernels, SumsLongerThanABlock) {
  Operands<TypeParam> operands;
  std::mt19937 random(13);
  for (const std::int64_t k : {191, 193, 255, 257, 385, 511, 513, 769, 1025, 4096, 50'001}) {
    Request r;
    r.m = 1 + static_cast<std::int64_t>(random() % 20);
    r.n = 1 + static_cast<std::int64_t>(random() % 40);
    r.k = k;
    r.beta = k % 3 == 0 ? 2 : 0;
    r.integers = false;
    run(operands, r, random, 3);
    r.m = 1;
    r.b = Form::columns;
    run(operands, r, random, 2);
    r.n = 1;
    run(operands, r, random, 5);
  }
}

TYPED_TEST(Kernels, Batches) {
  Operands<TypeParam> operands;
  std::mt19937 random(17);
  const auto pick = [&](auto& from) { return from[random() % std::size(from)]; };
  for (int i = 0; i < 60; ++i) {
    Request r;
    r.m = 1 + static_cast<std::int64_t>(random() % 30);
    r.n = 1 + static_cast<std::int64_t>(random() % 30);
    r.k = 1 + static_cast<std::int64_t>(random() % 30);
    if (i % 5 == 0) r.m = 1;
    if (i % 7 == 0) r.n = 1;
    if (i % 11 == 0) r.k = 1;
    r.batch = {1 + static_cast<std::int64_t>(random() % 3),
               2 + static_cast<std::int64_t>(random() % 9)};
    r.a_broadcast = {random() % 3 == 0, random() % 3 == 0};
    r.b_broadcast = {random() % 3 == 0, random() % 3 == 0};
    r.a = pick(kInputForms);
    r.b = pick(kInputForms);
    r.c = pick(kOutputForms);
    r.beta = i % 2;
    run(operands, r, random, 1 + i % 3);
  }
}

// Scratch memory does not grow with the batch: these are done in several groups.
TEST(KernelsF32, LargeBatchesAreDoneInGroups) {
  Operands<F32> operands;
  std::mt19937 random(53);
  for (const Form b : {Form::rows, Form::columns}) {
    Request r{.m = 1, .n = 5, .k = 6000, .a = Form::sliced, .b = b, .batch = {3, 240}};
    r.a_broadcast = {true, true};
    r.b_broadcast = {true, true};
    run(operands, r, random, 2);
  }
}

// 1752 x 4720 x 584 at a quarter, and sizes that leave remainders at every level of blocking.
TYPED_TEST(Kernels, LargeOnRealThreads) {
  Operands<TypeParam> operands;
  std::mt19937 random(19);
  run(operands, {.m = 438, .n = 1180, .k = 146}, random, 3, true);
  run(operands,
      {.m = 500,
       .n = 97,
       .k = 401,
       .a = Form::columns,
       .b = Form::columns,
       .c = Form::columns,
       .beta = 1},
      random, 2, true);
  run(operands, {.m = 37, .n = 41, .k = 67, .batch = {3, 4}}, random, 4, true);
}

// The sum of a batch must not depend on who computed what when.
TYPED_TEST(Kernels, SameResultEveryTime) {
  Operands<TypeParam> operands;
  std::mt19937 random(23);
  for (const Request& r :
       {Request{.m = 65, .n = 33, .k = 3001, .integers = false},
        Request{.m = 1, .n = 3, .k = 70'001, .b = Form::columns, .integers = false}}) {
    const Case<TypeParam> c = operands.make(r, random);
    for (const CpuMatmulCandidate& row : runnable()) {
      const CpuKernelFn kernel = kernel_for(row, c.args, 3);
      if (kernel == nullptr) continue;
      ShuffledContext shuffled(3);
      ThreadedContext threaded(3);
      ASSERT_EQ(kernel(&c.args, shuffled), KernelOutcome::done);
      const std::vector<std::byte> first(c.c_begin, c.c_begin + c.c_before.size());
      ASSERT_EQ(kernel(&c.args, threaded), KernelOutcome::done);
      EXPECT_EQ(std::memcmp(first.data(), c.c_begin, first.size()), 0) << row.name;
    }
  }
}

TYPED_TEST(IeeeKernels, NanAndInfinityStayInTheirRowsAndColumns) {
  using T = typename TypeParam::A;
  Operands<TypeParam> operands;
  std::mt19937 random(29);
  constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
  constexpr T kInf = std::numeric_limits<T>::infinity();
  for (const std::int64_t k : {1, 31, 33, 47, 63, 65, 300}) {
    for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{17, 35}, {1, 19}, {29, 1}}) {
      for (const T bad : {kNan, kInf}) {
        Request r{.m = m, .n = n, .k = k};
        if (random() % 2 == 0) r.a = Form::columns;
        if (random() % 2 == 0) r.b = Form::columns;
        const Case<TypeParam> c = operands.make(r, random);
        const std::int64_t p = static_cast<std::int64_t>(random()) % k;
        // The last row of A, then the first column of B as well.
        write(const_cast<T*>(c.a + (m - 1) * c.args.a_row + p * c.args.a_col), bad);
        check_all(c, reference(c), true, 1);
        write(const_cast<T*>(c.b + p * c.args.b_row), bad);
        check_all(c, reference(c), true, 2);
      }
    }
  }
}

TYPED_TEST(IeeeKernels, ZeroTimesInfinityIsNan) {
  using T = typename TypeParam::A;
  Operands<TypeParam> operands;
  std::mt19937 random(31);
  for (const bool zero_lhs : {true, false}) {
    for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{19, 23}, {1, 40}, {40, 1}}) {
      const Case<TypeParam> c = operands.make({.m = m, .n = n, .k = 21}, random);
      const GemmArgs& g = c.args;
      for (std::int64_t i = 0; i < (zero_lhs ? g.m : g.n); ++i) {
        for (std::int64_t p = 0; p < g.k; ++p) {
          write(const_cast<T*>(zero_lhs ? c.a + i * g.a_row + p * g.a_col
                                        : c.b + p * g.b_row + i * g.b_col),
                T(0));
        }
      }
      write(const_cast<T*>(zero_lhs ? c.b + 20 * g.b_row : c.a + 20 * g.a_col),
            std::numeric_limits<T>::infinity());
      check_all(c, reference(c), true, 1);
    }
  }
}

TYPED_TEST(IeeeKernels, SubnormalsAreKept) {
  using T = typename TypeParam::A;
  Operands<TypeParam> operands;
  std::mt19937 random(37);
  for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{21, 37}, {1, 37}, {37, 1}}) {
    const Case<TypeParam> c = operands.make({.m = m, .n = n, .k = 40}, random);
    const GemmArgs& g = c.args;
    for (std::int64_t i = 0; i < g.m; ++i) {
      for (std::int64_t p = 0; p < g.k; ++p) {
        T* at = const_cast<T*>(c.a + i * g.a_row + p * g.a_col);
        write(at, read(at) * std::numeric_limits<T>::denorm_min());
      }
    }
    check_all(c, reference(c), true, 1);
  }
}

// 2^24 is where an f32 sum of ones stalls.
TEST(KernelsF32, LongSumsOfOnesDoNotStall) {
  constexpr std::int64_t kOnes = 20'000'000;
  const std::vector<float> ones(kOnes, 1.0f);
  float result = 0;
  GemmArgs g;
  g.m = g.n = 1;
  g.k = kOnes;
  g.a = g.b = ones.data();
  g.c = &result;
  g.a_row = g.b_row = kOnes;
  g.a_col = g.b_col = g.c_row = g.c_col = 1;
  for (const CpuMatmulCandidate& row : runnable()) {
    g.b_row = 1;
    const CpuKernelFn kernel = kernel_for(row, g, 2);
    if (kernel == nullptr) continue;
    result = -1;
    ShuffledContext context(2);
    ASSERT_EQ(kernel(&g, context), KernelOutcome::done);
    EXPECT_EQ(result, 2e7f) << row.name;
  }
}

TEST(KernelRows, FirstIsThePortableFallback) {
  const auto rows = cpu_matmul_candidates();
  ASSERT_FALSE(rows.empty());
  EXPECT_EQ(rows.front().isa, Isa::portable);
  EXPECT_EQ(rows.front().illegal_because, always_legal);
}

TEST(KernelRows, NamesDiffer) {
  std::set<std::string_view> names;
  for (const CpuMatmulCandidate& row : cpu_matmul_candidates()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_NE(row.name.find(to_string(row.isa)), std::string_view::npos) << row.name;
    EXPECT_TRUE(row.name.starts_with(row.source)) << row.name;
  }
}

TEST(KernelRows, EveryKernelFileHasARow) {
  std::set<std::string> sources;
  for (const CpuMatmulCandidate& row : cpu_matmul_candidates()) sources.emplace(row.source);
  const auto folder = std::filesystem::path(__FILE__).parent_path();
  ASSERT_TRUE(std::filesystem::exists(folder));
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (name.ends_with("-inl.h")) files.insert(name.substr(0, name.size() - 6));
  }
#if defined(__x86_64__)
  EXPECT_EQ(files, sources);
#else
  // Some have rows for x86 only.
  EXPECT_TRUE(std::includes(files.begin(), files.end(), sources.begin(), sources.end()));
#endif
}

TEST(KernelRows, OutOfMemoryIsAnOutcome) {
  Operands<F32> operands;
  std::mt19937 random(41);
  const Case<F32> c = operands.make({.m = 20, .n = 100, .k = 300}, random);
  int failed = 0;
  for (const CpuMatmulCandidate& row : runnable()) {
    const CpuKernelFn kernel = kernel_for(row, c.args, 2);
    if (kernel == nullptr) continue;
    ShuffledContext context(2);
    context.most_scratch = 0;
    if (kernel(&c.args, context) == KernelOutcome::out_of_memory) ++failed;
  }
  EXPECT_GE(failed, 3);
}

TEST(KernelRows, TinyProductsStayOnTheCallingThread) {
  Operands<F32> operands;
  std::mt19937 random(43);
  const Case<F32> c = operands.make({.m = 8, .n = 8, .k = 8}, random);
  for (const CpuMatmulCandidate& row : runnable()) {
    const CpuKernelFn kernel = kernel_for(row, c.args, 2);
    if (kernel == nullptr) continue;
    ShuffledContext context(2);
    ASSERT_EQ(kernel(&c.args, context), KernelOutcome::done);
    EXPECT_EQ(context.regions, 0) << row.name;
  }
}

}  // namespace
}  // namespace rooftune::testing
