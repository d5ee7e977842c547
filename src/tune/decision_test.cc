#include "rooftune/decision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rooftune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Decision decided() {
  Decision decision;
  decision.operation = "toy";
  decision.winner = "a";
  decision.ranking = {"a", "b", "c", "d"};
  decision.same_as_winner = {"b", "c"};
  return decision;
}

TEST(Decision, TheStateOfItsOperandsIsKept) {
  for (const Operands operands : {Operands::cold, Operands::warm}) {
    Decision decision = decided();
    decision.operands = operands;
    const auto read = decision_from_json(to_json(decision));
    ASSERT_TRUE(read) << read.error().text;
    EXPECT_EQ(read->operands, operands);
  }
}

TEST(Decision, EqualsOfTheWinnerAreKept) {
  const auto read = decision_from_json(to_json(decided()));
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_THAT(read->same_as_winner, ElementsAre("b", "c"));
}

TEST(Decision, WhatTheBackgroundDidIsKept) {
  Decision decision = decided();
  decision.replaced = {"d", "b"};
  decision.cost.background_s = 0.25;
  decision.cost.background_launches = 17;
  decision.candidates.resize(2);
  decision.candidates[0].name = "a";
  decision.candidates[0].background = true;
  decision.candidates[0].guess_s = 3e-5;
  decision.candidates[1].name = "b";
  const auto read = decision_from_json(to_json(decision));
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_THAT(read->replaced, ElementsAre("d", "b"));
  EXPECT_EQ(read->cost.background_s, 0.25);
  EXPECT_EQ(read->cost.background_launches, 17u);
  EXPECT_TRUE(read->find("a")->background);
  EXPECT_EQ(read->find("a")->guess_s, 3e-5);
  EXPECT_FALSE(read->find("b")->guess_s);
  EXPECT_FALSE(read->find("b")->background);
}

TEST(Decision, PartsAreKept) {
  Decision decision = decided();
  EXPECT_FALSE(decision_from_json(to_json(decision))->part);
  decision.part = UINT64_MAX;
  decision.part_text = "the last";
  decision.split = {0, std::uint64_t{1} << 63};
  decision.apart = true;
  const auto read = decision_from_json(to_json(decision));
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(read->part, UINT64_MAX);
  EXPECT_EQ(read->part_text, "the last");
  EXPECT_THAT(read->split, ElementsAre(0u, std::uint64_t{1} << 63));
  EXPECT_TRUE(read->apart);
}

TEST(Decision, EqualsThatAreNoNamesAreNone) {
  std::string text = to_json(decided());
  const std::string good = R"("same_as_winner":["b","c"])";
  const auto at = text.find(good);
  ASSERT_NE(at, std::string::npos) << text;
  for (const char* bad : {"7", "null", "{}", "[]"}) {
    const auto read = decision_from_json(
        std::string(text).replace(at, good.size(), "\"same_as_winner\":" + std::string(bad)));
    ASSERT_TRUE(read) << bad << ": " << read.error().text;
    EXPECT_THAT(read->same_as_winner, IsEmpty()) << bad;
  }
}

TEST(Decision, HowItWasMadeIsKept) {
  const auto measured = decision_from_json(to_json(decided()));
  ASSERT_TRUE(measured);
  EXPECT_EQ(measured->mode, Mode::measure);
  Decision decision = decided();
  decision.mode = Mode::online;
  decision.not_online = "why";
  const auto read = decision_from_json(to_json(decision));
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(read->mode, Mode::online);
  EXPECT_EQ(read->not_online, "why");
}

TEST(Decision, WhoLeavesTheRankingIsNobodysEqual) {
  Decision decision = decided();
  std::erase(decision.ranking, "b");
  settle_winner(decision);
  EXPECT_EQ(decision.winner, "a");
  EXPECT_THAT(decision.same_as_winner, ElementsAre("c"));
}

TEST(Decision, AnEqualThatTakesTheWinnersPlaceIsNotItsOwnEqual) {
  Decision decision = decided();
  std::erase(decision.ranking, "a");
  settle_winner(decision);
  EXPECT_EQ(decision.winner, "b");
  EXPECT_THAT(decision.same_as_winner, ElementsAre("c"));
}

TEST(Decision, OfNobodyNobodyWins) {
  Decision decision = decided();
  decision.ranking.clear();
  settle_winner(decision);
  EXPECT_EQ(decision.winner, "");
  EXPECT_THAT(decision.same_as_winner, IsEmpty());
}

}  // namespace
}  // namespace rooftune
