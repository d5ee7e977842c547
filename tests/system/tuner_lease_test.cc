// Several sessions and processes on one environment: who tunes, who waits, and what is known of a
// process that died.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>

#include "store/environment.h"
#include "toy_operation.h"
#include "tune/context_internals.h"

namespace rooftune {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

FakeBehaviour deadly(std::uint64_t from_launch = 0) {
  FakeBehaviour behaviour = toy(0.5e-4);
  behaviour.entry = [launches = std::make_shared<std::uint64_t>(0),
                     from_launch](const void* args) -> Status {
    if ((*launches)++ >= from_launch) raise(SIGKILL);
    return toy_kernel(args);
  };
  return behaviour;
}

class TunerLease : public ::testing::Test {
 protected:
  ToyWorld open(std::vector<ToyCandidate> candidates = {{"naive"}, {"suspect"}, {"fast"}},
                Settings settings = {}) {
    return ToyWorld(script_, std::move(candidates), std::move(settings), folder_.path());
  }

  // A process in which `suspect` takes the process with it, in its first launch or a later one.
  void die(std::int64_t size = 64, std::uint64_t from_launch = 0,
           const std::string& of = "suspect") {
    std::fflush(nullptr);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      script_.kernels[of] = deadly(from_launch);
      auto world = open();
      static_cast<void>(world.call(size));
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it was to die";
  }

  FakeScript script_ = toy_script({{"naive", 1e-3}, {"suspect", 0.5e-4}, {"fast", 1e-4}});
  TempFolder folder_;
};

TEST_F(TunerLease, ACandidateThatAProcessDiedOfIsNotTouchedAgain) {
  die();
  for (const bool first : {true, false}) {
    auto world = open();
    ASSERT_TRUE(world.call());
    EXPECT_EQ(world.report.tuned, first);
    EXPECT_EQ(world.report.candidate, "fast");
    EXPECT_EQ(world.device->counts("suspect").asked, 0u);
    EXPECT_EQ(world.device->counts("suspect").builds, 0u);
    const Decision decision = world.decision();
    const CandidateEvidence* suspect = decision.find("suspect");
    ASSERT_NE(suspect, nullptr);
    EXPECT_EQ(suspect->verdict, Verdict::launch_failed);
    EXPECT_TRUE(suspect->quarantined);
    EXPECT_THAT(suspect->reason, HasSubstr("a process died while running it"));
    EXPECT_THAT(suspect->reason, HasSubstr("`rooftune store clear quarantine` lifts this"));
    // For that key only.
    ASSERT_TRUE(world.call(1000));
    EXPECT_EQ(world.report.candidate, "suspect");
  }
}

TEST_F(TunerLease, AQuarantineIsOfOneVersion) {
  die();
  auto world = open({{"naive"}, {"suspect", 0, 0, "2"}, {"fast"}});
  ASSERT_TRUE(world.call());
  EXPECT_EQ(world.report.candidate, "suspect");
}

TEST_F(TunerLease, AQuarantineThatIsLiftedLeavesNothing) {
  die();
  {
    auto world = open();
    ASSERT_TRUE(world.call());
    const auto environment = world.context->internals().environment();
    EXPECT_TRUE(environment->check().empty());
    ASSERT_TRUE(environment->clear("quarantine"));
  }
  auto world = open();
  ASSERT_TRUE(world.call());
  EXPECT_EQ(world.report.candidate, "suspect") << "measured, as if it were new";
  EXPECT_EQ(world.device->launches("naive"), 0u) << "and nothing else";
}

TEST_F(TunerLease, WhoDiesLaterAccusesNobody) {
  die(64, 1);  // after the first launch of the suspect was verified
  auto world = open();
  ASSERT_TRUE(world.call());
  EXPECT_TRUE(world.report.tuned);
  EXPECT_EQ(world.report.candidate, "suspect");
}

TEST_F(TunerLease, AFallbackInQuarantineIsTheLastResort) {
  die(64, 0, "naive");
  {
    auto world = open();
    ASSERT_TRUE(world.call());
    EXPECT_EQ(world.report.candidate, "suspect");
    EXPECT_EQ(world.device->counts("naive").asked, 0u);
    ASSERT_TRUE(world.tuner->untuned({64, ""}, {}, {}, &world.report));
    EXPECT_NE(world.report.candidate, "naive");
  }
  for (const char* broken : {"suspect", "fast"}) {
    script_.kernels[broken].launch_error = Error{ErrorKind::launch_failed, "too big"};
  }
  auto alone = open({{"naive"}, {"suspect", 0, 0, "2"}, {"fast", 0, 0, "2"}});
  ASSERT_TRUE(alone.call());
  EXPECT_EQ(alone.report.candidate, "naive");
  EXPECT_EQ(alone.device->launches("naive"), 1u) << "only the caller's own";
}

TEST_F(TunerLease, AStoredWinnerThatAProcessDiedOfIsNotRun) {
  {
    auto world = open();
    ASSERT_TRUE(world.call());
    ASSERT_EQ(world.report.candidate, "suspect");
    put_into_quarantine(*world.context->internals().environment(),
                        place_of("toy", detail::TypedProblem<ToyKey, ToyArgs>(world.tuner->set(),
                                                                              {64, ""}, {}, {})),
                        "suspect", "1", "a test says so");
  }
  auto world = open();
  ASSERT_TRUE(world.call());
  EXPECT_EQ(world.report.candidate, "fast");
  EXPECT_EQ(world.device->launches(), 1u) << "what is left of the decision is enough";
  ASSERT_TRUE(world.tuner->untuned({64, ""}, {}, {}));
  EXPECT_EQ(world.device->counts("suspect").asked, 0u);
}

// Another session that is held in the middle of tuning 64.
class Held : public TunerLease {
 protected:
  void SetUp() override {
    FakeScript script = script_;
    script.kernels["fast"].launch_gate = gate_;
    holder_ = std::make_unique<ToyWorld>(
        script, std::vector<ToyCandidate>{{"naive"}, {"suspect"}, {"fast"}}, Settings{},
        folder_.path());
    tuning_ = std::async(std::launch::async, [this] { return holder_->call(); });
    ASSERT_TRUE(gate_->wait_for_arrivals(1));
  }
  void TearDown() override {
    gate_->open();
    EXPECT_TRUE(tuning_.get());
    EXPECT_TRUE(holder_->report.tuned);
  }
  std::shared_ptr<FakeGate> gate_ = std::make_shared<FakeGate>();
  std::unique_ptr<ToyWorld> holder_;
  std::future<Status> tuning_;
};

TEST_F(Held, AnotherSessionWaitsAndFindsTheDecision) {
  auto world = open();
  auto waiting = std::async(std::launch::async, [&] { return world.call(); });
  EXPECT_EQ(waiting.wait_for(50ms), std::future_status::timeout);
  gate_->open();
  EXPECT_TRUE(waiting.get());
  EXPECT_EQ(world.report.origin, Origin::store);
  EXPECT_EQ(world.device->launches(), 1u);
}

TEST_F(Held, AnotherKeyIsTunedMeanwhile) {
  auto world = open();
  ASSERT_TRUE(world.call(1000));
  EXPECT_TRUE(world.report.tuned);
}

TEST_F(Held, WithPendingFallbackNoSessionWaits) {
  Settings settings;
  settings.autotune.pending = Pending::fallback;
  auto world = open({{"naive"}, {"suspect"}, {"fast"}}, settings);
  ASSERT_TRUE(world.call());
  EXPECT_EQ(world.report.origin, Origin::fallback);
  EXPECT_EQ(world.report.candidate, "naive");
  EXPECT_EQ(world.device->launches(), 1u);
}

TEST_F(Held, WaitingForAnotherSessionIsBounded) {
  Settings settings;
  settings.autotune.pending_timeout_s = 0.05;
  auto world = open({{"naive"}, {"suspect"}, {"fast"}}, settings);
  ASSERT_TRUE(world.call());
  EXPECT_EQ(world.report.origin, Origin::fallback);
  EXPECT_EQ(world.device->launches(), 1u);
}

TEST_F(Held, ASearchDoesNotWaitForAnother) {
  auto world = open({{"naive"}, {"composite"}});
  std::atomic<int> nested = 0;
  FakeBehaviour composite = toy(1e-4);
  composite.entry = [&](const void* args) -> Status {
    const auto all = *static_cast<const ToyArgs*>(args);
    if (all.size == 64) return toy_kernel(args);
    ++nested;
    for (const std::int64_t begin : {std::int64_t{0}, std::int64_t{64}}) {
      const ToyArgs part{all.in + begin, all.out + begin, 64};
      if (Status done = world.tuner->execute({64, ""}, part, {}); !done) return done;
    }
    return {};
  };
  world.device->set_behaviour("composite", composite);
  ASSERT_TRUE(world.call(128)) << "with 60 s of patience it would be another test that fails";
  EXPECT_GT(nested, 0);
}

TEST_F(Held, WithoutADiskNobodyIsInTheWay) {
  Settings settings;
  settings.autotune.cache = false;
  auto world = open({{"naive"}, {"suspect"}, {"fast"}}, settings);
  ASSERT_TRUE(world.call());
  EXPECT_TRUE(world.report.tuned);
}

}  // namespace
}  // namespace rooftune
