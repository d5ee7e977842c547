// Trigger: a winner tuned for one problem is found by another of the same rounded key that it
// cannot run. Right: it is checked on every hit, and the next one that is legal runs.
#include "issue_testing.h"

namespace rooftune::testing {
namespace {

class Burn5352 : public IssueTest {
 protected:
  // 160 and 224 round to the same key; tiny kernels end at 160.
  void rank(const std::string& names) {
    sql(database(), "UPDATE entries SET value = json_set(value, '$.ranking', json('" + names +
                        "')) WHERE ns LIKE 'autotune/%'");
  }
};

TEST_F(Burn5352, TheNextOfTheRankingRuns) {
  {
    auto session = open();
    ASSERT_EQ(run_product(*session, 160, 160, 160), "");
    const auto mine = decision_of(*session, 160, 160, 160);
    const auto other = decision_of(*session, 224, 224, 224);
    ASSERT_TRUE(mine && other);
    ASSERT_EQ(mine->key, other->key);
  }
  rank(R"(["tiny_portable_4x2v", "packed_portable_4x2v_k256"])");
  auto session = open();
  CallReport report;
  EXPECT_EQ(run_product(*session, 224, 224, 224, DType::f32, {}, &report), "");
  EXPECT_EQ(report.candidate, "packed_portable_4x2v_k256");
  EXPECT_EQ(report.origin, Origin::store);
  EXPECT_EQ(run_product(*session, 160, 160, 160, DType::f32, {}, &report), "");
  EXPECT_EQ(report.candidate, "tiny_portable_4x2v");
  EXPECT_EQ(run_product(*session, 224, 224, 224, DType::f32, {}, &report), "");
  EXPECT_EQ(report.candidate, "packed_portable_4x2v_k256");
  EXPECT_EQ(report.origin, Origin::memory);
}

TEST_F(Burn5352, ARankingOfNothingLegalIsMeasuredAgain) {
  {
    auto session = open();
    ASSERT_EQ(run_product(*session, 160, 160, 160), "");
  }
  rank(R"(["tiny_portable_4x2v"])");
  auto session = open();
  CallReport report;
  EXPECT_EQ(run_product(*session, 224, 224, 224, DType::f32, {}, &report), "");
  // What is known of other candidates may be enough to decide without another launch.
  EXPECT_EQ(report.origin, Origin::measured);
  EXPECT_FALSE(report.candidate.starts_with("tiny"));
  const auto decision = decision_of(*session, 224, 224, 224);
  ASSERT_TRUE(decision);
  EXPECT_NE(std::find(decision->ranking.begin(), decision->ranking.end(), report.candidate),
            decision->ranking.end());
}

// What ran is a candidate that accepts the problem by itself.
TEST_F(Burn5352, WhatRanIsLegalInEitherOrder) {
  struct Size {
    std::int64_t m, n, k;
  };
  const Size sizes[] = {{512, 8, 128}, {512, 7, 128}, {512, 128, 126}, {512, 128, 128}};
  for (const bool backwards : {false, true}) {
    SCOPED_TRACE(backwards ? "backwards" : "forwards");
    Settings settings = default_settings();
    settings.environment = backwards ? "./b" : "./f";
    for (int process = 0; process < 2; ++process) {
      auto session = open(settings);
      for (int i = 0; i < 4; ++i) {
        const auto& [m, n, k] = sizes[backwards ? 3 - i : i];
        for (int call = 0; call < 3; ++call) {
          CallReport report;
          ASSERT_EQ(run_product(*session, m, n, k, DType::f32, {}, &report), "");
          const std::string ran(report.candidate);
          MatmulOptions forced;
          forced.strategy = Strategy::named;
          forced.candidate = ran;
          EXPECT_EQ(run_product(*session, m, n, k, DType::f32, forced), "");
        }
      }
    }
  }
}

}  // namespace
}  // namespace rooftune::testing
