// Every candidate of every level on every kind of layout.
#include "ops/reduce/cpu/candidates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <map>
#include <memory>
#include <set>

#include "device/cpu/pool.h"
#include "device/cpu/topology.h"
#include "ops/reduce/problem.h"
#include "ops/reduce/sum_for_test.h"

namespace rooftune {
namespace {

bool runs_here(const CpuSumCandidate& row) {
  static const Isa level = detect(read_cpuid()).level;
  return row.isa <= level;
}

CpuExecutor& executor(int threads) {
  static std::map<int, std::unique_ptr<CpuExecutor>> all;
  auto& entry = all[threads];
  if (entry == nullptr) {
    // As many as asked for, also on a machine with fewer processors.
    Topology topology;
    topology.effective_processors = threads;
    auto made = CpuExecutor::make(threads, topology);
    EXPECT_TRUE(made);
    entry = std::move(*made);
  }
  return *entry;
}

template <class T>
CpuKernelFn kernel_of(const CpuSumCandidate& row) {
  return sizeof(T) == 4 ? row.f32 : row.f64;
}

// A NaN that no kernel makes.
template <class T>
T poison() {
  if constexpr (sizeof(T) == 4) {
    return std::bit_cast<T>(std::uint32_t{0x7fe5a3c7});
  } else {
    return std::bit_cast<T>(std::uint64_t{0x7ffa5c3e1b2d4f69});
  }
}

template <class T>
bool same_bits(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

// One input, and the candidates that can sum it, each with its output right behind or before a
// guard page. Counts who ran.
template <class T>
class Bench {
 public:
  Bench() : in_(1 << 20), out_(1 << 20) {}

  // Misalignment in bytes, of both operands.
  std::size_t shift = 0;
  bool at_end = true;
  std::vector<int> threads = {1, 3};
  // The element that a term gets; small integers make every order of additions exact.
  std::function<T(std::int64_t)> value = [](std::int64_t i) {
    return static_cast<T>((i * 2654435761u >> 7) % 17 - 8);
  };
  std::set<std::string_view> ran;

  void run(const Layout& in, unsigned axes, bool keep_axes, const LayoutChoice* out_choice) {
    const std::vector<std::int64_t> shape = summed_shape(in, axes, keep_axes);
    const Layout out =
        make_layout(shape, out_choice != nullptr ? *out_choice : dense(shape.size()));
    T* const in_data = place(in_, in);
    T* const out_data = place(out_, out);
    ASSERT_NE(in_data, nullptr) << in.to_string();
    ASSERT_NE(out_data, nullptr) << out.to_string();
    fill(in, in_data);
    const std::vector<double> expected = reference_sum(in_data, in, axes);
    const std::vector<int> list = axes_of_mask(axes);
    const auto args = make_sum_args({in_data, dtype_of<T>, in}, {out_data, dtype_of<T>, out}, list);
    ASSERT_TRUE(args) << args.error().text;
    for (const CpuSumCandidate& row : cpu_sum_candidates()) {
      for (const int count : threads) {
        if (!runs_here(row) || row.illegal_because(*args, count) != nullptr) continue;
        ran.insert(row.name);
        poison_all(out, out_data);
        ASSERT_EQ(executor(count).run(kernel_of<T>(row), &*args), KernelOutcome::done);
        compare(row, in, out, out_data, expected, axes, count);
        if (testing::Test::HasFailure()) return;
      }
    }
  }

 private:
  T* place(const GuardedMemory& memory, const Layout& layout) {
    const auto [lowest, highest] = layout.reach();
    const std::size_t bytes = static_cast<std::size_t>(highest - lowest + 1) * sizeof(T);
    if (bytes + 64 > memory.bytes()) return nullptr;
    std::byte* const first = at_end ? memory.at_end(bytes + shift) : memory.at_begin() + shift;
    return reinterpret_cast<T*>(first - lowest * static_cast<std::int64_t>(sizeof(T)));
  }
  static std::byte* element(T* data, std::int64_t offset) {
    return reinterpret_cast<std::byte*>(data) + offset * static_cast<std::int64_t>(sizeof(T));
  }
  void fill(const Layout& layout, T* data) {
    // What lies between the elements must not matter.
    const auto [lowest, highest] = layout.reach();
    const T nan = std::numeric_limits<T>::quiet_NaN();
    for (std::int64_t i = lowest; i <= highest; ++i) std::memcpy(element(data, i), &nan, sizeof(T));
    std::int64_t count = 0;
    for_each_index(layout.shape(), [&](const std::vector<std::int64_t>& index) {
      const T number = value(count++);
      std::memcpy(element(data, offset_of(layout, index)), &number, sizeof(T));
    });
  }
  void poison_all(const Layout& layout, T* data) {
    const auto [lowest, highest] = layout.reach();
    const T pattern = poison<T>();
    for (std::int64_t i = lowest; i <= highest; ++i) {
      std::memcpy(element(data, i), &pattern, sizeof(T));
    }
  }
  void compare(const CpuSumCandidate& row, const Layout& in, const Layout& out, T* data,
               const std::vector<double>& expected, unsigned axes, int count) {
    std::size_t at = 0;
    std::string wrong;
    for_each_index(out.shape(), [&](const std::vector<std::int64_t>& index) {
      std::byte* const where = element(data, offset_of(out, index));
      T got;
      std::memcpy(&got, where, sizeof(T));
      const T want = static_cast<T>(expected[at]);
      const bool right =
          std::isnan(want) ? std::isnan(got) && !same_bits(got, poison<T>()) : got == want;
      if (!right && wrong.empty()) {
        wrong = "output " + std::to_string(at) + " is " + std::to_string(got) + ", not " +
                std::to_string(want);
      }
      const T pattern = poison<T>();
      std::memcpy(where, &pattern, sizeof(T));
      ++at;
    });
    const auto [lowest, highest] = out.reach();
    for (std::int64_t i = lowest; i <= highest && wrong.empty(); ++i) {
      T there;
      std::memcpy(&there, element(data, i), sizeof(T));
      if (!same_bits(there, poison<T>())) wrong = "wrote between its elements";
    }
    EXPECT_EQ(wrong, "") << row.name << ", " << count << " threads, " << to_string(dtype_of<T>)
                         << " in " << in.to_string() << " out " << out.to_string() << " axes "
                         << axes;
  }

  GuardedMemory in_, out_;
};

template <class T>
class SumCandidates : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(SumCandidates, Types);

TEST(SumTable, TheFallbackIsFirstAndNamesAreUnique) {
  const auto rows = cpu_sum_candidates();
  ASSERT_FALSE(rows.empty());
  EXPECT_EQ(rows.front().name, "naive");
  EXPECT_EQ(rows.front().isa, Isa::portable);
  std::set<std::string_view> names;
  for (const CpuSumCandidate& row : rows) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_NE(row.f32, nullptr);
    EXPECT_NE(row.f64, nullptr);
  }
}

// Ranks 1 to 4, every set of axes, any order in memory, gaps, backwards, broadcast.
TYPED_TEST(SumCandidates, EveryKindOfLayout) {
  std::mt19937_64 random(20240607);
  Bench<TypeParam> bench;
  const std::vector<std::int64_t> sizes = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 67};
  for (int round = 0; round < 220; ++round) {
    const std::size_t rank = 1 + round % 4;
    std::vector<std::int64_t> extents(rank);
    std::int64_t elements = 1;
    for (auto& extent : extents) {
      extent = sizes[random() % sizes.size()];
      if (elements * extent > 3000) extent = 1 + static_cast<std::int64_t>(random() % 3);
      elements *= extent;
    }
    const Layout in = make_layout(extents, random_choice(rank, true, random));
    for (unsigned axes = 0; axes < 1u << rank; ++axes) {
      const bool keep_axes = random() % 2 == 0;
      bench.shift = random() % 2 == 0 ? 0 : random() % 64;
      bench.at_end = random() % 2 == 0;
      const std::size_t out_rank = summed_shape(in, axes, keep_axes).size();
      const LayoutChoice out_choice = random_choice(out_rank, false, random);
      bench.run(in, axes, keep_axes, &out_choice);
      if (testing::Test::HasFailure()) return;
    }
  }
}

// One axis is contiguous and has every length around the widths of vectors and tiles.
TYPED_TEST(SumCandidates, EveryLengthOfRowsAndColumns) {
  Bench<TypeParam> bench;
  bench.threads = {1};
  for (std::int64_t length = 1; length <= 300; ++length) {
    if (length > 70 && length % 16 > 1 && length % 16 < 15) continue;
    for (const std::int64_t other : {1, 2, 3, 9}) {
      const Layout layout = make_layout({other, length}, dense(2));
      bench.at_end = length % 2 == 0;
      bench.run(layout, 0b10, false, nullptr);  // over rows
      bench.run(layout, 0b01, false, nullptr);  // over columns
      bench.run(layout, 0b11, true, nullptr);
      if (testing::Test::HasFailure()) return;
    }
  }
  EXPECT_TRUE(bench.ran.contains("naive"));
}

// Interleaved outputs of every number, and long enough for several blocks of every technique.
TYPED_TEST(SumCandidates, EveryNumberOfInterleavedOutputs) {
  Bench<TypeParam> bench;
  for (std::int64_t outputs = 1; outputs <= 20; ++outputs) {
    for (const std::int64_t terms : {1, 2, 3, 5, 8, 31, 257, 1031, 4099}) {
      const Layout layout = make_layout({terms, outputs}, dense(2));
      bench.at_end = terms % 2 == 0;
      bench.run(layout, 0b01, false, nullptr);
      if (testing::Test::HasFailure()) return;
    }
  }
}

// Enough terms to be shared out, and every candidate that this processor has runs at least once.
TYPED_TEST(SumCandidates, ManyThreads) {
  Bench<TypeParam> bench;
  bench.threads = {1, 2, 7};
  for (const std::vector<std::int64_t>& extents : {std::vector<std::int64_t>{301, 333},
                                                   {7, 13, 1001},
                                                   {40001, 3},
                                                   {2, 50021},
                                                   {13, 31, 257}}) {
    const Layout layout = make_layout(extents, dense(extents.size()));
    for (unsigned axes = 0; axes < 1u << extents.size(); ++axes) {
      bench.run(layout, axes, false, nullptr);
      if (testing::Test::HasFailure()) return;
    }
  }
  for (const CpuSumCandidate& row : cpu_sum_candidates()) {
    if (runs_here(row)) {
      EXPECT_TRUE(bench.ran.contains(row.name)) << row.name;
    }
  }
}

// NaN and Inf go into the outputs whose terms they are, and into no other.
TYPED_TEST(SumCandidates, NanAndInfGoWhereTheyShould) {
  using Limits = std::numeric_limits<TypeParam>;
  Bench<TypeParam> bench;
  for (const std::int64_t where : {0, 1, 35, 36, 70, 36 * 37 - 1}) {
    for (const int kind : {0, 1, 2}) {
      bench.value = [&](std::int64_t i) -> TypeParam {
        if (i == where) return kind == 0 ? Limits::quiet_NaN() : Limits::infinity();
        if (kind == 2 && i == where + 1) return -Limits::infinity();
        return static_cast<TypeParam>(i % 5);
      };
      const Layout layout = make_layout({36, 37}, dense(2));
      bench.run(layout, 0b10, false, nullptr);
      bench.run(layout, 0b01, false, nullptr);
      bench.run(layout, 0b11, false, nullptr);
      if (testing::Test::HasFailure()) return;
    }
  }
}

TYPED_TEST(SumCandidates, SubnormalsAreKept) {
  Bench<TypeParam> bench;
  bench.value = [](std::int64_t i) {
    return std::numeric_limits<TypeParam>::denorm_min() * static_cast<TypeParam>(1 + i % 3);
  };
  const Layout layout = make_layout({19, 23}, dense(2));
  for (unsigned axes = 0; axes < 4; ++axes) bench.run(layout, axes, false, nullptr);
}

// Sums of ones stall at 2^24 in f32 when they are made one after another.
TEST(SumAccuracy, TwentyMillionOnes) {
  constexpr std::int64_t kTerms = 20'000'000;
  const std::vector<float> ones(static_cast<std::size_t>(2 * kTerms), 1.0f);
  std::set<std::string_view> ran;
  const auto add = [&](std::vector<std::int64_t> extents, std::vector<std::int64_t> strides,
                       std::vector<int> thread_counts) {
    Layout layout;
    layout.rank = 2;
    std::copy(extents.begin(), extents.end(), layout.extents.begin());
    std::copy(strides.begin(), strides.end(), layout.strides.begin());
    std::vector<float> out(static_cast<std::size_t>(extents[0]));
    const int axis = 1;
    const auto args = make_sum_args({ones.data(), DType::f32, layout},
                                    view(out.data(), {extents[0]}), {&axis, 1});
    ASSERT_TRUE(args) << args.error().text;
    for (const CpuSumCandidate& row : cpu_sum_candidates()) {
      for (const int threads : thread_counts) {
        if (!runs_here(row) || row.illegal_because(*args, threads) != nullptr) continue;
        ran.insert(row.name);
        std::fill(out.begin(), out.end(), 0.0f);
        ASSERT_EQ(executor(threads).run(row.f32, &*args), KernelOutcome::done);
        for (const float sum : out) ASSERT_EQ(sum, 2e7f) << row.name << " " << threads;
      }
    }
  };
  add({1, kTerms}, {0, 1}, {1, 2});
  add({2, kTerms}, {1, 2}, {1, 2});  // interleaved
  add({17, kTerms}, {1, 0}, {2});    // columns of one row that is repeated
  for (const CpuSumCandidate& row : cpu_sum_candidates()) {
    if (runs_here(row) && row.source != "short_rows") {
      EXPECT_TRUE(ran.contains(row.name)) << row.name;
    }
  }
}

// The bound that pairwise.h states, with terms of which no sum is exact, and those that make every
// rounding go the same way.
template <class T>
void expect_within_bound(std::int64_t rows, std::int64_t columns, bool constant) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> uniform(0.5, 1.0);
  std::vector<T> in(static_cast<std::size_t>(rows * columns));
  for (T& x : in) x = static_cast<T>(constant ? 0.7 : uniform(random));
  for (const int axis : {0, 1}) {
    const std::int64_t outputs = axis == 0 ? columns : rows;
    std::vector<T> out(static_cast<std::size_t>(outputs));
    const auto args = make_sum_args(view(std::as_const(in).data(), {rows, columns}),
                                    view(out.data(), {outputs}), {&axis, 1});
    ASSERT_TRUE(args);
    std::vector<long double> exact(out.size(), 0);
    for (std::int64_t i = 0; i < rows * columns; ++i) {
      exact[static_cast<std::size_t>(axis == 0 ? i % columns : i / columns)] +=
          in[static_cast<std::size_t>(i)];
    }
    for (const CpuSumCandidate& row : cpu_sum_candidates()) {
      if (!runs_here(row) || row.illegal_because(*args, 2) != nullptr) continue;
      ASSERT_EQ(executor(2).run(kernel_of<T>(row), &*args), KernelOutcome::done);
      double worst = 0;
      for (std::size_t i = 0; i < out.size(); ++i) {
        worst = std::max(worst, static_cast<double>(std::abs(out[i] - exact[i]) / exact[i]));
      }
      EXPECT_LE(worst, sum_error_bound(*args)) << row.name;
    }
  }
}

TYPED_TEST(SumCandidates, ErrorsStayWithinTheBound) {
  for (const bool constant : {false, true}) {
    expect_within_bound<TypeParam>(3, 200'003, constant);
    expect_within_bound<TypeParam>(40, 20'000, constant);
  }
}

// The order of the additions follows from layout, candidate and number of threads alone.
TYPED_TEST(SumCandidates, RepeatsBitForBit) {
  std::vector<TypeParam> in(3 * 70'001);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<TypeParam>(std::sin(double(i)));
  for (const int axis : {0, 1}) {
    const std::int64_t outputs = axis == 0 ? 70'001 : 3;
    std::vector<TypeParam> out(static_cast<std::size_t>(outputs));
    const auto args = make_sum_args(view(std::as_const(in).data(), {3, 70'001}),
                                    view(out.data(), {outputs}), {&axis, 1});
    ASSERT_TRUE(args);
    for (const CpuSumCandidate& row : cpu_sum_candidates()) {
      if (!runs_here(row) || row.illegal_because(*args, 4) != nullptr) continue;
      ASSERT_EQ(executor(4).run(kernel_of<TypeParam>(row), &*args), KernelOutcome::done);
      const std::vector<TypeParam> first = out;
      for (int i = 0; i < 5; ++i) {
        executor(4).run(kernel_of<TypeParam>(row), &*args);
        EXPECT_EQ(out, first) << row.name;
      }
    }
  }
}

TEST(SumTable, TechniquesSayWhatTheyCannotDo) {
  std::vector<float> in(64), out(64);
  const auto reasons = [&](const Layout& layout, int axis) {
    Layout kept;
    kept.rank = 1;
    kept.extents[0] = layout.extents[axis == 0 ? 1 : 0];
    kept.strides[0] = 1;
    const auto args =
        make_sum_args({in.data(), DType::f32, layout}, {out.data(), DType::f32, kept}, {&axis, 1});
    EXPECT_TRUE(args);
    std::set<std::string_view> legal;
    for (const CpuSumCandidate& row : cpu_sum_candidates()) {
      if (row.isa == Isa::portable && row.illegal_because(*args, 2) == nullptr) {
        legal.insert(row.name);
      }
    }
    return legal;
  };
  EXPECT_THAT(reasons(make_layout({5, 9}, dense(2)), 1),
              testing::UnorderedElementsAre("naive", "lanes_portable", "rows_portable_4v",
                                            "rows_portable_8v", "short_rows_portable",
                                            "split_rows_portable_8v"));
  EXPECT_THAT(reasons(make_layout({5, 9}, dense(2)), 0),
              testing::UnorderedElementsAre("naive", "lanes_portable", "columns_portable",
                                            "sweep_portable", "split_columns_portable"));
  EXPECT_THAT(reasons(make_layout({9, 5}, dense(2)), 0),
              testing::UnorderedElementsAre("naive", "lanes_portable", "columns_portable",
                                            "sweep_portable", "split_columns_portable",
                                            "wrap_portable", "split_wrap_portable"));
  Layout apart;
  apart.rank = 2;
  apart.extents = {3, 4};
  apart.strides = {8, 2};
  EXPECT_THAT(reasons(apart, 0), testing::UnorderedElementsAre("naive", "lanes_portable"));
}

}  // namespace
}  // namespace rooftune
