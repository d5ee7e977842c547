// Trigger: a store of a newer schema is read as if it were known, or old rows lack fields. Right:
// a newer one is a miss and stays as it is; rows that cannot be understood are misses for
// themselves.
#include "issue_testing.h"

namespace rooftune::testing {
namespace {

class AiDotNet176 : public IssueTest {
 protected:
  void SetUp() override {
    auto session = open();
    ASSERT_EQ(run_product(*session, 30, 40, 50), "");
    ASSERT_EQ(run_product(*session, 3, 4, 5), "");
  }
  // Both calls right; whether the first had to measure.
  bool measures() {
    auto session = open();
    CallReport report;
    EXPECT_EQ(run_product(*session, 30, 40, 50, DType::f32, {}, &report), "");
    const bool measured = report.tuned;
    EXPECT_EQ(run_product(*session, 30, 40, 50, DType::f32, {}, &report), "");
    EXPECT_EQ(report.origin, Origin::memory);
    EXPECT_FALSE(report.candidate.empty());
    return measured;
  }
  void change(const std::string& set) {
    sql(database(), "UPDATE entries SET " + set + " WHERE ns LIKE 'autotune/%'");
  }
};

TEST_F(AiDotNet176, ANewerSchemaIsAMissAndStays) {
  for (const int version : {2, 999}) {
    sql(database(), "PRAGMA user_version = " + std::to_string(version));
    const std::string before = contents(database());
    EXPECT_TRUE(measures());
    EXPECT_EQ(contents(database()), before);
  }
  EXPECT_EQ(warnings_.count(), 2u) << PrintToString(warnings_);
  sql(database(), "PRAGMA user_version = 1");
  EXPECT_FALSE(measures()) << "nothing was lost";
}

TEST_F(AiDotNet176, ASchemaThatNeverExisted) {
  for (const int version : {0, -1}) {
    sql(database(), "PRAGMA user_version = " + std::to_string(version));
    EXPECT_TRUE(measures());
    EXPECT_FALSE(measures());
  }
  EXPECT_EQ(warnings_.count(), 2u) << PrintToString(warnings_);
}

TEST_F(AiDotNet176, RowsThatAreNotOurs) {
  for (const char* set : {
           "updated_unix_s = -5",
           "updated_unix_s = 'yesterday'",
           "value = NULL",
           "value = 7",
           "value = 'winner'",
           "value = '[]'",
           "value = '{}'",
           "value = '{\"winner\": \"naive_portable\"}'",
           "value = json_remove(value, '$.candidates')",
           "value = json_remove(value, '$.ranking')",
           "value = json_set(value, '$.ranking', 5)",
           "value = json_set(value, '$.ranking', json('[null, 4, \"gone\", {}]'))",
           "value = json_set(value, '$.candidates', json('[[], 3, null]'))",
           "value = json_set(value, '$.candidates[0].version', 3)",
           "value = json_set(value, '$.candidates[0].verdict', 'best')",
           "value = json_set(value, '$.origin', 'heaven')",
           "value = json_set(value, '$.candidates[0].samples_s', json('[1e999]'))",
           "value = substr(value, 1, length(value) / 2)",
           "value = '{\"a\":' || value || '}'",
       }) {
    SCOPED_TRACE(set);
    change(set);
    measures();
    EXPECT_FALSE(measures()) << "the row has been replaced by a good one";
  }
  EXPECT_EQ(warnings_.count(), 0u) << PrintToString(warnings_);
}

// A winner that this build does not have: the rest of the ranking counts.
TEST_F(AiDotNet176, AWinnerThatNoLongerExists) {
  change("value = replace(value, '\"' || json_extract(value, '$.winner') || '\"', '\"gone_v9\"')");
  measures();
  auto session = open();
  CallReport report;
  EXPECT_EQ(run_product(*session, 3, 4, 5, DType::f32, {}, &report), "");
  EXPECT_NE(report.candidate, "gone_v9");
  EXPECT_NE(report.candidate, "");
}

}  // namespace
}  // namespace rooftune::testing
