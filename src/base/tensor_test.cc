#include "rooftune/tensor.h"

#include <limits>
#include <map>
#include <random>
#include <type_traits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

// The sizes below that no machine has must come back as an error under a sanitizer, too.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }

namespace rooftune {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

Result<Layout> contiguous(const std::vector<std::int64_t>& extents) {
  return Layout::contiguous(extents);
}

Layout strided(const std::vector<std::int64_t>& extents, const std::vector<std::int64_t>& strides) {
  Layout layout;
  layout.rank = int(extents.size());
  std::copy(extents.begin(), extents.end(), layout.extents.begin());
  std::copy(strides.begin(), strides.end(), layout.strides.begin());
  return layout;
}

// Every offset, by running through all index tuples.
std::map<std::int64_t, int> offsets(const Layout& layout) {
  std::map<std::int64_t, int> found;
  for (std::int64_t i = 0; i < layout.elements(); ++i) {
    std::int64_t rest = i, offset = 0;
    for (int axis = layout.rank - 1; axis >= 0; --axis) {
      offset += rest % layout.extents[axis] * layout.strides[axis];
      rest /= layout.extents[axis];
    }
    ++found[offset];
  }
  return found;
}

TEST(Layout, ContiguousIsRowMajor) {
  const Layout layout = *contiguous({2, 3, 4});
  EXPECT_EQ(layout, strided({2, 3, 4}, {12, 4, 1}));
  EXPECT_EQ(layout.elements(), 24);
  EXPECT_EQ(layout.to_string(), "[2, 3, 4] strides [12, 4, 1]");
  EXPECT_EQ(contiguous({})->elements(), 1);
  EXPECT_EQ(contiguous({})->to_string(), "[] strides []");
  EXPECT_EQ(contiguous({3, 0, 2})->elements(), 0);
  EXPECT_EQ(contiguous({3, 0, 2})->strides[0], 2);
  EXPECT_EQ(contiguous(std::vector<std::int64_t>(8, 1))->elements(), 1);
}

TEST(Layout, ContiguousRefusesWhatCannotBe) {
  const auto text = [](const std::vector<std::int64_t>& extents) {
    const Result<Layout> layout = contiguous(extents);
    EXPECT_FALSE(layout.has_value());
    EXPECT_EQ(layout.error().kind, ErrorKind::invalid_argument);
    return layout.error().text;
  };
  EXPECT_THAT(text(std::vector<std::int64_t>(9, 1)), HasSubstr("9 axes"));
  EXPECT_THAT(text({2, -3}), HasSubstr("axis 1 of [2, -3] has the negative extent -3"));
  EXPECT_THAT(text({kLeast}), HasSubstr("negative"));
  EXPECT_THAT(text({0, -1}), HasSubstr("negative"));
  for (const std::vector<std::int64_t>& extents : {std::vector<std::int64_t>{kMost},
                                                   {kMost / 8 + 1},
                                                   {std::int64_t(1) << 32, 1ll << 32},
                                                   {kMost, kMost},
                                                   {kMost, 0, kMost},
                                                   std::vector<std::int64_t>(8, kMost)}) {
    EXPECT_THAT(text(extents), HasSubstr("elements"));
  }
}

TEST(Layout, SizesPast32BitsAreExact) {
  EXPECT_EQ(contiguous({46341, 46341})->elements(), 2147488281);
  EXPECT_EQ(contiguous({1, 1ll << 31, 1})->elements(), 1ll << 31);
  EXPECT_EQ(contiguous({kMost / 8})->elements(), kMost / 8);
  EXPECT_EQ(contiguous({131072, 128, 32})->reach().second, 131072ll * 128 * 32 - 1);
}

TEST(Layout, ReachCountsBothDirections) {
  using Pair = std::pair<std::int64_t, std::int64_t>;
  EXPECT_EQ(contiguous({2, 3})->reach(), Pair(0, 5));
  EXPECT_EQ(contiguous({})->reach(), Pair(0, 0));
  EXPECT_EQ(contiguous({4, 0})->reach(), Pair(0, -1));
  EXPECT_EQ(strided({3, 4}, {-10, 2}).reach(), Pair(-20, 6));
  EXPECT_EQ(strided({3, 4}, {0, -1}).reach(), Pair(-3, 0));
  EXPECT_EQ(strided({1}, {kLeast}).reach(), Pair(0, 0));
  EXPECT_EQ(strided({kMost, kMost}, {kLeast, kMost}).reach(), Pair(kLeast, kMost));
}

TEST(Layout, SelfOverlapOfNestedAxesIsExact) {
  EXPECT_FALSE(contiguous({2, 3, 4})->self_overlaps());
  EXPECT_FALSE(strided({2, 3}, {1, 2}).self_overlaps());
  EXPECT_FALSE(strided({2, 3}, {-3, -1}).self_overlaps());
  EXPECT_FALSE(strided({1, 3}, {0, 1}).self_overlaps());
  EXPECT_FALSE(strided({0, 3}, {0, 0}).self_overlaps());
  EXPECT_FALSE(strided({2, 2}, {3, 2}).self_overlaps());
  EXPECT_TRUE(strided({2, 3}, {0, 1}).self_overlaps());
  EXPECT_TRUE(strided({2, 3}, {2, 1}).self_overlaps());
  EXPECT_TRUE(strided({2, 2}, {1, -1}).self_overlaps());
  EXPECT_TRUE(strided({kMost, 2}, {kMost, kLeast}).self_overlaps());
}

TEST(Layout, SelfOverlapNeverMissesOneAndReachAgreesWithCounting) {
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    const int rank = int(random() % 4);
    std::vector<std::int64_t> extents, strides;
    for (int axis = 0; axis < rank; ++axis) {
      extents.push_back(std::int64_t(random() % 5));
      strides.push_back(std::int64_t(random() % 41) - 20);
    }
    const Layout layout = strided(extents, strides);
    const auto all = offsets(layout);
    bool overlaps = false;
    for (const auto& [offset, times] : all) overlaps |= times > 1;
    if (overlaps) {
      EXPECT_TRUE(layout.self_overlaps()) << layout.to_string();
    }
    if (!all.empty()) {
      EXPECT_EQ(layout.reach().first, std::min<std::int64_t>(0, all.begin()->first));
      EXPECT_EQ(layout.reach().second, std::max<std::int64_t>(0, all.rbegin()->first));
    }
    EXPECT_TRUE(check(layout).has_value());
  }
}

TEST(Layout, CheckNamesWhatIsWrong) {
  const auto text = [](const Layout& layout) {
    const Status status = check(layout);
    EXPECT_FALSE(status.has_value());
    return status ? "" : status.error().text;
  };
  EXPECT_TRUE(check(Layout{}).has_value());
  EXPECT_TRUE(check(strided({3, 0}, {-5, 7})).has_value());
  Layout odd;
  odd.rank = 9;
  EXPECT_THAT(text(odd), HasSubstr("rank 9"));
  odd.rank = -100;
  EXPECT_THAT(text(odd), HasSubstr("rank -100"));
  EXPECT_THAT(text(strided({2, -1}, {1, 1})), HasSubstr("negative extent -1"));
  EXPECT_THAT(text(strided({kMost, 2}, {0, 0})), HasSubstr("elements"));
  EXPECT_THAT(text(strided({2}, {kLeast})), HasSubstr("stride"));
  EXPECT_THAT(text(strided({3, 3}, {kMost / 16, -(kMost / 16)})), HasSubstr("reaches further"));
}

TEST(Layout, HostileValuesAreReadSafely) {
  Layout odd;
  odd.extents.fill(kMost);
  odd.strides.fill(kLeast);
  for (int rank :
       {std::numeric_limits<int>::min(), -4, -3, -2, -1, 8, 9, std::numeric_limits<int>::max()}) {
    odd.rank = rank;
    EXPECT_LE(odd.shape().size(), 8u);
    EXPECT_FALSE(check(odd).has_value()) << rank;
    EXPECT_FALSE(odd.to_string().empty());
    EXPECT_GE(odd.elements(), 0);
    odd.self_overlaps();
    odd.reach();
    const View view{nullptr, DType::f64, odd};
    const int axes[] = {0};
    EXPECT_FALSE(check(view.transposed().layout).has_value());
    EXPECT_FALSE(check(view.permuted(axes).layout).has_value());
    EXPECT_FALSE(check(view.sliced(9, kLeast, kMost, kLeast).layout).has_value());
  }
}

TEST(View, OverMemoryOfTheCaller) {
  float data[6] = {};
  const View whole = view(data, {2, 3});
  EXPECT_EQ(whole.to_string(), "f32 [2, 3] strides [3, 1]");
  EXPECT_EQ(whole.transposed().to_string(), "f32 [3, 2] strides [1, 3]");
  EXPECT_EQ(view(data, {6}).transposed().layout, view(data, {6}).layout);
  EXPECT_EQ(view(data, {}).transposed().layout.rank, 0);
  const double input[4] = {};
  const ConstView read_only = view(input, {2, 2});
  EXPECT_EQ(read_only.dtype, DType::f64);
  EXPECT_EQ(read_only.transposed().to_string(), "f64 [2, 2] strides [1, 2]");
  EXPECT_EQ(ConstView(whole).data, data);
}

TEST(View, ImpossibleExtentsAreRefusedLaterWithTheReason) {
  float data[1] = {};
  EXPECT_THAT(check(view(data, {2, -3}).layout).error().text, HasSubstr("negative extent -3"));
  EXPECT_THAT(check(view(data, {1, 1, 1, 1, 1, 1, 1, 1, 1}).layout).error().text,
              HasSubstr("9 axes"));
  EXPECT_THAT(check(view(data, {kMost, kMost}).layout).error().text, HasSubstr("elements"));
  EXPECT_EQ(view(data, {kMost, kMost}).layout.elements(), 0);
  EXPECT_THAT(view(data, {-1}).to_string(), HasSubstr("invalid"));
}

TEST(View, Permuted) {
  float data[24] = {};
  const View whole = view(data, {2, 3, 4});
  const int turn[] = {2, 0, 1};
  EXPECT_EQ(whole.permuted(turn).to_string(), "f32 [4, 2, 3] strides [1, 12, 4]");
  for (const std::vector<int>& axes : {std::vector<int>{0, 1},
                                       {0, 1, 1},
                                       {0, 1, 3},
                                       {-1, 0, 1},
                                       {0, 1, 2, 3},
                                       {},
                                       std::vector<int>(100, 0)}) {
    EXPECT_THAT(check(whole.permuted(axes).layout).error().text, HasSubstr("permutation"));
  }
}

TEST(View, SlicedTakesWhatPythonTakes) {
  std::vector<float> data(10);
  const View line = view(data.data(), {10});
  const auto indices = [&](std::int64_t begin, std::int64_t end, std::int64_t step) {
    const View part = line.sliced(0, begin, end, step);
    EXPECT_TRUE(check(part.layout).has_value());
    std::vector<std::int64_t> found;
    for (std::int64_t i = 0; i < part.layout.extents[0]; ++i) {
      found.push_back(static_cast<float*>(part.data) + i * part.layout.strides[0] - data.data());
    }
    return found;
  };
  using Indices = std::vector<std::int64_t>;
  EXPECT_EQ(indices(2, 5, 1), Indices({2, 3, 4}));
  EXPECT_EQ(indices(1, 10, 4), Indices({1, 5, 9}));
  EXPECT_EQ(indices(0, 10, 3), Indices({0, 3, 6, 9}));
  EXPECT_EQ(indices(9, -1, -1), Indices({9, 8, 7, 6, 5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(indices(8, 1, -3), Indices({8, 5, 2}));
  EXPECT_EQ(indices(8, 2, -3), Indices({8, 5}));
  EXPECT_EQ(indices(5, 5, 1), Indices());
  EXPECT_EQ(indices(7, 3, 1), Indices());
  EXPECT_EQ(indices(3, 7, -1), Indices());
  EXPECT_EQ(indices(kLeast, kMost, 5), Indices({0, 5}));
  EXPECT_EQ(indices(kMost, kLeast, -5), Indices({9, 4}));
  EXPECT_EQ(indices(4, kMost, kMost), Indices({4}));
  EXPECT_EQ(indices(4, kLeast, kLeast), Indices({4}));
  EXPECT_EQ(indices(-3, 2, 1), Indices({0, 1}));
}

TEST(View, SlicedOfSlicedAndOtherAxes) {
  double data[12] = {};
  const View whole = view(data, {3, 4});
  const View inner = whole.sliced(1, 3, -1, -2).sliced(0, 1, 3);
  EXPECT_EQ(inner.to_string(), "f64 [2, 2] strides [4, -2]");
  EXPECT_EQ(inner.data, data + 7);
  EXPECT_THAT(check(whole.sliced(2, 0, 1).layout).error().text, HasSubstr("axis"));
  EXPECT_FALSE(check(whole.sliced(-1, 0, 1).layout).has_value());
  EXPECT_FALSE(check(whole.sliced(0, 0, 1, 0).layout).has_value());
  EXPECT_EQ(View().sliced(0, 0, 1).data, nullptr);
}

TEST(Tensor, OwnsAlignedMemory) {
  for (std::int64_t n : {0, 1, 3, 64, 1000}) {
    Result<Tensor> tensor = Tensor::make(DType::f32, {n, 5});
    ASSERT_TRUE(tensor.has_value());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor->data()) % 64, 0u);
    EXPECT_NE(tensor->data(), nullptr);
    EXPECT_EQ(tensor->elements(), 5 * n);
    EXPECT_EQ(tensor->bytes(), 20 * n);
    for (std::int64_t i = 0; i < 5 * n; ++i) tensor->as<float>()[i] = float(i);
  }
}

TEST(Tensor, MovesAndLeavesNothingBehind) {
  static_assert(!std::is_copy_constructible_v<Tensor>);
  static_assert(std::is_nothrow_move_constructible_v<Tensor>);
  Tensor first = *Tensor::make(DType::f64, {2, 2});
  void* data = first.data();
  Tensor second = std::move(first);
  EXPECT_EQ(second.data(), data);
  EXPECT_EQ(first.data(), nullptr);  // NOLINT(bugprone-use-after-move): the contract
  EXPECT_EQ(first.elements(), 0);
  second = *Tensor::make(DType::f32, {3});
  EXPECT_EQ(second.bytes(), 12);
  Tensor& same = second;
  second = std::move(same);
  EXPECT_EQ(second.bytes(), 12);
  EXPECT_EQ(Tensor().elements(), 0);
  EXPECT_TRUE(check(Tensor().view().layout).has_value());
}

TEST(Tensor, AbsurdSizesAreErrors) {
  EXPECT_EQ(Tensor::make(DType::f32, {-1}).error().kind, ErrorKind::invalid_argument);
  EXPECT_EQ(Tensor::make(DType::f32, {kMost, 4}).error().kind, ErrorKind::invalid_argument);
  EXPECT_EQ(Tensor::make(DType(77), {4}).error().kind, ErrorKind::invalid_argument);
  for (std::int64_t elements : {std::int64_t(1) << 57, std::int64_t(1) << 59, kMost / 8}) {
    const Result<Tensor> tensor = Tensor::make(DType::f64, {elements});
    ASSERT_FALSE(tensor.has_value());
    EXPECT_EQ(tensor.error().kind, ErrorKind::out_of_memory);
    EXPECT_THAT(tensor.error().text, HasSubstr("f64"));
  }
}

}  // namespace
}  // namespace rooftune
