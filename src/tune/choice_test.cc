#include "tune/choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rooftune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<CandidateEvidence> evidence(const std::vector<std::vector<double>>& samples) {
  std::vector<CandidateEvidence> all;
  for (const auto& of : samples) {
    all.emplace_back();
    all.back().verdict = Verdict::ranked;
    all.back().samples = of;
  }
  return all;
}

Choice chosen(const std::vector<CandidateEvidence>& all, std::optional<std::size_t> untuned = {}) {
  std::vector<std::size_t> measured;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].samples.empty()) measured.push_back(i);
  }
  return choose(all, measured, untuned, 0.02, 0.95);
}

TEST(Choice, TheFasterOneWins) {
  const auto all = evidence({{3, 3, 3}, {1, 1, 1}, {}, {2, 2, 2}});
  EXPECT_THAT(chosen(all).ranking, ElementsAre(1, 3, 0));
  EXPECT_THAT(chosen(all).same, IsEmpty());
}

TEST(Choice, AmongEqualsTheFirstDeclared) {
  const auto all =
      evidence({{1.05, 1.05, 1.05}, {1.01, 1.01, 1.01}, {1, 1, 1}, {1.005, 1.005, 1.005}});
  EXPECT_THAT(chosen(all).ranking, ElementsAre(1, 2, 3, 0));
  EXPECT_THAT(chosen(all).same, ElementsAre(2, 3));
}

TEST(Choice, ATunedChoiceHasToBeBetterThanTheUntunedByTheMargin) {
  auto all = evidence({{1, 1, 1}, {1.015, 1.015, 1.015}});
  EXPECT_THAT(chosen(all, 1).ranking, ElementsAre(1, 0));
  all = evidence({{1, 1, 1}, {1.03, 1.03, 1.03}});
  EXPECT_THAT(chosen(all, 1).ranking, ElementsAre(0, 1));
}

TEST(Choice, OnePairMakesNoEquals) {
  const auto all = evidence({{1.001}, {1, 1}});
  EXPECT_THAT(chosen(all).ranking, ElementsAre(1, 0));
  EXPECT_THAT(chosen(all).same, IsEmpty());
}

TEST(Choice, TheEliminatedComeLast) {
  auto all = evidence({{1, 1, 1}, {2, 2, 2}});
  all[0].verdict = Verdict::eliminated;
  EXPECT_THAT(chosen(all).ranking, ElementsAre(1, 0));
}

TEST(Choice, OfNothingIsNothing) { EXPECT_THAT(chosen({}).ranking, IsEmpty()); }

}  // namespace
}  // namespace rooftune
