#include "ops/reduce/problem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <climits>
#include <cstdint>
#include <vector>

#include "ops/reduce/sum_for_test.h"

namespace rooftune {
namespace {

using testing::HasSubstr;

class SumProblem : public testing::Test {
 protected:
  ConstView in(std::vector<std::int64_t> extents) {
    return {in_.data(), DType::f32, make_layout(extents, dense(extents.size()))};
  }
  View out(std::vector<std::int64_t> extents) {
    return {out_.data(), DType::f32, make_layout(extents, dense(extents.size()))};
  }
  Result<SumArgs> make(const ConstView& from, const View& to, std::vector<int> axes) {
    return make_sum_args(from, to, axes);
  }
  std::vector<float> in_ = std::vector<float>(4096), out_ = std::vector<float>(4096);
};

TEST_F(SumProblem, OneAxisOfAMatrix) {
  const auto rows = make(in({5, 7}), out({5}), {1});
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->outputs, 5);
  EXPECT_EQ(rows->terms, 7);
  EXPECT_EQ(rows->keep_rank, 1);
  EXPECT_EQ(rows->in_keep[0], 7);
  EXPECT_EQ(rows->out_keep[0], 1);
  EXPECT_EQ(rows->reduce_rank, 1);
  EXPECT_EQ(term_step(*rows), 1);
  const auto columns = make(in({5, 7}), out({7}), {-2});
  ASSERT_TRUE(columns);
  EXPECT_EQ(columns->outputs, 7);
  EXPECT_EQ(output_step(*columns), 1);
  EXPECT_EQ(term_step(*columns), 7);
}

TEST_F(SumProblem, NeighbouringAxesBecomeOne) {
  const auto all = make(in({3, 4, 5, 6}), out({}), {0, 1, 2, 3});
  ASSERT_TRUE(all);
  EXPECT_EQ(all->keep_rank, 0);
  EXPECT_EQ(all->reduce_rank, 1);
  EXPECT_EQ(all->reduce_extent[0], 360);
  const auto outer = make(in({3, 4, 5, 6}), out({5, 6}), {0, 1});
  ASSERT_TRUE(outer);
  EXPECT_EQ(outer->keep_rank, 1);
  EXPECT_EQ(outer->keep_extent[0], 30);
  EXPECT_EQ(outer->reduce_extent[0], 12);
  EXPECT_EQ(outer->in_reduce[0], 30);
  const auto between = make(in({3, 4, 5, 6}), out({3, 6}), {1, 2});
  ASSERT_TRUE(between);
  EXPECT_EQ(between->keep_rank, 2);
  EXPECT_EQ(between->reduce_extent[0], 20);
  EXPECT_EQ(between->in_reduce[0], 6);
  // The output does not go on from one row to the next, so the kept axes stay apart.
  View gaps = out({5, 6});
  gaps.layout.strides[0] = 10;
  const auto apart = make(in({3, 4, 5, 6}), gaps, {0, 1});
  ASSERT_TRUE(apart);
  EXPECT_EQ(apart->keep_rank, 2);
}

TEST_F(SumProblem, AnyOrderInMemoryGivesTheSameNormalForm) {
  const View base{in_.data(), DType::f32, make_layout({3, 4, 5}, dense(3))};
  const std::vector<int> turn = {2, 0, 1};
  const auto turned = make(base.permuted(turn), out({}), {0, 1, 2});
  ASSERT_TRUE(turned);
  EXPECT_EQ(turned->reduce_rank, 1);
  EXPECT_EQ(turned->reduce_extent[0], 60);
  EXPECT_EQ(turned->in, in_.data());
}

TEST_F(SumProblem, BackwardsAxesAreWalkedFromTheirOtherEnd) {
  const View base{in_.data(), DType::f32, make_layout({4, 6}, dense(2))};
  const auto back = make(base.sliced(0, 3, -1, -1).sliced(1, 5, -1, -1), out({4}), {1});
  ASSERT_TRUE(back);
  EXPECT_EQ(back->in, in_.data());
  EXPECT_EQ(back->in_keep[0], 6);
  EXPECT_EQ(back->out_keep[0], -1);
  EXPECT_EQ(back->out, out_.data() + 3);
  EXPECT_EQ(back->in_reduce[0], 1);
}

TEST_F(SumProblem, KeptAxesAndOnes) {
  EXPECT_TRUE(make(in({5, 7}), out({5, 1}), {1}));
  EXPECT_TRUE(make(in({5, 7}), out({1, 7}), {0}));
  EXPECT_TRUE(make(in({5, 7}), out({1, 1}), {0, -1}));
  EXPECT_TRUE(make(in({5, 7}), out({}), {0, 1}));
  const auto none = make(in({5, 1, 7}), out({5, 1, 7}), {});
  ASSERT_TRUE(none);
  EXPECT_EQ(none->outputs, 35);
  EXPECT_EQ(none->terms, 1);
  EXPECT_EQ(none->keep_rank, 1);
  EXPECT_EQ(none->reduce_rank, 0);
  const auto one = make(in({5, 1, 7}), out({5, 7}), {1});
  ASSERT_TRUE(one);
  EXPECT_EQ(one->reduce_rank, 0);
}

TEST_F(SumProblem, NothingToAddOrToWrite) {
  const auto no_terms = make(in({5, 0}), out({5}), {1});
  ASSERT_TRUE(no_terms);
  EXPECT_EQ(no_terms->outputs, 5);
  EXPECT_EQ(no_terms->terms, 0);
  EXPECT_EQ(no_terms->out, out_.data());
  const auto no_outputs = make(in({0, 5}), out({0}), {1});
  ASSERT_TRUE(no_outputs);
  EXPECT_EQ(no_outputs->outputs, 0);
  ConstView null_in = in({5, 0});
  null_in.data = nullptr;
  EXPECT_TRUE(make(null_in, out({5}), {1}));
  View null_out = out({0});
  null_out.data = nullptr;
  EXPECT_TRUE(make(in({0, 5}), null_out, {1}));
  // Strides that would overflow if anybody added them up.
  ConstView wild = in({0, 5});
  wild.layout.extents = {0, std::int64_t{1} << 50};
  wild.layout.strides = {std::int64_t{1} << 59, -(std::int64_t{1} << 59)};
  View sums = out({1});
  sums.layout.extents[0] = 1 << 12;
  EXPECT_EQ(make(wild, sums, {0}).error().kind, ErrorKind::shape_mismatch);
}

TEST_F(SumProblem, WrongAxes) {
  const auto kind = [&](std::vector<int> axes) {
    const auto made = make(in({5, 7}), out({5}), axes);
    return made ? ErrorKind::internal : made.error().kind;
  };
  EXPECT_EQ(kind({2}), ErrorKind::invalid_argument);
  EXPECT_EQ(kind({-3}), ErrorKind::invalid_argument);
  EXPECT_EQ(kind({1, 1}), ErrorKind::invalid_argument);
  EXPECT_EQ(kind({1, -1}), ErrorKind::invalid_argument);
  EXPECT_EQ(kind({INT_MIN}), ErrorKind::invalid_argument);
  EXPECT_EQ(kind(std::vector<int>(100, 0)), ErrorKind::invalid_argument);
  EXPECT_THAT(make(in({5, 7}), out({5}), {2}).error().text,
              HasSubstr("axis 2 of [5, 7]: axes are -2 to 1"));
  EXPECT_THAT(make(in({}), out({}), {0}).error().text, HasSubstr("scalar"));
}

TEST_F(SumProblem, WrongShapes) {
  for (const auto& shape : std::vector<std::vector<std::int64_t>>{
           {7}, {1, 5}, {5, 7}, {5, 2}, {}, {1}, {5, 1, 1}, {0}}) {
    const auto made = make(in({5, 7}), out(shape), {1});
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().kind, ErrorKind::shape_mismatch);
  }
  EXPECT_THAT(make(in({5, 7}), out({7}), {1}).error().text,
              HasSubstr("over axes (1) of [5, 7] gives [5] or, with the summed axes kept, [5, 1]; "
                        "the output is [7]"));
}

TEST_F(SumProblem, WrongTypesLayoutsAndPointers) {
  View wide = out({5});
  wide.dtype = DType::f64;
  EXPECT_EQ(make(in({5, 7}), wide, {1}).error().kind, ErrorKind::unsupported);
  ConstView bytes = in({5, 7});
  bytes.dtype = DType::i8;
  View byte_sums = out({5});
  byte_sums.dtype = DType::i8;
  const auto unsupported = make(bytes, byte_sums, {1});
  EXPECT_EQ(unsupported.error().kind, ErrorKind::unsupported);
  EXPECT_THAT(unsupported.error().text, HasSubstr("i8 [5, 7]"));
  ConstView broken = in({5, 7});
  broken.layout.rank = 99;
  EXPECT_EQ(make(broken, out({5}), {1}).error().kind, ErrorKind::invalid_argument);
  broken.layout.rank = -1;
  EXPECT_EQ(make(broken, out({5}), {1}).error().kind, ErrorKind::invalid_argument);
  ConstView null_in = in({5, 7});
  null_in.data = nullptr;
  EXPECT_EQ(make(null_in, out({5}), {1}).error().kind, ErrorKind::invalid_argument);
  View null_out = out({5});
  null_out.data = nullptr;
  EXPECT_EQ(make(in({5, 7}), null_out, {1}).error().kind, ErrorKind::invalid_argument);
}

TEST_F(SumProblem, Overlap) {
  const View self{in_.data() + 30, DType::f32, make_layout({5}, dense(1))};
  EXPECT_EQ(make(in({5, 7}), self, {1}).error().kind, ErrorKind::overlap);
  const View behind{in_.data() + 35, DType::f32, make_layout({5}, dense(1))};
  EXPECT_TRUE(make(in({5, 7}), behind, {1}));
  View broadcast = out({5});
  broadcast.layout.strides[0] = 0;
  const auto made = make(in({5, 7}), broadcast, {1});
  EXPECT_EQ(made.error().kind, ErrorKind::overlap);
  EXPECT_THAT(made.error().text, HasSubstr("[5] strides [0]"));
  // A column of the matrix whose other columns are summed.
  const ConstView columns{in_.data(), DType::f32,
                          make_layout({5, 6}, {{0, 1}, {1, 1}, {false, false}})};
  ConstView six = columns;
  six.layout.strides = {7, 1};
  View seventh = out({5});
  seventh.data = in_.data() + 6;
  seventh.layout.strides[0] = 7;
  EXPECT_TRUE(make(six, seventh, {1}));
}

TEST_F(SumProblem, WorkIsCountedWithoutOverflow) {
  ConstView huge = in({1, 1});
  huge.layout.extents = {std::int64_t{1} << 31, std::int64_t{1} << 25};
  huge.layout.strides = {std::int64_t{1} << 25, 1};
  View sums = out({1});
  sums.data = reinterpret_cast<void*>(std::uintptr_t{1} << 60);
  sums.layout.extents[0] = std::int64_t{1} << 31;
  const auto made = make(huge, sums, {1});
  ASSERT_TRUE(made) << made.error().text;
  EXPECT_EQ(sum_ops(*made), 0x1p56);
  EXPECT_EQ(sum_bytes(*made), (0x1p56 + 0x1p31) * 4);
  ConstView repeated = in({1, 7});
  repeated.layout.extents[0] = 1000;
  repeated.layout.strides[0] = 0;
  const auto broadcast = make(repeated, out({7}), {0});
  ASSERT_TRUE(broadcast);
  EXPECT_EQ(sum_ops(*broadcast), 7000);
  EXPECT_EQ(sum_bytes(*broadcast), (7 + 7) * 4);
}

}  // namespace
}  // namespace rooftune
