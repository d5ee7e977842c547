// What the tuner remembers beyond the process, and what it refuses to believe.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/environment.h"
#include "toy_operation.h"
#include "tune/context_internals.h"

namespace rooftune {
namespace {

using ::testing::ElementsAre;

const std::vector<std::pair<std::string, double>> kTimes = {
    {"naive", 1e-3}, {"fast", 1e-4}, {"medium", 1.3e-4}, {"newcomer", 0.8e-4}};

class TunerStore : public ::testing::Test {
 protected:
  ToyWorld open(std::vector<ToyCandidate> candidates, Settings settings = {},
                FakeScript script = toy_script(kTimes)) {
    return ToyWorld(std::move(script), std::move(candidates), std::move(settings), folder_.path());
  }
  TempFolder folder_;
};

TEST_F(TunerStore, ASecondProcessMeasuresNothing) {
  {
    auto world = open({{"naive"}, {"fast"}, {"medium"}});
    ASSERT_TRUE(world.call());
  }
  auto world = open({{"naive"}, {"fast"}, {"medium"}});
  ASSERT_TRUE(world.call());
  EXPECT_EQ(world.report.origin, Origin::store);
  EXPECT_EQ(world.report.candidate, "fast");
  EXPECT_FALSE(world.report.tuned);
  EXPECT_EQ(world.device->launches(), 1u) << "no tuning and no probe launch";
  ASSERT_TRUE(world.call());
  EXPECT_EQ(world.report.origin, Origin::memory);
}

TEST_F(TunerStore, BinariesAreNotCompiledTwice) {
  {
    auto world = open({{"naive"}, {"fast"}});
    ASSERT_TRUE(world.call());
    EXPECT_EQ(world.device->compilations(), 2u + world.device->counts("probe").builds);
  }
  auto world = open({{"naive"}, {"fast"}});
  ASSERT_TRUE(world.call());
  EXPECT_EQ(world.device->compilations(), 0u);
}

TEST_F(TunerStore, OnlyANewCandidateIsMeasured) {
  {
    auto world = open({{"naive"}, {"fast"}});
    ASSERT_TRUE(world.call());
  }
  auto world = open({{"naive"}, {"fast"}, {"newcomer"}});
  ASSERT_TRUE(world.call());
  EXPECT_TRUE(world.report.tuned);
  EXPECT_EQ(world.report.candidate, "newcomer");
  EXPECT_EQ(world.device->launches("naive"), 0u);
  EXPECT_THAT(world.decision().ranking, ElementsAre("newcomer", "fast", "naive"));
}

TEST_F(TunerStore, AChangedCandidateIsMeasuredAnewAndNothingElse) {
  {
    auto world = open({{"naive"}, {"fast"}, {"medium"}});
    ASSERT_TRUE(world.call());
  }
  FakeScript slower = toy_script(kTimes);
  slower.kernels["fast"] = toy(5e-4);
  auto world = open({{"naive"}, {"fast", 0, 0, "2"}, {"medium"}}, {}, slower);
  ASSERT_TRUE(world.call());
  EXPECT_EQ(world.report.candidate, "medium");
  EXPECT_EQ(world.device->launches("naive"), 0u);
  EXPECT_EQ(world.device->launches("medium"), 1u) << "only the caller's own";
}

TEST_F(TunerStore, ARemovedWinnerLeavesTheRest) {
  {
    auto world = open({{"naive"}, {"fast"}, {"medium"}});
    ASSERT_TRUE(world.call());
  }
  auto world = open({{"naive"}, {"medium"}});
  ASSERT_TRUE(world.call());
  EXPECT_EQ(world.report.candidate, "medium");
  EXPECT_EQ(world.device->launches(), 1u);
  // And it is not forgotten for the build that has it.
  auto old = open({{"naive"}, {"fast"}, {"medium"}});
  ASSERT_TRUE(old.call());
  EXPECT_EQ(old.report.candidate, "fast");
  EXPECT_EQ(old.device->launches(), 1u);
}

TEST_F(TunerStore, AnotherDeviceIsAnotherStory) {
  {
    auto world = open({{"naive"}, {"fast"}});
    ASSERT_TRUE(world.call());
  }
  FakeScript other = toy_script({{"naive", 1e-4}, {"fast", 1e-3}});
  other.fingerprint["driver"] = "another version";
  {
    auto world = open({{"naive"}, {"fast"}}, {}, other);
    ASSERT_TRUE(world.call());
    EXPECT_TRUE(world.report.tuned);
    EXPECT_EQ(world.report.candidate, "naive");
  }
  auto back = open({{"naive"}, {"fast"}});
  ASSERT_TRUE(back.call());
  EXPECT_EQ(back.report.origin, Origin::store) << "the first device's rows are still there";
  EXPECT_EQ(back.report.candidate, "fast");
}

TEST_F(TunerStore, WithoutCacheNothingIsWrittenButMemoryRemembers) {
  Settings settings;
  settings.autotune.cache = false;
  {
    auto world = open({{"naive"}, {"fast"}}, settings);
    ASSERT_TRUE(world.call());
    ASSERT_TRUE(world.call());
    EXPECT_FALSE(world.report.tuned);
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
  auto world = open({{"naive"}, {"fast"}}, settings);
  ASSERT_TRUE(world.call());
  EXPECT_TRUE(world.report.tuned);
}

TEST_F(TunerStore, SwitchingTheEnvironmentResetsMemory) {
  auto world = open({{"naive"}, {"fast"}});
  ASSERT_TRUE(world.call());
  ASSERT_TRUE(world.context->use_environment("other"));
  ASSERT_TRUE(world.call());
  EXPECT_TRUE(world.report.tuned);
  ASSERT_TRUE(world.context->use_environment("local"));
  ASSERT_TRUE(world.call());
  EXPECT_EQ(world.report.origin, Origin::store);
  EXPECT_FALSE(world.context->use_environment("../up"));
}

TEST_F(TunerStore, TwoContextsInOneProcessKnowNothingOfEachOther) {
  TempFolder elsewhere;
  auto one = open({{"naive"}, {"fast"}});
  ToyWorld two(toy_script({{"naive", 1e-4}, {"fast", 1e-3}}), {{"naive"}, {"fast"}}, {},
               elsewhere.path());
  ASSERT_TRUE(one.call());
  ASSERT_TRUE(two.call());
  EXPECT_EQ(one.report.candidate, "fast");
  EXPECT_EQ(two.report.candidate, "naive");
}

TEST_F(TunerStore, APartialDecisionGoesOnInTheNextProcess) {
  Settings settings;
  settings.autotune.budget_s = 1;
  const std::vector<ToyCandidate> all = {{"naive"}, {"fast"}};
  const FakeScript script = toy_script({{"naive", 0.7}, {"fast", 0.6}});
  bool partial = true;
  int processes = 0;
  while (partial && ++processes < 20) {
    auto world = open(all, settings, script);
    ASSERT_TRUE(world.call());
    partial = world.decision().partial;
  }
  EXPECT_GT(processes, 1);
  EXPECT_LT(processes, 20);
  auto world = open(all, settings, script);
  ASSERT_TRUE(world.call());
  EXPECT_EQ(world.device->launches(), 1u);
  EXPECT_EQ(world.report.candidate, "fast");
}

TEST_F(TunerStore, RowsThatCannotBeUnderstoodAreMisses) {
  std::string ns, key;
  {
    auto world = open({{"naive"}, {"fast"}});
    ASSERT_TRUE(world.call());
    const auto environment = world.context->internals().environment();
    const auto entries = environment->list("autotune");
    ASSERT_TRUE(entries);
    ASSERT_EQ(entries->size(), 1u);
    ns = (*entries)[0].ns;
    key = (*entries)[0].key;
    EXPECT_EQ(key, R"({"size":64,"tag":""})");
  }
  for (const char* bad :
       {"null", "[]", "{}", "7", R"({"winner":"fast"})",
        R"({"winner":"fast","origin":"measured","candidates":[],"ranking":["fast"]})",
        R"({"winner":"fast","origin":"measured","partial":false,"verified":true,"ranking":["fast"],
            "candidates":[{"name":"fast","version":"1","verdict":"winner","samples_s":[-1]}]})",
        R"({"winner":"gone","origin":"measured","partial":false,"verified":true,"ranking":["gone"],
            "candidates":[{"name":"gone","version":"1","verdict":"winner","samples_s":[1e-9]}]})"}) {
    {
      auto world = open({{"naive"}});
      ASSERT_TRUE(world.context->internals().environment()->put(ns, key, bad));
    }
    auto world = open({{"naive"}, {"fast"}});
    ASSERT_TRUE(world.call()) << bad;
    EXPECT_TRUE(world.report.tuned) << bad;
    EXPECT_EQ(world.report.candidate, "fast") << bad;
  }
}

TEST_F(TunerStore, ADecisionIsOnDiskBeforeTheCallReturns) {
  auto world = open({{"naive"}, {"fast"}});
  ASSERT_TRUE(world.call());
  // Read by somebody else while the first is still open.
  Environment reader({.path = folder_.path() / ".rooftune" / "default.db"});
  const auto entries = reader.list("autotune");
  ASSERT_TRUE(entries);
  EXPECT_EQ(entries->size(), 1u);
}

}  // namespace
}  // namespace rooftune
