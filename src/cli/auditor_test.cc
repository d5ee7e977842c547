#include "cli/auditor.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "device/fake/fake_client.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tune/context_internals.h"

namespace rooftune::cli {
namespace {

using testing::Contains;
using testing::HasSubstr;

std::unique_ptr<Session> fake_session(rooftune::Operands operands = rooftune::Operands::automatic,
                                      double background = 1) {
  Settings settings;
  settings.autotune.operands = operands;
  settings.autotune.background = background;
  settings.autotune.cache = false;
  auto session = Session::open({.device = "fake", .settings = settings});
  EXPECT_TRUE(session) << session.error().text;
  return *std::move(session);
}

Result<ProductAudit> audit(Session& session, const std::string& product, AuditPlan plan) {
  auto auditor = Auditor::make(session, plan);
  if (!auditor) return std::unexpected(auditor.error());
  return (*auditor)->run(*parse_product(product), 1);
}

std::uint64_t launches_of_probes(Session& session) {
  std::uint64_t launches = 0;
  for (const FakeCall& call : static_cast<FakeClient&>(session.client()).calls()) {
    if (call.kind == FakeCallKind::launch && call.kernel.find("probe") != std::string::npos) {
      ++launches;
    }
  }
  return launches;
}

TEST(Auditor, TunesFromNothingEachTimeAndLetsTheChosenMeetTheBest) {
  const auto session = fake_session();
  const auto found = audit(*session, "64x48x32", {.tunes = 3, .seconds = 0.01});
  ASSERT_TRUE(found) << found.error().text;
  EXPECT_EQ(found->tunes.size(), 3u);
  const auto names = session->matmul_candidates();
  EXPECT_THAT(names, Contains(found->untuned.value_or("")));
  for (const AuditedTune& tune : found->tunes) {
    EXPECT_GT(tune.cost.launches, 0u);
    EXPECT_GT(tune.call_s, 0);
    EXPECT_THAT(names, Contains(tune.chosen));
    EXPECT_GE(found->contest().regret(tune.chosen), 0);
  }
  for (const Regime regime : kRegimes) {
    const Contest& contest = found->contest(regime);
    EXPECT_EQ(contest.candidates, names.size());
    EXPECT_GE(found->untuned_regret(regime).value_or(-1), 0);
    EXPECT_NE(contest.duel.find(contest.best), nullptr);
  }
  EXPECT_TRUE(found->members.empty());
}

TEST(Auditor, JudgesInTheRegimeThatTheTunerDecidedFor) {
  for (const auto operands : {rooftune::Operands::warm, rooftune::Operands::cold}) {
    const auto session = fake_session(operands);
    const auto found = audit(*session, "32", {.tunes = 1, .seconds = 0});
    ASSERT_TRUE(found) << found.error().text;
    EXPECT_EQ(to_string(found->decided), to_string(operands));
  }
}

TEST(Auditor, LeavesOutWhatIsIllegal) {
  const auto session = fake_session();
  const auto found = audit(*session, "33x65x9", {.tunes = 1, .seconds = 0.01});
  ASSERT_TRUE(found) << found.error().text;
  EXPECT_EQ(found->contest().candidates, 3u);  // the other two need multiples of 16
}

TEST(Auditor, ProbesOnceForAllTunes) {
  const auto once = fake_session(), often = fake_session();
  ASSERT_TRUE(audit(*once, "32", {.tunes = 1, .seconds = 0}));
  ASSERT_TRUE(audit(*often, "32", {.tunes = 4, .seconds = 0}));
  EXPECT_GT(launches_of_probes(*once), 0u);
  EXPECT_EQ(launches_of_probes(*once), launches_of_probes(*often));
}

// One that the search looks at, and one of a later round, which it does not.
TEST(Auditor, AWrongCandidateIsNotTheBest) {
  for (const char* wrong : {"fake_accelerated", "fake_unit_small"}) {
    const auto session = fake_session();
    ASSERT_THAT(session->matmul_candidates(), Contains(wrong));
    // Far too fast to be passed over, since it does nothing.
    FakeBehaviour behaviour;
    behaviour.seconds = 1e-8;
    behaviour.entry = [](const void*) -> Status { return {}; };
    static_cast<FakeClient&>(session->client()).set_behaviour(wrong, behaviour);
    const auto found = audit(*session, "32", {.tunes = 1, .seconds = 0.01});
    ASSERT_TRUE(found) << found.error().text;
    for (const Regime regime : kRegimes) EXPECT_NE(found->contest(regime).best, wrong);
    EXPECT_NE(found->tunes[0].chosen, wrong);
    // What was found wrong does not run without measuring either.
    ASSERT_TRUE(found->untuned);
    EXPECT_NE(*found->untuned, wrong);
  }
}

TEST(Auditor, AppliesTheDecisionToOtherMembersOfTheBucket) {
  const auto session = fake_session();
  const auto found = audit(*session, "32", {.tunes = 1, .seconds = 0, .transfer = true});
  ASSERT_TRUE(found) << found.error().text;
  std::set<std::string> members;
  for (const AuditedMember& member : found->members) {
    members.insert(member.name);
    EXPECT_GE(member.regret, 0);
    EXPECT_THAT(session->matmul_candidates(), Contains(member.chosen));
  }
  EXPECT_EQ(members, (std::set<std::string>{"low", "high", "odd", "pitch"}));
}

// Of two candidates one suits the product, and the other those whose rows are fewer than 48.
std::unique_ptr<Session> session_with_a_bucket_too_wide(double background) {
  auto session = fake_session(rooftune::Operands::automatic, background);
  FakeBehaviour naive, steady, steep;
  naive.seconds = 1e-3;
  steady.seconds = 1e-4;
  steep.seconds_of = [](const FakeLaunch& launch) {
    return static_cast<const GemmArgs*>(launch.args)->m < 48 ? 1e-5 : 1.2e-4;
  };
  auto& device = static_cast<FakeClient&>(session->client());
  device.set_behaviour("fake_naive", naive);
  device.set_behaviour("fake_unit_small", steady);
  device.set_behaviour("fake_unit_large", steep);
  return session;
}

const AuditedMember& member(const ProductAudit& audit, std::string_view name) {
  static const AuditedMember none;
  const auto found = std::find_if(audit.members.begin(), audit.members.end(),
                                  [&](const AuditedMember& each) { return each.name == name; });
  return found != audit.members.end() ? *found : none;
}

TEST(Auditor, CallsMembersUntilTheirPartWasLookedAt) {
  const auto session = session_with_a_bucket_too_wide(1);
  const auto found =
      audit(*session, "60", {.tunes = 2, .seconds = 0, .transfer = true, .settle_s = 1000});
  ASSERT_TRUE(found) << found.error().text;
  ASSERT_EQ(found->members.size(), 4u);
  const AuditedMember& low = member(*found, "low");
  EXPECT_EQ(low.product, "33x33x33");
  EXPECT_EQ(low.chosen, "fake_unit_small");
  EXPECT_EQ(low.best, "fake_unit_large");
  EXPECT_NEAR(low.regret, 9, 0.1);
  EXPECT_EQ(low.later.chosen, "fake_unit_large");
  EXPECT_EQ(low.later.regret, 0);
  EXPECT_TRUE(low.later.split);
  EXPECT_GT(low.later.calls, 0u);
  EXPECT_GT(low.later.seconds, 0);
  const AuditedMember& high = member(*found, "high");
  EXPECT_EQ(high.later.chosen, "fake_unit_small");
  EXPECT_FALSE(high.later.split);
  for (const AuditedMember& each : found->members) EXPECT_TRUE(each.later.settled) << each.name;
}

TEST(Auditor, WithoutABackgroundMembersStayWithTheDecision) {
  const auto session = session_with_a_bucket_too_wide(0);
  const auto found = audit(*session, "60", {.tunes = 1, .seconds = 0, .transfer = true});
  ASSERT_TRUE(found) << found.error().text;
  const AuditedMember& low = member(*found, "low");
  EXPECT_EQ(low.later.chosen, low.chosen);
  EXPECT_EQ(low.later.regret, low.regret);
  EXPECT_FALSE(low.later.split);
  EXPECT_TRUE(low.later.settled) << "there is nothing to wait for";
  EXPECT_EQ(low.later.calls, 0u);
}

TEST(Auditor, AMemberIsNotCalledForEver) {
  const auto session = session_with_a_bucket_too_wide(1e-9);
  const auto found =
      audit(*session, "60", {.tunes = 1, .seconds = 0, .transfer = true, .settle_s = 0.1});
  ASSERT_TRUE(found) << found.error().text;
  const AuditedMember& low = member(*found, "low");
  EXPECT_FALSE(low.later.settled);
  EXPECT_EQ(low.later.chosen, low.chosen);
  EXPECT_GE(low.later.seconds, 0.1);
}

TEST(Auditor, RefusesWhatCannotBeComputed) {
  const auto session = fake_session();
  const auto nothing = audit(*session, "0x8x8", {});
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().kind, ErrorKind::unsupported);
  EXPECT_THAT(nothing.error().text, HasSubstr("nothing to compute"));
}

}  // namespace
}  // namespace rooftune::cli
