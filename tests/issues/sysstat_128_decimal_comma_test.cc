// Trigger: in a locale with a decimal comma JSON holds 4,97 and a setting of 0.5 is read as 0.
// Right: what is written and read does not depend on the locale.
#include <nlohmann/json.hpp>

#include "base/locale_for_test.h"
#include "issue_testing.h"

namespace rooftune::testing {
namespace {

class Sysstat128 : public IssueTest {
 protected:
  static void expect_strict(const std::string& text) {
    const auto json = nlohmann::json::parse(text, nullptr, false);
    ASSERT_FALSE(json.is_discarded()) << text;
    EXPECT_EQ(text.find("nan"), std::string::npos);
    int fractions = 0;
    for (const auto& candidate : json["candidates"]) {
      for (const auto& sample : candidate["samples_s"]) {
        ASSERT_TRUE(sample.is_number());
        EXPECT_GT(sample.get<double>(), 0);
        EXPECT_LT(sample.get<double>(), 1);
        ++fractions;
      }
    }
    EXPECT_GT(fractions, 0);
  }
};

TEST_F(Sysstat128, ADecisionGoesThroughTheStoreUnchanged) {
  std::string written;
  {
    const DecimalComma comma;
    Settings settings = default_settings();
    settings.autotune.records = RecordSink::file;
    settings.autotune.records_file = folder_.path() / "decisions.jsonl";
    auto session = open(settings);
    EXPECT_EQ(run_product(*session, 1200, 30, 40), "");
    written = to_json(*decision_of(*session, 1200, 30, 40));
    expect_strict(written);
    expect_strict(contents(settings.autotune.records_file));
    const auto back = decision_from_json(written);
    ASSERT_TRUE(back);
    EXPECT_EQ(to_json(*back), written);
    Trace trace;
    session->set_subscriber(&trace);
    EXPECT_EQ(run_product(*session, 1200, 30, 40), "");
    session->set_subscriber(nullptr);
    EXPECT_FALSE(nlohmann::json::parse(trace.json(), nullptr, false).is_discarded());
    // The key too: 1.200 would be another.
    EXPECT_NE(decision_of(*session, 1200, 30, 40)->key.find("\"m\":2048"), std::string::npos);
  }
  for (const auto& value :
       sql(database(), "SELECT value FROM entries WHERE ns LIKE 'autotune/%'")) {
    expect_strict(value);
  }
  for (const auto& value :
       sql(database(), "SELECT value FROM entries WHERE ns LIKE 'throughput/%'")) {
    const auto json = nlohmann::json::parse(value, nullptr, false);
    ASSERT_FALSE(json.is_discarded()) << value;
    EXPECT_GT(json["rate"].get<double>(), 0);
  }
  // Written with a comma about, read without, and the other way round.
  auto session = open();
  CallReport report;
  EXPECT_EQ(run_product(*session, 1200, 30, 40, DType::f32, {}, &report), "");
  EXPECT_EQ(report.origin, Origin::store);
  EXPECT_EQ(run_product(*session, 1200, 300, 40), "");
  session.reset();
  const DecimalComma comma;
  session = open();
  EXPECT_EQ(run_product(*session, 1200, 300, 40, DType::f32, {}, &report), "");
  EXPECT_EQ(report.origin, Origin::store);
}

TEST_F(Sysstat128, SettingsAreReadWithAPoint) {
  const DecimalComma comma;
  write_file(folder_.path() / "rooftune.toml",
             "[autotune]\nbudget_s = 0.5\neliminate_ratio = 1.75");
  auto opened = Session::open({.folders = {folder_.path(), folder_.path()}});
  ASSERT_TRUE(opened) << opened.error().text;
  EXPECT_EQ((*opened)->settings().autotune.budget_s, 0.5);
  EXPECT_EQ((*opened)->settings().autotune.eliminate_ratio, 1.75);
}

}  // namespace
}  // namespace rooftune::testing
