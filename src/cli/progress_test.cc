#include "cli/progress.h"

#include "gtest/gtest.h"

namespace rooftune::cli {
namespace {

TEST(ProgressText, ShowsShareAndTimeLeft) {
  EXPECT_EQ(progress_text("tuning", 8, 32, "2048", 10),
            "tuning [######..................] 8/32  2048  10 s, about 30 s left");
}

TEST(ProgressText, KnowsNoTimeLeftAtTheEnds) {
  EXPECT_EQ(progress_text("tuning", 0, 2, "", 2), "tuning [........................] 0/2  2 s");
  EXPECT_EQ(progress_text("tuning", 2, 2, "", 2), "tuning [########################] 2/2  2 s");
  EXPECT_EQ(progress_text("tuning", 0, 0, "", 2), "tuning [########################] 0/0  2 s");
  EXPECT_EQ(progress_text("tuning", 9, 2, "", 2), "tuning [########################] 2/2  2 s");
}

}  // namespace
}  // namespace rooftune::cli
