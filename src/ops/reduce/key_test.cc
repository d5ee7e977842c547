#include "ops/reduce/key.h"

#include <gtest/gtest.h>

#include <vector>

#include "ops/reduce/problem.h"
#include "ops/reduce/sum_for_test.h"

namespace rooftune {
namespace {

static_assert(std::has_unique_object_representations_v<SumKey>, "padding would spoil the hash");

// Only addresses; nothing is read or written.
SumKey key_of(std::vector<std::int64_t> extents, std::vector<std::int64_t> strides,
              std::vector<int> axes, DType dtype = DType::f32, Level level = Level::balanced,
              int threads = 1) {
  Layout in;
  in.rank = static_cast<int>(extents.size());
  std::copy(extents.begin(), extents.end(), in.extents.begin());
  std::copy(strides.begin(), strides.end(), in.strides.begin());
  unsigned mask = 0;
  for (const int axis : axes) mask |= 1u << axis;
  const std::vector<std::int64_t> shape = summed_shape(in, mask, false);
  void* const input = reinterpret_cast<void*>(std::uintptr_t{1} << 40);
  void* const output = reinterpret_cast<void*>(std::uintptr_t{1} << 50);
  const auto args = make_sum_args({input, dtype, in},
                                  {output, dtype, make_layout(shape, dense(shape.size()))}, axes);
  EXPECT_TRUE(args) << args.error().text;
  return make_sum_key(*args, level, threads);
}

TEST(SumKeyTest, Text) {
  EXPECT_EQ(key_text(key_of({1000, 768}, {768, 1}, {1})),
            "outputs=1024 terms=1024 run=1024 layout=ContiguousReduce keep_axes=1 reduce_axes=1 "
            "stride=10 dtype=f32 threads=1");
  EXPECT_EQ(key_text(key_of({1000, 3}, {3, 1}, {0}, DType::f64, Level::balanced, 8)),
            "outputs=4 terms=1024 run=4 layout=ContiguousKeep keep_axes=1 reduce_axes=1 stride=3 "
            "dtype=f64 threads=8");
  EXPECT_EQ(key_text(key_of({10, 20}, {80, 2}, {1})),
            "outputs=16 terms=32 run=32 layout=Strided keep_axes=1 reduce_axes=1 stride=3 "
            "dtype=f32 threads=1");
}

TEST(SumKeyTest, SizesAreRoundedAndStridesAreNot) {
  EXPECT_EQ(key_of({600, 768}, {768, 1}, {1}), key_of({1000, 1024}, {1024, 1}, {1}));
  EXPECT_NE(key_of({600, 1000}, {1000, 1}, {1}), key_of({600, 1024}, {1024, 1}, {1}));
  EXPECT_NE(key_of({600, 768}, {768, 1}, {1}, DType::f32, Level::full),
            key_of({601, 768}, {768, 1}, {1}, DType::f32, Level::full));
}

TEST(SumKeyTest, WhatMattersIsInIt) {
  const SumKey base = key_of({64, 64, 64}, {4096, 64, 1}, {2});
  EXPECT_NE(base, key_of({64, 64, 64}, {4096, 64, 1}, {0}));              // layout
  EXPECT_NE(base, key_of({64, 64, 64}, {4096, 64, 1}, {2}, DType::f64));  // type
  EXPECT_NE(base, key_of({64, 64, 64}, {4096, 64, 1}, {2}, DType::f32, Level::balanced, 2));
  EXPECT_NE(base, key_of({64, 64, 64}, {8192, 64, 1}, {2}));  // axes in normal form
  // Same sizes, but runs of 4 instead of 1024.
  EXPECT_NE(key_of({1024, 16, 4}, {64, 4, 1}, {0, 2}),
            key_of({4, 16, 1024}, {16384, 1024, 1}, {0, 2}));
}

TEST(SumKeyTest, ScalarsAndBroadcastInputsHaveKeys) {
  const SumKey scalar = key_of({}, {}, {});
  EXPECT_EQ(scalar.outputs, 1);
  EXPECT_EQ(scalar.run, 1);
  EXPECT_EQ(scalar.stride, 10);
  EXPECT_EQ(key_of({8}, {0}, {0}).layout, SumLayout::strided);
  EXPECT_EQ(key_of({5, 8}, {0, 1}, {0}).layout, SumLayout::contiguous_keep);
}

TEST(SumKeyTest, SurvivesJson) {
  const SumKey key = key_of({1000, 3}, {3, 1}, {0}, DType::f64, Level::extensive, 8);
  const auto read = key_from_json<SumKey>(key_json(key));
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(*read, key);
  EXPECT_EQ(key_hash(*read), key_hash(key));
}

}  // namespace
}  // namespace rooftune
