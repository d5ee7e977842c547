// Trigger: measurements of other hardware or options are trusted, or one unreadable fingerprint
// blocks the store for ever. Right: a miss for those rows only; the others survive; what changes
// the code that runs is in the key.
#include "issue_testing.h"

namespace rooftune::testing {
namespace {

class FlashInfer3970 : public IssueTest {
 protected:
  CallReport run(const Settings& settings) {
    auto session = open(settings);
    CallReport report;
    EXPECT_EQ(run_product(*session, 48, 40, 56, DType::f32, {}, &report), "");
    candidate_ = report.candidate;  // outlives the session
    report.candidate = {};
    return report;
  }
  std::vector<std::string> rows() const {
    return sql(database(), "SELECT ns, key, value FROM entries WHERE ns LIKE 'autotune/%'");
  }
  std::string candidate_;
};

TEST_F(FlashInfer3970, EveryVariationMeasuresOnceAndLosesNothing) {
  std::vector<Settings> variations;
  for (const int threads : {1, 2}) {
    for (const char* isa : {"portable", "avx2", "avx512"}) {
      Settings settings = default_settings();
      settings.threads = threads;
      settings.isa = isa;
      SessionOptions options{.settings = settings, .folders = {folder_.path(), folder_.path()}};
      if (Session::open(options)) variations.push_back(settings);
    }
  }
  ASSERT_GE(variations.size(), 2u);
  std::size_t expected = 0;
  for (const Settings& settings : variations) {
    EXPECT_EQ(run(settings).origin, Origin::measured) << *settings.threads << *settings.isa;
    EXPECT_EQ(rows().size(), ++expected);
    if (*settings.isa == "portable") {
      EXPECT_NE(candidate_.find("portable"), std::string::npos);
    }
    if (*settings.isa != "avx512") {
      EXPECT_EQ(candidate_.find("avx512"), std::string::npos);
    }
  }
  for (const Settings& settings : variations) EXPECT_EQ(run(settings).origin, Origin::store);
}

TEST_F(FlashInfer3970, ARowOfAnotherMachineIsIgnoredAndKept) {
  EXPECT_EQ(run(default_settings()).origin, Origin::measured);
  sql(database(),
      "UPDATE entries SET ns = replace(ns, '/matmul', '0/matmul'), value = json_set(value, "
      "'$.fingerprint', 'unknown') WHERE ns LIKE 'autotune/%'");
  const auto foreign = rows();
  ASSERT_EQ(foreign.size(), 1u);
  EXPECT_EQ(run(default_settings()).origin, Origin::measured);
  const auto both = rows();
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(std::count(both.begin(), both.end(), foreign[0]), 1);
  EXPECT_EQ(run(default_settings()).origin, Origin::store);
}

}  // namespace
}  // namespace rooftune::testing
