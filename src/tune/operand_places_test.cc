#include "tune/operand_places.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace rooftune {
namespace {

constexpr std::uint64_t kCache = 32 << 20;

TEST(OperandPlaces, AreColdBeyondAQuarterOfTheCache) {
  EXPECT_EQ(operand_places(Operands::automatic, kCache / 4, kCache).state, Operands::warm);
  EXPECT_EQ(operand_places(Operands::automatic, kCache / 4 + 1, kCache).state, Operands::cold);
}

TEST(OperandPlaces, TheCacheGoesByBetweenTwoUses) {
  for (const double bytes : {kCache * 0.26, kCache * 0.5, kCache * 0.99}) {
    const auto found = operand_places(Operands::automatic, bytes, kCache);
    EXPECT_GE(double(found.places - 1) * bytes, 1.0 * kCache);
    EXPECT_LT(double(found.places - 2) * bytes, 1.0 * kCache);
  }
}

TEST(OperandPlaces, OneIsEnoughForWhatFillsTheCache) {
  const auto found = operand_places(Operands::automatic, 1.0 * kCache, kCache);
  EXPECT_EQ(found.state, Operands::cold);
  EXPECT_EQ(found.places, 1u);
}

TEST(OperandPlaces, TheSettingDecides) {
  EXPECT_EQ(operand_places(Operands::warm, 1e9, kCache).state, Operands::warm);
  const auto small = operand_places(Operands::cold, 1 << 20, kCache);
  EXPECT_EQ(small.state, Operands::cold);
  EXPECT_EQ(small.places, 33u);
  EXPECT_EQ(operand_places(Operands::cold, 100, kCache).places, 1024u);
}

TEST(OperandPlaces, WhatIsNotKnown) {
  EXPECT_EQ(operand_places(Operands::automatic, 1e9, 0).state, Operands::warm);
  EXPECT_EQ(operand_places(Operands::cold, 1e6, 0).state, Operands::cold);
  for (const double bytes : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(operand_places(Operands::cold, bytes, kCache).state, Operands::warm);
  }
}

}  // namespace
}  // namespace rooftune
