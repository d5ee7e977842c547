#include "tune/online.h"

#include <gtest/gtest.h>

namespace rooftune::detail {
namespace {

TEST(MostExpectedRatio, LeavesRoomForTheCheck) {
  constexpr double kLeader = 1e-3;
  for (const double share : {0.0, 0.1, 0.3, 0.5, 1.0}) {
    const double ratio = most_expected_ratio(kLeader, share * kLeader);
    EXPECT_LT(ratio + share, kMostPerCall) << share;
    EXPECT_GE(ratio, 1) << "who is as good as the leader may be tried: " << share;
    EXPECT_LE(ratio, most_expected_ratio(kLeader, 0));
  }
}

TEST(MostExpectedRatio, DoesNotWaitForACheckThatCannotBeFittedIn) {
  EXPECT_EQ(most_expected_ratio(1e-3, 5e-3), most_expected_ratio(1e-3, 0));
}

TEST(FitsInCall, ChecksThatAreShortOrNotMuchLongerThanTheProduct) {
  EXPECT_TRUE(fits_in_call(10e-3, 0));
  EXPECT_TRUE(fits_in_call(10e-3, 20e-3));
  EXPECT_FALSE(fits_in_call(10e-3, 50e-3));
  EXPECT_TRUE(fits_in_call(10e-6, 100e-6)) << "a launch beside calls disturbs for longer";
}

TEST(FitsInCall, OnStreamsOnlyLongCallsHaveTime) {
  EXPECT_TRUE(fits_in_call_on_stream(10e-3, 1e-3));
  EXPECT_TRUE(fits_in_call_on_stream(0.4e-3, 0.3e-3));
  EXPECT_FALSE(fits_in_call_on_stream(10e-3, 15e-3));
  EXPECT_FALSE(fits_in_call_on_stream(100e-6, 0)) << "it is not the check alone that takes long";
}

constexpr Likeness::Size kFirst = {1000, 10}, kOther = {500, 8};

TEST(FirstLaunchesAtOnce, OnlyWhereTheProductIsKnownToBeVeryShort) {
  EXPECT_TRUE(first_launches_at_once(5e-6));
  EXPECT_TRUE(first_launches_at_once(3e-5));
  EXPECT_FALSE(first_launches_at_once(2e-4));
  EXPECT_FALSE(first_launches_at_once(std::nullopt));
}

TEST(Likeness, CallsLikeTheFirstCount) {
  Likeness likeness;
  EXPECT_EQ(likeness.scale(kFirst), 1);
  EXPECT_EQ(likeness.scale(kFirst), 1);
  EXPECT_EQ(likeness.scale(kOther), std::nullopt);
  EXPECT_EQ(likeness.scale(kFirst), 1);
}

TEST(Likeness, SizesThatTakeTurnsAreNotMixed) {
  Likeness likeness;
  for (int call = 0; call < 1000; ++call) {
    EXPECT_EQ(likeness.scale(kFirst), 1);
    EXPECT_EQ(likeness.scale(kOther), std::nullopt);
  }
}

TEST(Likeness, WhereNoSizeComesBackAllCountInProportion) {
  Likeness likeness;
  ASSERT_EQ(likeness.scale(kFirst), 1);
  std::optional<double> scale;
  int calls = 0;
  while (!(scale = likeness.scale(kOther)) && calls < 1000) ++calls;
  EXPECT_GT(calls, 10);
  EXPECT_LT(calls, 100);
  EXPECT_EQ(scale, 2);
  EXPECT_EQ(likeness.scale(kFirst), 1);
  EXPECT_EQ(likeness.scale(Likeness::Size{4000, 10}), 0.25);
}

TEST(Likeness, WithoutKnownWorkAllCallsAreAlike) {
  Likeness likeness;
  EXPECT_EQ(likeness.scale(std::nullopt), 1);
  EXPECT_EQ(likeness.scale(std::nullopt), 1);
}

TEST(Likeness, WorkWithoutOperationsIsInNoProportion) {
  Likeness likeness;
  ASSERT_EQ(likeness.scale(Likeness::Size{0, 10}), 1);
  for (int call = 0; call < 100; ++call) {
    EXPECT_EQ(likeness.scale(Likeness::Size{0, 20}), std::nullopt);
  }
}

}  // namespace
}  // namespace rooftune::detail
