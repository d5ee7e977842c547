#include "tune/plan.h"

#include <gtest/gtest.h>

namespace rooftune {
namespace {

using Rounds = std::vector<std::vector<std::size_t>>;

TEST(Plan, HighestGroupThenHighestInner) {
  EXPECT_EQ(make_plan({{{0, 3}}, {{2, 1}}, {{2, 3}}, {{2, 3}}}), (Rounds{{2, 3}, {1}, {0}}));
}

TEST(Plan, EqualGroupsMerge) {
  // Two groups of priority 2: their members of inner priority 1 share a round.
  EXPECT_EQ(make_plan({{{2, 1}}, {{2, 1}}, {{1, 9}}}), (Rounds{{0, 1}, {2}}));
}

TEST(Plan, ACandidateAppearsInTheFirstRoundThatReachesIt) {
  EXPECT_EQ(make_plan({{{1, 0}, {3, 0}}, {{3, 0}}, {{1, 0}}}), (Rounds{{0, 1}, {2}}));
}

TEST(Plan, NegativeRemovesAMembershipOnly) {
  EXPECT_EQ(make_plan({{{-1, 3}, {1, 0}}, {{2, -1}}, {{0, 0}}}), (Rounds{{0}, {2}}));
}

TEST(Plan, WithoutAGroupItIsInTheFirstRound) {
  EXPECT_EQ(make_plan({{}, {{3, 3}}, {{1, 1}}, {}}), (Rounds{{0, 1, 3}, {2}}));
  EXPECT_EQ(make_plan({{}, {}}), (Rounds{{0, 1}}));
  EXPECT_EQ(make_plan({}), Rounds{});
}

TEST(Plan, NothingIsLostAndNothingIsTwice) {
  std::vector<Memberships> candidates;
  for (int i = 0; i < 200; ++i) {
    Memberships joined;
    for (int g = 0; g < i % 4; ++g) joined.emplace_back((i * 7 + g * 3) % 4, (i * 5 + g) % 3);
    candidates.push_back(joined);
  }
  std::vector<int> seen(candidates.size());
  for (const auto& round : make_plan(candidates)) {
    for (const std::size_t i : round) ++seen[i];
  }
  for (const int count : seen) EXPECT_EQ(count, 1);
}

}  // namespace
}  // namespace rooftune
