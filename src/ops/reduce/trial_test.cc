#include "ops/reduce/trial.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include "device/cpu/client.h"
#include "ops/reduce/problem.h"
#include "ops/reduce/sum_for_test.h"

namespace rooftune {
namespace {

Client& client() {
  static const std::shared_ptr<CpuClient> one = *CpuClient::make({.threads = 1, .isa = {}});
  return *one;
}

// The plainest sum there is, with a fault where one is asked for.
template <class T>
void plain_sum(const SumArgs& args, const std::function<double(std::int64_t, double)>& fault) {
  std::vector<std::int64_t> keep(args.keep_extent, args.keep_extent + args.keep_rank);
  std::vector<std::int64_t> reduce(args.reduce_extent, args.reduce_extent + args.reduce_rank);
  std::int64_t number = 0;
  for_each_index(keep, [&](const std::vector<std::int64_t>& at) {
    std::int64_t in = 0, out = 0;
    for (std::size_t i = 0; i < at.size(); ++i) {
      in += at[i] * args.in_keep[i];
      out += at[i] * args.out_keep[i];
    }
    double sum = 0;
    for_each_index(reduce, [&](const std::vector<std::int64_t>& term) {
      std::int64_t offset = in;
      for (std::size_t i = 0; i < term.size(); ++i) offset += term[i] * args.in_reduce[i];
      T x;
      std::memcpy(&x, static_cast<const T*>(args.in) + offset, sizeof(T));
      sum += double{x};
    });
    const T result = static_cast<T>(fault(number++, sum));
    std::memcpy(static_cast<T*>(args.out) + out, &result, sizeof(T));
  });
}

double no_fault(std::int64_t, double sum) { return sum; }

template <class T>
struct Problem {
  Problem(std::vector<std::int64_t> extents, unsigned axes,
          const std::function<T(std::int64_t)>& value, std::int64_t out_gap = 1)
      : in(static_cast<std::size_t>(make_layout(extents, dense(extents.size())).elements())) {
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = value(static_cast<std::int64_t>(i));
    const Layout layout = make_layout(extents, dense(extents.size()));
    const std::vector<std::int64_t> shape = summed_shape(layout, axes, false);
    LayoutChoice choice = dense(shape.size());
    if (!shape.empty()) choice.step.back() = out_gap;
    const Layout out_layout = make_layout(shape, choice);
    out.assign(static_cast<std::size_t>(out_layout.reach().second + 1), T(7));
    args = *make_sum_args({in.data(), dtype_of<T>, layout}, {out.data(), dtype_of<T>, out_layout},
                          axes_of_mask(axes));
  }
  Check check(
      const std::function<double(std::int64_t, double)>& fault,
      const std::function<void(const SumArgs&)>& after = [](const SumArgs&) {}) {
    auto trial = SumTrial::make(client(), args, {});
    EXPECT_TRUE(trial) << trial.error().text;
    EXPECT_TRUE((*trial)->poison({}));
    plain_sum<T>((*trial)->args(), fault);
    after((*trial)->args());
    const auto found = (*trial)->check({});
    EXPECT_TRUE(found);
    return *found;
  }

  std::vector<T> in, out;
  SumArgs args;
};

template <class T>
class SumTrialTest : public testing::Test {
 public:
  static T wave(std::int64_t i) { return static_cast<T>(std::sin(static_cast<double>(i))); }
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(SumTrialTest, Types);

TYPED_TEST(SumTrialTest, TakesWhatIsRight) {
  for (unsigned axes = 0; axes < 8; ++axes) {
    Problem<TypeParam> problem({17, 9, 33}, axes, &this->wave, 1 + axes % 3);
    const Check check = problem.check(no_fault);
    EXPECT_TRUE(check.right()) << axes << " " << check.error;
    EXPECT_TRUE(check.conclusive);
    EXPECT_EQ(problem.out, std::vector<TypeParam>(problem.out.size(), TypeParam(7)))
        << "the caller's output is not for trials";
  }
}

TYPED_TEST(SumTrialTest, RefusesWhatIsWrong) {
  for (const unsigned axes : {0b001u, 0b010u, 0b100u, 0b101u, 0b111u}) {
    Problem<TypeParam> problem({17, 9, 33}, axes, &this->wave, 2);
    const std::int64_t last = problem.args.outputs - 1;
    const auto off_by = [&](double relative) {
      return problem
          .check([&](std::int64_t i, double sum) { return i == last ? sum + relative : sum; })
          .right();
    };
    EXPECT_FALSE(off_by(1e-1)) << axes;
    EXPECT_FALSE(off_by(std::numeric_limits<double>::quiet_NaN())) << axes;
    EXPECT_FALSE(off_by(std::numeric_limits<double>::infinity())) << axes;
  }
}

TYPED_TEST(SumTrialTest, SeesWhatWasNotWritten) {
  Problem<TypeParam> problem({50, 40}, 0b01, &this->wave);
  auto trial = SumTrial::make(client(), problem.args, {});
  ASSERT_TRUE(trial);
  ASSERT_TRUE((*trial)->poison({}));
  SumArgs fewer = (*trial)->args();
  fewer.keep_extent[0] = fewer.outputs = 39;
  plain_sum<TypeParam>(fewer, no_fault);
  const auto check = (*trial)->check({});
  ASSERT_TRUE(check);
  EXPECT_FALSE(check->complete);
  EXPECT_FALSE(check->right());
}

TYPED_TEST(SumTrialTest, SeesWhatWasWrittenBeside) {
  for (const std::int64_t offset : {-1, 1, 3, 80}) {
    Problem<TypeParam> problem({50, 40}, 0b01, &this->wave, 2);  // outputs at 0, 2, ..., 78
    const Check check = problem.check(no_fault, [&](const SumArgs& args) {
      const TypeParam value = 1;
      std::memcpy(static_cast<TypeParam*>(args.out) + offset, &value, sizeof(value));
    });
    EXPECT_FALSE(check.contained) << offset;
    EXPECT_FALSE(check.right()) << offset;
  }
}

// Inputs that every candidate would pass are replaced by ones that tell.
TYPED_TEST(SumTrialTest, UselessInputsAreReplaced) {
  const TypeParam nan = std::numeric_limits<TypeParam>::quiet_NaN();
  const TypeParam most = std::numeric_limits<TypeParam>::max();
  for (const TypeParam value : {TypeParam(0), TypeParam(3), nan, most}) {
    for (const std::vector<std::int64_t>& extents :
         {std::vector<std::int64_t>{30, 20}, {1, 1}, {1, 2}, {2, 1}, {300, 3}}) {
      Problem<TypeParam> problem(extents, 0b01, [&](std::int64_t) { return value; });
      auto trial = SumTrial::make(client(), problem.args, {});
      ASSERT_TRUE(trial);
      const bool one_good_value = extents[0] * extents[1] == 1 && value == TypeParam(3);
      EXPECT_EQ((*trial)->args().in != problem.in.data(), !one_good_value);
      const Check right = problem.check(no_fault);
      EXPECT_TRUE(right.right() && right.conclusive) << value;
      EXPECT_EQ(right.error, 0);
      EXPECT_FALSE(
          problem.check([](std::int64_t i, double sum) { return sum + (i == 0); }).right());
    }
  }
}

TYPED_TEST(SumTrialTest, SomeNanAmongTheOutputsIsCheckedAsSuch) {
  const auto value = [](std::int64_t i) {
    return i == 41   ? std::numeric_limits<TypeParam>::quiet_NaN()
           : i == 85 ? -std::numeric_limits<TypeParam>::infinity()
                     : SumTrialTest<TypeParam>::wave(i);
  };
  Problem<TypeParam> problem({30, 20}, 0b10, value);
  const Check right = problem.check(no_fault);
  EXPECT_TRUE(right.right() && right.conclusive);
  const auto without = [&](std::int64_t output, double instead) {
    return problem.check([&](std::int64_t i, double sum) { return i == output ? instead : sum; })
        .right();
  };
  EXPECT_FALSE(without(2, 0.0));
  EXPECT_FALSE(without(4, 0.0));
  EXPECT_FALSE(without(4, std::numeric_limits<double>::infinity()));
  EXPECT_FALSE(without(5, std::numeric_limits<double>::quiet_NaN()));
}

TYPED_TEST(SumTrialTest, KeepsAlignmentAndStridesAndTellsItsMemory) {
  Problem<TypeParam> problem({30, 20}, 0b01, &this->wave, 3);
  auto trial = SumTrial::make(client(), problem.args, {});
  ASSERT_TRUE(trial);
  const auto& args = (*trial)->args();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(args.out) % 64,
            reinterpret_cast<std::uintptr_t>(problem.args.out) % 64);
  EXPECT_EQ(args.out_keep[0], 3);
  EXPECT_EQ(args.in, problem.in.data());
  EXPECT_GE((*trial)->scratch_bytes(), 58 * sizeof(TypeParam));
}

// One output in every 100,000 elements: the scratch output is dense, not gigabytes.
TYPED_TEST(SumTrialTest, ThinOutputsAreMadeDense) {
  Problem<TypeParam> problem({30, 20}, 0b01, &this->wave);
  problem.args.out_keep[0] = 100'000'000'000;
  auto trial = SumTrial::make(client(), problem.args, {});
  ASSERT_TRUE(trial);
  EXPECT_LT((*trial)->scratch_bytes(), 10'000u);
  EXPECT_TRUE(problem.check(no_fault).right());
}

// Nothing but the elements is read: the reference stays between its guard pages, and the NaN in
// the gaps does not reach it.
TYPED_TEST(SumTrialTest, ReadsOnlyTheOperand) {
  const GuardedMemory memory(1 << 14);
  for (const std::vector<std::int64_t>& strides :
       {std::vector<std::int64_t>{21, 1}, {1, 21}, {60, 3}, {0, 1}, {1, 0}}) {
    Layout layout;
    layout.rank = 2;
    layout.extents = {19, 20};
    layout.strides[0] = strides[0];
    layout.strides[1] = strides[1];
    const std::size_t bytes =
        static_cast<std::size_t>(layout.reach().second + 1) * sizeof(TypeParam);
    auto* const in = reinterpret_cast<TypeParam*>(memory.at_end(bytes));
    std::fill_n(in, bytes / sizeof(TypeParam), std::numeric_limits<TypeParam>::quiet_NaN());
    for_each_index(layout.shape(), [&](const std::vector<std::int64_t>& index) {
      in[offset_of(layout, index)] = this->wave(index[0] * 20 + index[1]);
    });
    for (unsigned axes = 0; axes < 4; ++axes) {
      const std::vector<std::int64_t> shape = summed_shape(layout, axes, true);
      std::vector<TypeParam> out(380);
      const auto args = make_sum_args(
          {in, dtype_of<TypeParam>, layout},
          {out.data(), dtype_of<TypeParam>, make_layout(shape, dense(2))}, axes_of_mask(axes));
      ASSERT_TRUE(args);
      const auto reference = SumReference::make(client(), *args, {});
      ASSERT_TRUE(reference);
      EXPECT_TRUE(reference->conclusive());
      plain_sum<TypeParam>(*args, no_fault);
      for_each_output(*args, [&](std::int64_t index, std::int64_t offset) {
        const auto got = static_cast<const TypeParam*>(args->out)[offset];
        EXPECT_NEAR(got, reference->sum(index), 1e-5);
      });
    }
  }
}

// 20 million terms are more than a window and more than f32 can count.
TEST(SumReferenceTest, LongSumsAreExact) {
  std::vector<float> in(20'000'001, 1.0f);
  in.back() = 0.5f;
  float out = 0;
  const int axis = 0;
  const auto args = make_sum_args(view(std::as_const(in).data(), {20'000'001}),
                                  {&out, DType::f32, Layout{}}, {&axis, 1});
  ASSERT_TRUE(args);
  const auto reference = SumReference::make(client(), *args, {});
  ASSERT_TRUE(reference);
  EXPECT_EQ(reference->sum(0), 20'000'000.5);
}

}  // namespace
}  // namespace rooftune
