#include "rooftune/key.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <random>
#include <thread>

#include "rooftune/dtype.h"

namespace rooftune {
namespace {

// A key whose declaration is being read, in the process that has the threads, until it may go on.
struct HeldKey {
  std::int64_t rows = 0;
  static inline std::atomic<bool> begun = false, may_go_on = false;
  static inline const pid_t parent = getpid();
  static std::string_view rooftune_key_declaration() {
    begun = true;
    while (getpid() == parent && !may_go_on) std::this_thread::yield();
    return "rows";
  }
  auto rooftune_key_fields() { return std::tie(rows); }
  auto rooftune_key_fields() const { return std::tie(rows); }
};

TEST(Key, AChildDoesNotWaitForAThreadOfItsParent) {
  std::thread first([] { EXPECT_EQ(key_json(HeldKey{3}), "{\"rows\":3}"); });
  while (!HeldKey::begun) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // which ends the child, were it to wait
    _exit(key_json(HeldKey{3}) == "{\"rows\":3}" ? 0 : 1);
  }
  HeldKey::may_go_on = true;
  first.join();
  ASSERT_GT(child, 0);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(Anchor, BalancedRoundsUpToPowersOfTwo) {
  for (int i = 0; i < 62; ++i) {
    const std::int64_t power = std::int64_t{1} << i;
    EXPECT_EQ(anchor(power, Level::balanced), power);
    if (power > 2) {
      EXPECT_EQ(anchor(power - 1, Level::balanced), power);
    }
    if (i < 61) {
      EXPECT_EQ(anchor(power + 1, Level::balanced), power * 2);
    }
  }
}

TEST(Anchor, OtherLevels) {
  // 2.5^i: 1, 2.5, 6.25, 15.625, 39.0625, 97.65625
  EXPECT_EQ(anchor(1, Level::minimal), 1);
  EXPECT_EQ(anchor(2, Level::minimal), 3);
  EXPECT_EQ(anchor(3, Level::minimal), 7);
  EXPECT_EQ(anchor(6, Level::minimal), 7);
  EXPECT_EQ(anchor(7, Level::minimal), 16);
  EXPECT_EQ(anchor(97, Level::minimal), 98);
  // 1.5^i: 1, 1.5, 2.25, 3.375, 5.0625, 7.59375, 11.390625
  EXPECT_EQ(anchor(1, Level::extensive), 1);
  EXPECT_EQ(anchor(2, Level::extensive), 3);
  EXPECT_EQ(anchor(3, Level::extensive), 4);
  EXPECT_EQ(anchor(4, Level::extensive), 6);
  EXPECT_EQ(anchor(11, Level::extensive), 12);
  EXPECT_EQ(anchor(12345, Level::full), 12345);
}

TEST(Anchor, AgreesWithTheDefinitionInLongDouble) {
  std::mt19937_64 random(7);
  for (const auto& [level, base] : {std::pair{Level::minimal, 2.5L}, {Level::extensive, 1.5L}}) {
    for (int round = 0; round < 20000; ++round) {
      // Up to 2^40 every power is far enough from a whole number, or exact, for 64 bits.
      const auto x = static_cast<std::int64_t>(1 + random() % (1ull << (1 + random() % 40)));
      long double power = 1;
      while (power < static_cast<long double>(x)) power *= base;
      EXPECT_EQ(anchor(x, level), static_cast<std::int64_t>(std::ceil(power))) << x;
    }
  }
}

TEST(Anchor, NeverShrinksAndIsMonotonic) {
  for (const Level level : {Level::minimal, Level::balanced, Level::extensive, Level::full}) {
    std::int64_t last = 0;
    for (std::int64_t x = 1; x > 0 && x < (std::int64_t{1} << 61); x += x / 7 + 1) {
      const std::int64_t up = anchor(x, level);
      EXPECT_GE(up, x);
      EXPECT_GE(up, last);
      last = up;
    }
    EXPECT_EQ(anchor(0, level), 0);
    EXPECT_EQ(anchor(INT64_MAX, level), INT64_MAX);
  }
}

struct SoftmaxKey {
  std::int64_t rows = 0, cols = 0;
  DType dtype = DType::f32;
  bool causal = false;
  std::string scheme;
  ROOFTUNE_KEY(anchored(rows), anchored(cols), dtype, causal, scheme)
};

TEST(Key, DeclarationGivesNamesAndMarks) {
  const auto names = detail::key_field_names<SoftmaxKey>();
  ASSERT_EQ(names.size(), 5u);
  EXPECT_EQ(names[0].name, "rows");
  EXPECT_TRUE(names[0].anchored);
  EXPECT_EQ(names[2].name, "dtype");
  EXPECT_FALSE(names[2].anchored);
}

TEST(Key, AnchorsMarkedFieldsOnly) {
  const SoftmaxKey key = anchored_key(SoftmaxKey{1000, 7, DType::f64, true, "q"}, Level::balanced);
  EXPECT_EQ(key.rows, 1024);
  EXPECT_EQ(key.cols, 8);
  EXPECT_EQ(key.dtype, DType::f64);
  EXPECT_TRUE(key.causal);
}

TEST(Key, EqualityAndHashFollowEveryField) {
  const SoftmaxKey key{1024, 256, DType::f32, false, "a"};
  EXPECT_EQ(key, key);
  EXPECT_EQ(key_hash(key), key_hash(SoftmaxKey(key)));
  for (const SoftmaxKey& other :
       {SoftmaxKey{1025, 256, DType::f32, false, "a"},
        SoftmaxKey{1024, 257, DType::f32, false, "a"},
        SoftmaxKey{1024, 256, DType::f64, false, "a"}, SoftmaxKey{1024, 256, DType::f32, true, "a"},
        SoftmaxKey{1024, 256, DType::f32, false, "b"}}) {
    EXPECT_FALSE(key == other);
    EXPECT_NE(key_hash(key), key_hash(other));
  }
}

TEST(Key, TextAndJsonBothWays) {
  const SoftmaxKey key{1024, -3, DType::bf16, true, "odd \"name\"\n, {x}"};
  EXPECT_EQ(key_text(SoftmaxKey{1, 2, DType::f32, false, "s"}),
            "rows=1 cols=2 dtype=f32 causal=false scheme=s");
  EXPECT_EQ(key_json(SoftmaxKey{1, 2, DType::f32, false, "s"}),
            R"({"rows":1,"cols":2,"dtype":"f32","causal":false,"scheme":"s"})");
  const auto back = key_from_json<SoftmaxKey>(key_json(key));
  ASSERT_TRUE(back) << back.error().text;
  EXPECT_EQ(*back, key);
}

TEST(Key, BadJsonIsAnError) {
  for (const char* bad : {"", "[]", "{", R"({"rows":1})",
                          R"({"rows":1,"cols":2,"dtype":"f33","causal":true,"scheme":""})",
                          R"({"rows":"x","cols":2,"dtype":"f32","causal":true,"scheme":""})",
                          R"({"rows":1,"cols":2,"dtype":"f32","causal":1,"scheme":""})",
                          R"({"rows":[1],"cols":2,"dtype":"f32","causal":true,"scheme":""})",
                          R"({"rows":1.5,"cols":2,"dtype":"f32","causal":true,"scheme":""})",
                          R"({"rows":1,"cols":2,"dtype":"f32","causal":true,"other":""})"}) {
    EXPECT_FALSE(key_from_json<SoftmaxKey>(bad)) << bad;
  }
}

TEST(AnchorStep, AStepNeverReachesOverAnAnchor) {
  for (const Level level : {Level::minimal, Level::balanced, Level::extensive}) {
    for (std::int64_t x = 1; x < 5000; ++x) {
      const int step = anchor_step(x, level), next = anchor_step(x + 1, level);
      EXPECT_LE(step, next) << x;
      if (anchor(x, level) != anchor(x + 1, level)) {
        EXPECT_LT(step, next) << x;
      }
      const auto [first, last] = anchor_step_sizes(step, level);
      EXPECT_LE(first, x);
      EXPECT_GE(last, x);
      EXPECT_EQ(anchor_step(first, level), step);
      EXPECT_EQ(anchor_step(last, level), step);
    }
    const std::int64_t most = std::int64_t{1} << 61;
    EXPECT_GT(anchor_step(most, level), anchor_step(most / 2, level));
    EXPECT_LT(anchor_step(most, level), 1024) << "the bits that a part of a product has for it";
    EXPECT_LT(anchor_step(INT64_MAX, level), 1024);
  }
  EXPECT_EQ(anchor_step(7, Level::full), anchor_step(700, Level::full));
}

TEST(AnchorStep, FourToAnAnchor) {
  EXPECT_EQ(anchor_step(1024, Level::balanced), anchor_step(512, Level::balanced) + 4);
  EXPECT_EQ(anchor_step_sizes(anchor_step(1024, Level::balanced), Level::balanced),
            std::pair(std::int64_t{862}, std::int64_t{1024}));
}

}  // namespace
}  // namespace rooftune
