#include "tune/guesses.h"

#include <gtest/gtest.h>

namespace rooftune::detail {
namespace {

TEST(GuessCheck, KnowsNothingFromAFew) {
  GuessCheck check;
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(check.promising("", 100, 1));
    EXPECT_FALSE(check.surprising(1, 100));
    check.add("", 1, 1);
  }
}

TEST(GuessCheck, AFactorThatAllShareDoesNotMatter) {
  GuessCheck check;
  for (const double guess : {1.0, 1.2, 1.5, 2.0}) check.add("", guess, 3 * guess);
  EXPECT_TRUE(check.promising("", 1.05, 3.0));
  EXPECT_FALSE(check.promising("", 1.4, 3.0));
  EXPECT_FALSE(check.surprising(2, 6.5));
  EXPECT_TRUE(check.surprising(2, 30));
}

TEST(GuessCheck, ExpectsWhatTheOthersTook) {
  GuessCheck check;
  EXPECT_FALSE(check.expected_s("", 1));
  check.add("", 1, 3);
  EXPECT_DOUBLE_EQ(*check.expected_s("", 2), 6);
  check.add("", 1, 3.0 * 4);
  EXPECT_DOUBLE_EQ(*check.expected_s("", 2), 2 * 6);
}

TEST(GuessCheck, WhereGuessesErrMuchMoreIsTried) {
  GuessCheck check;
  check.add("", 1, 1);
  check.add("", 1.1, 2.2);
  check.add("", 1.2, 0.8);
  check.add("", 1.3, 2);
  EXPECT_TRUE(check.promising("", 1.5, 0.8));
  EXPECT_FALSE(check.surprising(1.5, 4));
  EXPECT_FALSE(check.promising("", 10, 0.8));
}

TEST(GuessCheck, AKindErrsAlike) {
  GuessCheck check;
  check.add("tile", 1, 1);
  check.add("strip", 1, 4);
  EXPECT_DOUBLE_EQ(*check.expected_s("tile", 2), 2);
  EXPECT_DOUBLE_EQ(*check.expected_s("strip", 2), 8);
  EXPECT_NEAR(*check.expected_s("split", 2), 4, 1e-12);  // the kinds' mean
  EXPECT_TRUE(check.promising("tile", 1.05, 1));
  EXPECT_FALSE(check.promising("tile", 1.2, 1));
  EXPECT_FALSE(check.promising("strip", 0.9, 1));
}

TEST(GuessCheck, AKindOfWhichNothingIsKnownIsTriedSooner) {
  GuessCheck check;
  check.add("tile", 1, 1);
  EXPECT_FALSE(check.promising("tile", 2, 1));
  EXPECT_TRUE(check.promising("strip", 2, 1));
  EXPECT_FALSE(check.promising("strip", 3, 1));
}

TEST(GuessCheck, AKindCountsOnceHoweverManyOfItWereMeasured) {
  GuessCheck check;
  for (int i = 0; i < 9; ++i) check.add("tile", 1, 1);
  check.add("strip", 1, 4);
  EXPECT_NEAR(*check.expected_s("split", 1), 2, 1e-12);
}

}  // namespace
}  // namespace rooftune::detail
