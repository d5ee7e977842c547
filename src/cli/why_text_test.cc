#include "cli/why_text.h"

#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rooftune::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

CandidateEvidence candidate(std::string name, Verdict verdict, std::vector<double> samples,
                            std::string reason = "") {
  CandidateEvidence evidence;
  evidence.name = std::move(name);
  evidence.verdict = verdict;
  evidence.samples = std::move(samples);
  evidence.reason = std::move(reason);
  return evidence;
}

Decision example() {
  Decision decision;
  decision.operation = "matmul";
  decision.winner = "fast";
  decision.ranking = {"fast", "slow"};
  decision.rounds = {{"fast", "slow"}, {"late"}};
  decision.candidates = {candidate("late", Verdict::not_tried, {}, "in a later round"),
                         candidate("slow", Verdict::ranked, {12e-3, 12e-3, 12e-3, 12e-3}),
                         candidate("fast", Verdict::winner, {10e-3, 10e-3, 10e-3, 10e-3}),
                         candidate("bad", Verdict::wrong, {}, "relative error 1.00e+00")};
  decision.candidates[2].verified = true;
  decision.candidates[2].error = 3e-7;
  decision.candidates[2].error_bound = 1.5e-5;
  decision.bound = BoundRecord{2e9, 12e6, 2e11, 4e10, 0.8, 1e-6, false};
  decision.limit_s = 12.501e-3;
  decision.cost = {0.2, 0, 0.1, 0.01, 0.005, 40, 1000};
  return decision;
}

TEST(WhyText, WinnerWithMarginAndProof) {
  const std::string text = winner_text(example());
  EXPECT_THAT(text, HasSubstr("fast won: median 10.0 ms of 4 samples"));
  EXPECT_THAT(text, HasSubstr("slow, takes 1.20 times"));
  EXPECT_THAT(text, HasSubstr("error 3.0e-07, allowed are 1.5e-05"));
}

TEST(WhyText, AnUnverifiedWinnerIsCalledSo) {
  Decision decision = example();
  decision.candidates[2].verified = false;
  EXPECT_THAT(winner_text(decision), HasSubstr("NOT verified"));
}

TEST(WhyText, OneCandidateHasNoMargin) {
  Decision decision = example();
  decision.ranking = {"fast"};
  EXPECT_THAT(winner_text(decision), HasSubstr("No other candidate"));
}

TEST(WhyText, AWinnerWithoutATime) {
  Decision decision = example();
  decision.candidates[2].samples.clear();
  decision.candidates[2].reason = "the only candidate";
  EXPECT_THAT(winner_text(decision), HasSubstr("no time: the only candidate"));
}

TEST(WhyText, NamesWhatBinds) {
  Decision decision = example();
  EXPECT_THAT(search_text(decision), HasSubstr("compute binds"));
  EXPECT_THAT(search_text(decision), HasSubstr("fast runs at 100 % of the roofline"));
  decision.bound->bytes = 12e9;
  EXPECT_THAT(search_text(decision), HasSubstr("memory binds"));
  decision.bound->launch_overhead_s = 10;
  EXPECT_THAT(search_text(decision), HasSubstr("the launch binds"));
}

TEST(WhyText, EveryEndOfASearch) {
  Decision decision = example();
  EXPECT_THAT(search_text(decision), HasSubstr("None reached the limit"));
  decision.short_circuit = "fast";
  EXPECT_THAT(search_text(decision), HasSubstr("fast reached the limit"));
  decision.bound->broken = true;
  EXPECT_THAT(search_text(decision), HasSubstr("proves a probe wrong"));
  decision = example();
  decision.partial = true;
  decision.budget_s = 3;
  EXPECT_THAT(search_text(decision), HasSubstr("budget of 3.00 s"));
  decision = example();
  decision.bound.reset();
  decision.limit_s.reset();
  EXPECT_THAT(search_text(decision), HasSubstr("There is no limit"));
  EXPECT_THAT(search_text(decision), Not(HasSubstr("roofline.")));
}

TEST(WhyText, WhatTheBackgroundDid) {
  Decision decision = example();
  EXPECT_THAT(search_text(decision), Not(HasSubstr("background")));
  EXPECT_THAT(cost_text(decision), Not(HasSubstr("background")));
  decision.candidates[2].background = true;
  decision.replaced = {"slow"};
  decision.cost.background_s = 0.5;
  decision.cost.background_launches = 12;
  EXPECT_THAT(search_text(decision), HasSubstr("1 candidate was measured in the background"));
  EXPECT_THAT(search_text(decision), HasSubstr("fast took over from slow"));
  EXPECT_THAT(cost_text(decision), HasSubstr("In the background: 500 ms, 12 launches."));
  EXPECT_THAT(candidates_text(decision), HasSubstr("in the background"));
}

TEST(WhyText, PartsThatWereSplitOff) {
  Decision decision = example();
  decision.part_text = "m 862..1024";
  EXPECT_THAT(search_text(decision), Not(HasSubstr("862")));
  decision.split = {7};
  EXPECT_THAT(search_text(decision),
              HasSubstr("problems of m 862..1024. Another part was split off"));
  decision.split = {7, 8};
  EXPECT_THAT(search_text(decision), HasSubstr("2 other parts were split off"));
  decision = example();
  decision.part_text = "m 512..600";
  decision.apart = true;
  decision.replaced = {"slow"};
  EXPECT_THAT(search_text(decision), HasSubstr("This part of the key (m 512..600)"));
  EXPECT_THAT(search_text(decision), HasSubstr("slow runs the others"));
}

TEST(WhyText, PeaksOfZeroDoNoHarm) {
  Decision decision = example();
  decision.bound->peak_ops_per_s = 0;
  decision.limit_s.reset();
  EXPECT_THAT(search_text(decision), HasSubstr("n/a"));
}

TEST(WhyText, CostByCause) {
  EXPECT_THAT(cost_text(example()), HasSubstr("315 ms in all: probes 200 ms"));
}

TEST(WhyText, CandidatesAreGroupedByVerdict) {
  const std::string text = candidates_text(example());
  const auto fast = text.find("winner     fast"), slow = text.find("ranked     slow"),
             late = text.find("not_tried  late"), bad = text.find("wrong      bad");
  ASSERT_NE(fast, std::string::npos) << text;
  EXPECT_LT(fast, slow);
  EXPECT_LT(slow, late);
  EXPECT_LT(late, bad);
  ASSERT_NE(bad, std::string::npos) << text;
  EXPECT_THAT(text, HasSubstr("1.20"));
}

TEST(WhyText, AnEmptyDecision) {
  const Decision decision;
  EXPECT_THAT(winner_text(decision), HasSubstr("No candidate"));
  EXPECT_THAT(search_text(decision), HasSubstr("no limit"));
  EXPECT_FALSE(candidates_text(decision).empty());
}

}  // namespace
}  // namespace rooftune::cli
