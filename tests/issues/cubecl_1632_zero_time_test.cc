// Trigger: a product so small that its time is 0, which beats every real one and is stored.
// Right: no time that is not positive is believed or kept.
#include <nlohmann/json.hpp>

#include "issue_testing.h"

namespace rooftune::testing {
namespace {

class CubeCl1632 : public IssueTest {};

TEST_F(CubeCl1632, TheSmallestProducts) {
  {
    auto session = open();
    for (const DType dtype : {DType::f32, DType::f64}) {
      for (int call = 0; call < 3; ++call) {
        EXPECT_EQ(run_product(*session, 1, 1, 1, dtype), "");
        EXPECT_EQ(run_product(*session, 2, 4, 3, dtype), "");
      }
    }
  }
  const auto values = sql(database(), "SELECT value FROM entries WHERE ns LIKE 'autotune/%'");
  ASSERT_EQ(values.size(), 4u);
  for (const std::string& value : values) {
    const auto json = nlohmann::json::parse(value);
    int timed = 0;
    for (const auto& candidate : json["candidates"]) {
      for (const auto& sample : candidate["samples_s"]) {
        ASSERT_TRUE(sample.is_number());
        EXPECT_GT(sample.get<double>(), 0);
        EXPECT_LT(sample.get<double>(), 1);
        ++timed;
      }
    }
    EXPECT_GT(timed, 0);
    EXPECT_TRUE(json["limit_s"].is_number());
    EXPECT_GT(json["limit_s"].get<double>(), 0);
  }
}

// A row with such a time, whoever wrote it, is a miss.
TEST_F(CubeCl1632, AStoredTimeThatIsNotPositiveIsAMiss) {
  for (const char* time : {"0", "-1e-6", "null", "\"fast\"", "-0.0"}) {
    SCOPED_TRACE(time);
    {
      auto session = open();
      ASSERT_EQ(run_product(*session, 20, 20, 20), "");
    }
    sql(database(), std::string("UPDATE entries SET value = json_set(value, "
                                "'$.candidates[0].samples_s', json('[") +
                        time + "]')) WHERE ns LIKE 'autotune/%'");
    auto session = open();
    ASSERT_EQ(run_product(*session, 20, 20, 20), "");
    const auto decision = decision_of(*session, 20, 20, 20);
    ASSERT_TRUE(decision);
    for (const CandidateEvidence& candidate : decision->candidates) {
      for (const double sample : candidate.samples) EXPECT_GT(sample, 0) << candidate.name;
    }
    EXPECT_GT(decision->find(decision->winner)->samples.size(), 0u);
  }
}

}  // namespace
}  // namespace rooftune::testing
