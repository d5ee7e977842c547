#include "kill_campaign.h"

#include <gtest/gtest.h>

#include "base/temp_folder_for_test.h"

namespace rooftune {
namespace {

TEST(KillCampaign, WhatWasFinishedIsThereWheneverAProcessWasKilled) {
  const TempFolder folder;
  const auto report =
      run_kill_campaign({.folder = folder.path() / "environment", .seconds = 6, .least = 21});
  ASSERT_TRUE(report) << report.error().text;
  EXPECT_EQ(report->measured_twice, 0u);
  EXPECT_EQ(report->missing, 0u);
  EXPECT_EQ(report->later_tunes, 0u);
  for (const std::string& fault : report->faults) ADD_FAILURE() << fault;
  // It has to have been a campaign: there were kills, some of them in the middle of a search.
  EXPECT_GT(report->kills, 20u);
  EXPECT_GT(report->killed_in_a_call, 0u);
  EXPECT_GT(report->tuned, 20u);
  EXPECT_GT(report->finished, 20u);
}

}  // namespace
}  // namespace rooftune
