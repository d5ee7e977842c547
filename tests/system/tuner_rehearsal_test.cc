// autotune.mode = "online": first launches behind the calls, and what is known of a process that
// died of one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "toy_operation.h"

namespace rooftune {
namespace {

using ::testing::HasSubstr;

// A check takes several times as long as these, and less than the long ones.
constexpr double kFast = 1e-4, kSlow = 2e-4, kCheck = 5e-3;
constexpr double kLong = 0.01;

Settings online() {
  Settings settings;
  settings.autotune.mode = Mode::online;
  return settings;
}

class RehearsingWorld : public ToyWorld {
 public:
  RehearsingWorld(FakeScript script, const std::vector<ToyCandidate>& candidates,
                  const std::filesystem::path& folder = {}, bool rehearses = true)
      : RehearsingWorld(std::make_shared<FakeClient>(std::move(script)), candidates, folder,
                        rehearses) {}
  RehearsingWorld(const std::shared_ptr<FakeClient>& on,
                  const std::vector<ToyCandidate>& candidates, const std::filesystem::path& folder,
                  bool rehearses)
      : ToyWorld(on, candidates, online(), folder, checking_results(on, kCheck, rehearses)) {}

  // Calls until one is a hit; false when that takes for ever.
  bool decides() {
    const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (std::chrono::steady_clock::now() < until) {
      const Status done = call();  // looks at the result
      EXPECT_TRUE(done) << done.error().text;
      if (!done || report.origin == Origin::memory) return done.has_value();
      sampled += report.online ? 1 : 0;
      std::this_thread::yield();
    }
    return false;
  }
  int sampled = 0;
};

TEST(Rehearsal, WhoIsFoundRightBehindTheCallsIsASampleAfter) {
  RehearsingWorld world(toy_script({{"naive", kSlow}, {"fast", kFast}}), {{"naive"}, {"fast"}});
  ASSERT_TRUE(world.decides());
  EXPECT_EQ(world.report.candidate, "fast");
  const Decision decision = world.decision();
  EXPECT_TRUE(decision.verified);
  EXPECT_TRUE(decision.find("fast")->verified);
  EXPECT_EQ(decision.cost.launches, static_cast<std::uint64_t>(world.sampled) + 1)
      << "the samples, and the first launch of `fast`";
}

TEST(Rehearsal, CallsGoOnMeanwhile) {
  FakeScript script = toy_script({{"naive", kSlow}, {"fast", kFast}});
  const auto gate = std::make_shared<FakeGate>();
  script.kernels["fast"].launch_gate = gate;
  RehearsingWorld world(script, {{"naive"}, {"fast"}});
  for (int call = 0; call < 50; ++call) {
    ASSERT_TRUE(world.call());
    ASSERT_EQ(world.report.candidate, "naive");
  }
  ASSERT_TRUE(gate->wait_for_arrivals(1));
  gate->open();
  ASSERT_TRUE(world.decides());
  EXPECT_EQ(world.report.candidate, "fast");
}

TEST(Rehearsal, AWrongOneNeverTouchesTheOutputOfACall) {
  FakeScript script =
      toy_script({{"naive", kSlow}, {"wrong", kFast}, {"outside", kFast}, {"refused", kFast}});
  script.kernels["wrong"].damage = FakeOutput::wrong;
  script.kernels["outside"].damage = FakeOutput::outside;
  script.kernels["refused"].launch_error = Error{ErrorKind::launch_failed, "too big"};
  RehearsingWorld world(script, {{"naive"}, {"wrong"}, {"outside"}, {"refused"}});
  ASSERT_TRUE(world.decides());
  EXPECT_EQ(world.report.candidate, "naive");
  EXPECT_EQ(world.device->launches("wrong"), 1u);
  EXPECT_EQ(world.device->launches("outside"), 1u);
  EXPECT_EQ(world.verdict("wrong"), Verdict::wrong);
  EXPECT_EQ(world.verdict("outside"), Verdict::wrong);
  EXPECT_EQ(world.verdict("refused"), Verdict::launch_failed);
}

TEST(Rehearsal, LongProductsHaveNone) {
  RehearsingWorld world(toy_script({{"naive", kLong}, {"fast", kLong / 2}}), {{"naive"}, {"fast"}});
  ASSERT_TRUE(world.decides());
  EXPECT_EQ(world.report.candidate, "fast");
  EXPECT_EQ(world.decision().cost.launches, static_cast<std::uint64_t>(world.sampled));
}

TEST(Rehearsal, WithoutMemoryForOneFirstLaunchesAreCalls) {
  FakeScript script = toy_script({{"naive", kSlow}, {"fast", kFast}});
  script.refuses_allocation = [](std::uint64_t) { return true; };
  RehearsingWorld world(script, {{"naive"}, {"fast"}});
  ASSERT_TRUE(world.decides());
  EXPECT_EQ(world.report.candidate, "fast");
  EXPECT_TRUE(world.decision().verified);
}

TEST(Rehearsal, ASessionThatClosesDoesNotWaitForThoseInTheQueue) {
  FakeScript script = toy_script({{"naive", kSlow}});
  std::vector<ToyCandidate> candidates = {{"naive"}};
  const auto gate = std::make_shared<FakeGate>();
  for (int i = 0; i < 4; ++i) {
    const std::string name = "k" + std::to_string(i);
    script.kernels[name] = toy(kFast);
    script.kernels[name].launch_gate = gate;
    candidates.push_back({name});
  }
  const auto device = std::make_shared<FakeClient>(script);
  std::thread opener;
  {
    RehearsingWorld world(device, candidates, {}, true);
    for (int call = 0; call < 10; ++call) ASSERT_TRUE(world.call());
    ASSERT_TRUE(gate->wait_for_arrivals(1));
    opener = std::thread([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      gate->open();
    });
  }
  opener.join();
  for (const auto& [name, kernel] : script.kernels) {
    if (name == "naive") continue;
    EXPECT_LE(device->launches(name), 1u);
  }
}

#ifndef __SANITIZE_THREAD__  // which does not follow threads into the child of a fork
TEST(Rehearsal, AChildOfTheProcessThatBeganDecidesWithoutIt) {
  FakeScript script = toy_script({{"naive", kSlow}, {"fast", kFast}});
  const auto gate = std::make_shared<FakeGate>();
  script.kernels["fast"].launch_gate = gate;
  RehearsingWorld world(script, {{"naive"}, {"fast"}});
  for (int call = 0; call < 5; ++call) ASSERT_TRUE(world.call());
  ASSERT_TRUE(gate->wait_for_arrivals(1));
  std::fflush(nullptr);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  // In the child nobody stands there. In the parent the first launch goes on and gives back the
  // turn that the child needs for its own.
  gate->open();
  if (child == 0) {
    alarm(150);
    _exit(world.decides() && world.report.candidate == "fast" ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}
#endif

// With rehearsals, or with first launches in calls.
class OnlineQuarantine : public testing::TestWithParam<bool> {
 protected:
  // A process that dies of `suspect`.
  void die() {
    std::fflush(nullptr);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      FakeScript script = script_;
      script.kernels["suspect"].entry = [](const void*) -> Status {
        raise(SIGKILL);
        return {};
      };
      RehearsingWorld world(script, candidates_, folder_.path(), GetParam());
      world.decides();
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it was to die";
  }

  FakeScript script_ = toy_script({{"naive", kSlow}, {"suspect", kFast}, {"fast", kFast * 1.2}});
  const std::vector<ToyCandidate> candidates_ = {{"naive"}, {"suspect"}, {"fast"}};
  TempFolder folder_;
};

TEST_P(OnlineQuarantine, ACandidateThatAProcessDiedOfIsNotTouchedAgain) {
  die();
  for (int session = 0; session < 2; ++session) {
    RehearsingWorld world(script_, candidates_, folder_.path(), GetParam());
    ASSERT_TRUE(world.decides());
    EXPECT_EQ(world.report.candidate, "fast");
    EXPECT_EQ(world.device->counts("suspect").asked, 0u);
    const Decision decision = world.decision();
    const CandidateEvidence* suspect = decision.find("suspect");
    ASSERT_NE(suspect, nullptr);
    EXPECT_TRUE(suspect->quarantined);
    EXPECT_THAT(suspect->reason, HasSubstr("a process died while running it"));
  }
}

TEST_P(OnlineQuarantine, NothingIsLeftOfFirstLaunchesThatWentWell) {
  {
    RehearsingWorld world(script_, candidates_, folder_.path(), GetParam());
    ASSERT_TRUE(world.decides());
    EXPECT_EQ(world.report.candidate, "suspect");
  }
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder_.path())) {
    if (file.path().parent_path().extension() == ".tuning") ADD_FAILURE() << file.path();
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, OnlineQuarantine, testing::Bool());

}  // namespace
}  // namespace rooftune
