#include "fault_campaign.h"

#include <gtest/gtest.h>

#include "base/temp_folder_for_test.h"

namespace rooftune {
namespace {

TEST(FaultCampaign, NoFaultMakesAResultWrongOrACallStuckOrADecisionLost) {
  const TempFolder folder;
  const auto report = run_fault_campaign({.folder = folder.path(), .scripts = 200});
  ASSERT_TRUE(report) << report.error().text;
  EXPECT_EQ(report->wrong, 0u);
  EXPECT_EQ(report->stuck, 0u);
  EXPECT_EQ(report->crashed, 0u);
  EXPECT_EQ(report->lost, 0u);
  EXPECT_EQ(report->innocent, 0u);
  EXPECT_EQ(report->repeated, 0u);
  EXPECT_EQ(report->failed, 0u);
  EXPECT_EQ(report->unhealthy, 0u);
  for (const std::string& fault : report->faults) ADD_FAILURE() << fault;
  // It has to have been a campaign.
  EXPECT_EQ(report->scripts, 200u);
  EXPECT_GT(report->tuned, 200u);
  EXPECT_GT(report->finished, 100u);
  EXPECT_GT(report->errors, 10u);
  EXPECT_GT(report->killed, 20u);
  EXPECT_GT(report->died, 5u);
  EXPECT_GT(report->quarantines, 2u);
}

}  // namespace
}  // namespace rooftune
