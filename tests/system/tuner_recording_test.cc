// Calls on a stream that is recorded (CUDA calls it capture): what is launched there runs later, or
// never, so that nothing can be measured and nobody may wait.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "toy_operation.h"

namespace rooftune {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::SizeIs;

constexpr double kSlowest = 1e-3, kMedium = 5e-4, kFast = 1e-4;

class Recording : public testing::Test {
 protected:
  void SetUp() override {
    auto stream = device_->create_stream();
    ASSERT_TRUE(stream) << stream.error().text;
    recorded_ = device_->recorded = *stream;
  }

  const std::shared_ptr<RecordingClient> device_ = std::make_shared<RecordingClient>(
      toy_script({{"naive", kSlowest}, {"preferred", kMedium}, {"fast", kFast}}));
  // The plan tries the preferred one first; the search finds a faster one in the same round.
  const std::vector<ToyCandidate> candidates_ = {{"naive", 0}, {"preferred", 3}, {"fast", 3}};
  Stream recorded_;
};

TEST_F(Recording, AFirstCallRunsTheUntunedChoiceAndKeepsNothing) {
  TempFolder folder;
  {
    ToyWorld world(device_, candidates_, {}, folder.path());
    device_->clear_calls();
    for (int call = 0; call < 2; ++call) {
      ASSERT_TRUE(world.call(64, "", recorded_));
      EXPECT_EQ(world.report.candidate, "preferred");
      EXPECT_EQ(world.report.origin, Origin::fallback);
      EXPECT_FALSE(world.report.tuned);
      EXPECT_EQ(device_->launches(), call + 1u);
      EXPECT_THAT(world.tuner->decisions(), SizeIs(0));
    }
    // To synchronise, or to move data, would end the recording.
    for (const FakeCall& call : device_->calls()) {
      EXPECT_THAT(call.kind, testing::AnyOf(FakeCallKind::build, FakeCallKind::launch));
    }
  }
  ToyWorld later(device_, candidates_, {}, folder.path());
  EXPECT_EQ(later.decision().winner, "") << "nothing was stored";
}

TEST_F(Recording, ALaterCallOnAnotherStreamTunes) {
  ToyWorld world(device_, candidates_);
  ASSERT_TRUE(world.call(64, "", recorded_));
  ASSERT_TRUE(world.call());
  EXPECT_TRUE(world.report.tuned);
  EXPECT_EQ(world.report.origin, Origin::measured);
  EXPECT_EQ(world.report.candidate, "fast");
}

TEST_F(Recording, AHitRunsTheWinner) {
  ToyWorld world(device_, candidates_);
  ASSERT_TRUE(world.call());
  const auto launches = device_->launches();
  device_->clear_calls();
  ASSERT_TRUE(world.call(64, "", recorded_));
  EXPECT_EQ(world.report.candidate, "fast");
  EXPECT_EQ(world.report.origin, Origin::memory);
  EXPECT_FALSE(world.report.tuned);
  EXPECT_EQ(device_->launches(), launches + 1);
  EXPECT_THAT(device_->calls(), ElementsAre(Field(&FakeCall::kind, FakeCallKind::launch)));
  EXPECT_THAT(device_->calls(), Each(Field(&FakeCall::stream, recorded_.native)));
}

TEST_F(Recording, AnUnfinishedDecisionIsUsedAndNotRefined) {
  Settings settings;
  settings.autotune.budget_s = 0;  // a launch, and the search is over
  ToyWorld world(device_, candidates_, settings);
  ASSERT_TRUE(world.call());
  const Decision before = world.decision();
  ASSERT_TRUE(before.partial);
  const auto launches = device_->launches();
  ASSERT_TRUE(world.call(64, "", recorded_));
  EXPECT_EQ(world.report.candidate, before.winner);
  EXPECT_FALSE(world.report.tuned);
  EXPECT_EQ(device_->launches(), launches + 1);
  EXPECT_EQ(to_json(world.decision()), to_json(before));
}

TEST_F(Recording, AWinnerThatCannotRunThisProblemIsReplacedWithoutMeasuring) {
  ToyWorld world(device_, {{"naive"}, {"fast", 3, 0, "1", [](const ToyArgs& args) {
                                         return args.size % 2 == 0 ? nullptr : "needs an even size";
                                       }}});
  ASSERT_TRUE(world.call(64));
  EXPECT_EQ(world.report.candidate, "fast");
  const auto launches = device_->launches();
  ASSERT_TRUE(world.call(63, "", recorded_));
  EXPECT_EQ(world.report.candidate, "naive");
  EXPECT_FALSE(world.report.tuned);
  EXPECT_EQ(device_->launches(), launches + 1);
}

TEST_F(Recording, AWinnerThatFailsIsReplacedWithoutMeasuring) {
  ToyWorld world(device_, candidates_);
  ASSERT_TRUE(world.call());
  FakeBehaviour broken = toy(kFast);
  broken.launch_error = Error{ErrorKind::launch_failed, "not while a stream is recorded"};
  device_->set_behaviour("fast", broken);
  ASSERT_TRUE(world.call(64, "", recorded_));
  EXPECT_NE(world.report.candidate, "fast");
  EXPECT_FALSE(world.report.tuned);
}

TEST_F(Recording, OtherStreamsOfTheDeviceTuneMeanwhile) {
  ToyWorld world(device_, candidates_);
  const auto other = device_->create_stream();
  ASSERT_TRUE(other);
  ASSERT_TRUE(world.call(64, "", *other));
  EXPECT_TRUE(world.report.tuned);
  for (const FakeCall& call : device_->calls()) EXPECT_NE(call.stream, recorded_.native);
}

}  // namespace
}  // namespace rooftune
