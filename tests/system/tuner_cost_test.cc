// What a search spends, and on whom: one sample for who is hopeless, and probes only for what no
// key has asked before.
#include <gtest/gtest.h>

#include <string>

#include "toy_operation.h"

namespace rooftune {
namespace {

TEST(TunerCost, AHopelessCandidateHasOneSample) {
  Settings without_limit;
  without_limit.autotune.level = Level::full;
  // Wherever it stands in the order, and whether its launches are long or short.
  for (const double scale : {1.0, 1e-3}) {
    for (const bool first : {true, false}) {
      SCOPED_TRACE(std::to_string(scale) + (first ? " first" : " last"));
      std::vector<ToyCandidate> candidates = {{"best"}, {"near"}, {"slow"}};
      candidates.insert(first ? candidates.begin() : candidates.end(), {"hopeless"});
      ToyWorld world(toy_script({{"best", 2e-3 * scale},
                                 {"near", 2.02e-3 * scale},
                                 {"slow", 3.2e-3 * scale},
                                 {"hopeless", 60e-3 * scale}}),
                     candidates, without_limit);
      ASSERT_TRUE(world.call());
      const Decision decision = world.decision();
      EXPECT_EQ(decision.winner, world.report.candidate);
      for (const char* cut : {"hopeless", "slow"}) {
        const CandidateEvidence* evidence = decision.find(cut);
        EXPECT_EQ(evidence->verdict, Verdict::eliminated) << cut;
        EXPECT_EQ(evidence->samples.size(), 1u) << cut;
        // The one that is checked, and a row of one or two.
        EXPECT_LE(world.device->launches(cut), 3u) << cut;
      }
      EXPECT_GE(decision.find("best")->samples.size(), 3u);
      EXPECT_GE(decision.find("near")->samples.size(), 3u);
      // Of a long launch the one that is checked is the sample.
      if (scale == 1) {
        EXPECT_EQ(world.device->launches("hopeless"), 1u);
      }
    }
  }
}

struct ProbeLaunches {
  std::uint64_t compute, memory, overhead;
};
ProbeLaunches probe_launches(const FakeClient& device) {
  return {device.launches("probe_compute_f32"), device.launches("probe_read_f32"),
          device.launches("probe_launch_f32")};
}

TEST(TunerCost, ProbesServeAllKeysAndLaterProcesses) {
  TempFolder folder;
  const FakeScript script = toy_script({{"naive", 1e-3}, {"fast", 1e-4}});
  const std::vector<ToyCandidate> candidates = {{"naive"}, {"fast"}};
  {
    ToyWorld world(script, candidates, {}, folder.path());
    ASSERT_TRUE(world.call(4096));
    ASSERT_TRUE(world.decision(4096).bound);
    const ProbeLaunches once = probe_launches(*world.device);
    EXPECT_GT(once.compute, 0u);
    EXPECT_GT(once.memory, 0u);
    EXPECT_GT(once.overhead, 0u);
    // 32 KiB and 40 KiB lie between the same two points of the memory curve.
    ASSERT_TRUE(world.call(5000));
    EXPECT_TRUE(world.report.tuned);
    const ProbeLaunches same_points = probe_launches(*world.device);
    EXPECT_EQ(same_points.memory, once.memory);
    // Another size wants another point; what computes is known.
    ASSERT_TRUE(world.call(40'000));
    EXPECT_TRUE(world.report.tuned);
    const ProbeLaunches other_points = probe_launches(*world.device);
    EXPECT_GT(other_points.memory, once.memory);
    EXPECT_EQ(other_points.compute, once.compute);
    EXPECT_EQ(other_points.overhead, once.overhead);
  }
  ToyWorld next(script, candidates, {}, folder.path());
  ASSERT_TRUE(next.call(4096, "another key"));
  EXPECT_TRUE(next.report.tuned);
  EXPECT_TRUE(next.decision(4096, "another key").bound);
  const ProbeLaunches later = probe_launches(*next.device);
  EXPECT_EQ(later.compute + later.memory + later.overhead, 0u);
}

}  // namespace
}  // namespace rooftune
