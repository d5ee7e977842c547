#include "cli/audit_summary.h"

#include <cmath>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace rooftune::cli {
namespace {

// Samples of several candidates whose machine becomes slower and slower.
Duel drifting(const std::vector<std::pair<std::string, double>>& times) {
  Duel duel;
  for (const auto& [name, seconds] : times) {
    Duel::Side side{name, {}};
    for (int pass = 0; pass < 12; ++pass) side.samples_s.push_back(seconds * (1 + 0.05 * pass));
    duel.sides.push_back(side);
  }
  return duel;
}

AuditedTune tune(std::string chosen, double measure_s = 0) {
  AuditedTune tune;
  tune.chosen = std::move(chosen);
  tune.cost.measure_s = measure_s;
  return tune;
}

ProductAudit audit(Duel duel, std::string best, std::vector<AuditedTune> tunes) {
  ProductAudit audit;
  audit.contests = {Contest{3, best, duel}, Contest{3, best, duel}};
  audit.untuned = duel.sides.front().name;
  audit.tunes = std::move(tunes);
  return audit;
}

TEST(AuditSummary, RatiosAreOfSamplesOfTheSamePass) {
  const Duel duel = drifting({{"a", 1e-3}, {"b", 1.1e-3}});
  EXPECT_NEAR(duel.ratio("b", "a"), 1.1, 1e-9);
  EXPECT_NEAR(duel.ratio("a", "b"), 1 / 1.1, 1e-9);
  EXPECT_EQ(duel.ratio("a", "a"), 1);
  EXPECT_EQ(duel.find("c"), nullptr);
}

TEST(AuditSummary, RegretIsNeverBelowZero) {
  const Contest contest{2, "a", drifting({{"a", 1e-3}, {"b", 1.1e-3}, {"lucky", 0.9e-3}})};
  EXPECT_NEAR(contest.regret("b"), 0.1, 1e-9);
  EXPECT_EQ(contest.regret("a"), 0);
  EXPECT_EQ(contest.regret("lucky"), 0);
}

TEST(AuditSummary, WhatNoiseCouldHaveDoneIsNotCertainRegret) {
  Duel duel = drifting({{"a", 1e-3}, {"b", 1.1e-3}, {"c", 1.1e-3}});
  // The ratios of c lie between 0.7 and 1.5.
  for (std::size_t pass = 0; pass < 12; ++pass) {
    duel.sides[2].samples_s[pass] *= pass % 2 == 0 ? 0.64 : 1.36;
  }
  const Contest contest{3, "a", duel};
  EXPECT_NEAR(contest.certain_regret("b"), 0.1, 1e-6);
  EXPECT_EQ(contest.certain_regret("c"), 0);
  EXPECT_EQ(contest.certain_regret("a"), 0);
}

TEST(AuditSummary, AFlipMattersWhenTheTimesDifferByMoreThanTheMargin) {
  const Duel duel = drifting({{"a", 1e-3}, {"near", 1.01e-3}, {"far", 1.05e-3}});
  const ProductAudit product =
      audit(duel, "a", {tune("near"), tune("a"), tune("a"), tune("far"), tune("a")});
  EXPECT_EQ(product.usual(), "a");
  EXPECT_EQ(product.flips(), 2u);
  EXPECT_EQ(product.flips_beyond(0.02), 1u);
  EXPECT_EQ(product.flips_beyond(0.005), 2u);
  EXPECT_NEAR(product.worst_regret(), 0.05, 1e-9);
  // Also when the one that differs is the better one.
  const ProductAudit bad = audit(duel, "a", {tune("far"), tune("far"), tune("a")});
  EXPECT_EQ(bad.flips_beyond(0.02), 1u);
}

TEST(AuditSummary, CountsTunesThatAreWorseThanUntuned) {
  ProductAudit product = audit(drifting({{"a", 1e-3}, {"b", 1.01e-3}, {"c", 1.05e-3}}), "a",
                               {tune("a"), tune("b"), tune("c")});
  EXPECT_EQ(product.worse_than_untuned(0.02), 1u);
  product.untuned = "c";
  EXPECT_EQ(product.worse_than_untuned(0.02), 0u);
}

TEST(AuditSummary, TellsTheRegimesApartAndCountsTheOneThatWasDecidedFor) {
  ProductAudit product = audit(drifting({{"a", 1e-3}, {"b", 1.2e-3}}), "a", {tune("b")});
  product.contests[1] = Contest{2, "b", drifting({{"a", 3e-3}, {"b", 2e-3}})};
  product.decided = Regime::cold;
  const std::vector<ProductAudit> all = {product};
  const AuditSummary summary = summarise(all, 0.02);
  EXPECT_NEAR(summary.regrets[0].values.at(0), 0.2, 1e-9);
  EXPECT_EQ(summary.regrets[1].values.at(0), 0);
  EXPECT_EQ(summary.regret.values.at(0), 0);
  EXPECT_NEAR(summary.untuned.values.at(0), 0.5, 1e-9);
}

TEST(AuditSummary, AddsUpProductsAndTunes) {
  const Duel duel = drifting({{"a", 1e-3}, {"b", 1.1e-3}});
  AuditedTune dear = tune("a", 20e-3);
  dear.cost.verify_s = 10e-3;
  dear.cost.probe_s = 0.5;
  dear.cost.launches = 7;
  dear.call_s = 0.6;
  dear.partial = true;
  std::vector<ProductAudit> all = {audit(duel, "a", {dear, tune("b", 5e-3)}),
                                   audit(duel, "a", {tune("a"), tune("a")})};
  all[0].members.push_back({"low", "3x3x3", "a", "b", 0.3, {"b", 0, true, true, 400, 0.2}});
  all[0].members.push_back({"high", "7x7x7", "a", "b", 0.1, {"a", 0.1, false, false, 600, 0.4}});
  const AuditSummary summary = summarise(all, 0.02);
  EXPECT_EQ(summary.products, 2u);
  EXPECT_EQ(summary.tunes, 4u);
  EXPECT_EQ(summary.partial, 1u);
  EXPECT_EQ(summary.flips, 1u);
  EXPECT_EQ(summary.flips_beyond, 1u);
  EXPECT_EQ(summary.worse_than_untuned, 1u);
  EXPECT_NEAR(*summary.regret.mean(), 0.1 / 4, 1e-9);
  EXPECT_NEAR(*summary.regret.percentile(1), 0.1, 1e-9);
  EXPECT_NEAR(*summary.transfer.mean(), 0.2, 1e-9);
  EXPECT_NEAR(*summary.transfer_later.mean(), 0.05, 1e-9);
  EXPECT_EQ(summary.split, 1u);
  EXPECT_EQ(summary.unsettled, 1u);
  EXPECT_EQ(summary.calls_later.percentile(1), 600);
  EXPECT_NEAR(*summary.seconds_later.percentile(0.5), 0.3, 1e-9);
  EXPECT_EQ(summary.cost.launches, 7u);
  EXPECT_NEAR(summary.cost.measure_s, 25e-3, 1e-12);
  // A duel's time is the lower quartile of its samples, the first one aside.
  const double each = duel.seconds("a");
  EXPECT_NEAR(each, 1e-3 * (1 + 0.05 * 3.5), 1e-9);
  EXPECT_NEAR(*summary.multiples.percentile(1), 30e-3 / each, 1e-6);
  EXPECT_NEAR(*summary.whole_multiples.percentile(1), 0.1 / each, 1e-6);
  EXPECT_NEAR(*summary.multiples_by_cause[0].percentile(1), 0.5 / each, 1e-6);
  EXPECT_NEAR(*summary.multiples_by_cause[3].percentile(1), 10e-3 / each, 1e-6);
}

TEST(AuditSummary, OfNothingHasNoMean) {
  const AuditSummary summary = summarise({}, 0.02);
  EXPECT_EQ(summary.tunes, 0u);
  EXPECT_FALSE(summary.regret.mean());
  EXPECT_FALSE(summary.regret.percentile(0.95));
}

}  // namespace
}  // namespace rooftune::cli
