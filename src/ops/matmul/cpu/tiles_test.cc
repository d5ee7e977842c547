// What is done with the tiles of AMX, on an emulation of them: on every processor.
#define ROOFTUNE_KERNEL_ISA 0

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "ops/matmul/cpu/kernel_testing.h"
#include "ops/matmul/cpu/packed_tiles-inl.h"
#include "ops/matmul/cpu/panels.h"
#include "ops/matmul/cpu/prepacked_tiles-inl.h"
#include "ops/matmul/verify.h"

namespace rooftune::testing {
namespace {

// Eight tiles that exist between the beginning and the end of a Scope. Products of bf16 are added
// to the sums in pairs, in f32.
struct EmulatedUnit {
  struct Scope {
    Scope() { ++scopes; }
    ~Scope() { --scopes; }
  };
  static thread_local int scopes;
  static thread_local std::array<std::array<std::array<Word, 16>, 16>, 8> tiles;

  template <int kTile>
  static void zero() {
    EXPECT_GT(scopes, 0);
    tiles[kTile] = {};
  }
  template <int kTile>
  static void load(const void* from, Index row_bytes) {
    for (Index r = 0; r < 16; ++r) {
      std::memcpy(tiles[kTile][static_cast<std::size_t>(r)].data(),
                  static_cast<const std::byte*>(from) + r * row_bytes, 64);
    }
  }
  template <int kTile>
  static void store(void* to, Index row_bytes) {
    for (Index r = 0; r < 16; ++r) {
      std::memcpy(static_cast<std::byte*>(to) + r * row_bytes,
                  tiles[kTile][static_cast<std::size_t>(r)].data(), 64);
    }
  }
  template <TileDot kDot, int kSum, int kA, int kB>
  static void dot() {
    for (std::size_t m = 0; m < 16; ++m) {
      for (std::size_t g = 0; g < 16; ++g) {
        for (std::size_t n = 0; n < 16; ++n) {
          Word& sum = tiles[kSum][m][n];
          const Word a = tiles[kA][m][g], b = tiles[kB][g][n];
          if constexpr (kDot == TileDot::bf16) {
            float total = as_float(sum);
            total += as_float(a << 16) * as_float(b << 16);
            total += as_float(a & 0xffff0000u) * as_float(b & 0xffff0000u);
            sum = as_word(total);
          } else {
            for (int t = 0; t < 4; ++t) {
              const auto byte = [&](Word word, bool has_sign) {
                const auto bits = static_cast<std::uint8_t>(word >> (8 * t));
                return has_sign ? static_cast<int>(static_cast<std::int8_t>(bits))
                                : static_cast<int>(bits);
              };
              constexpr bool kA8 = kDot == TileDot::ss || kDot == TileDot::su;
              constexpr bool kB8 = kDot == TileDot::ss || kDot == TileDot::us;
              sum += static_cast<Word>(byte(a, kA8) * byte(b, kB8));
            }
          }
        }
      }
    }
  }
};
thread_local int EmulatedUnit::scopes = 0;
thread_local std::array<std::array<std::array<Word, 16>, 16>, 8> EmulatedUnit::tiles;

constexpr Blocking kSmall = {.mc = 64, .kc = 128, .nc = 96};

template <class G>
std::array<CpuKernelFn, 2> kernels() {
  return {packed_tiles<EmulatedUnit, G, TileForm::square, kSmall>,
          packed_tiles<EmulatedUnit, G, TileForm::flat, kSmall>};
}

// The same with a right operand that was packed before, in memory of its own.
template <class T, class G>
void run_with_panels(const Case<T>& c, const Expected& expected, int threads) {
  const PanelFormat format = panel_format(Isa::amx, c.args.family).value();
  const std::int64_t bytes = panels_bytes(format, c.args.b_type, c.args.k, c.args.n).value();
  const GuardedMemory memory(static_cast<std::size_t>(bytes));
  PackedRhs rhs = packed_rhs(format, c.args.b_type, c.args.k, c.args.n);
  std::byte* at = memory.place(static_cast<std::size_t>(bytes), true);
  pack_panels(rhs, {c.args.b, c.args.b_row, c.args.b_col}, 0, bytes / rhs.panel_bytes, at);
  rhs.memory = at;
  GemmArgs args = c.args;
  args.packed = &rhs;
  args.b = nullptr;
  std::memcpy(c.c_begin, c.c_before.data(), c.c_before.size());
  ShuffledContext context(threads);
  constexpr PanelBlocking kBlocking = {.mc = 64, .kc = 128};
  const CpuKernelFn kernel = prepacked_tiles<EmulatedUnit, G, kBlocking>;
  ASSERT_EQ(kernel(&args, context), KernelOutcome::done);
  EXPECT_EQ(difference(c, expected, true), "") << c.text << " with panels";
}

template <class T, class G>
void run_everything(unsigned seed) {
  Operands<T> operands;
  std::mt19937 random(seed);
  const auto pick = [&](auto& from) { return from[random() % std::size(from)]; };
  constexpr double kAlpha[] = {1, 1, 2, -1}, kBeta[] = {0, 0, 1, -2};
  constexpr std::int64_t kSizes[] = {1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 129};
  constexpr std::int64_t kTerms[] = {1, 3, 31, 32, 33, 63, 64, 65, 127, 129, 300, 515};
  for (int i = 0; i < 60; ++i) {
    Request r;
    r.m = pick(kSizes), r.n = pick(kSizes), r.k = pick(kTerms);
    r.a = pick(kInputForms), r.b = pick(kInputForms), r.c = pick(kOutputForms);
    r.alpha = pick(kAlpha), r.beta = pick(kBeta);
    r.misaligned_bytes = random() % 2;
    r.batch = {1, 1 + static_cast<std::int64_t>(random() % 3)};
    const Case<T> c = operands.make(r, random);
    const Expected expected = reference(c);
    for (const CpuKernelFn kernel : kernels<G>()) {
      std::memcpy(c.c_begin, c.c_before.data(), c.c_before.size());
      ShuffledContext context(1 + i % 3);
      ASSERT_EQ(kernel(&c.args, context), KernelOutcome::done);
      // Whole numbers of up to 4: every part but the first is zero, and all sums are exact.
      EXPECT_EQ(difference(c, expected, true), "") << c.text;
    }
    if constexpr (G::kParts == 1 && sizeof(typename T::A) < 4) {
      if (c.args.batch == 1) run_with_panels<T, G>(c, expected, 1 + i % 3);
    }
  }
}

TEST(Tiles, Bf16IntoF32) { run_everything<Types<BFloat16, BFloat16, float>, Bf16Pairs>(1); }
TEST(Tiles, Bf16IntoBf16) { run_everything<Types<BFloat16, BFloat16, BFloat16>, Bf16Pairs>(2); }
TEST(Tiles, BytesWithSigns) {
  run_everything<Types<std::int8_t, std::int8_t, std::int32_t>, ByteQuads>(3);
}
TEST(Tiles, BytesWithoutSigns) {
  run_everything<Types<std::uint8_t, std::uint8_t, std::int32_t>, ByteQuads>(4);
}
TEST(Tiles, BytesOfWhichTheSecondHasASign) {
  run_everything<Types<std::uint8_t, std::int8_t, std::int32_t>, ByteQuads>(5);
}
TEST(Tiles, BytesOfWhichTheFirstHasASign) {
  run_everything<Types<std::int8_t, std::uint8_t, std::int32_t>, ByteQuads>(6);
}
TEST(Tiles, FloatsAsOnePart) { run_everything<Types<float, float, float>, FloatParts<1>>(7); }
TEST(Tiles, FloatsAsTwoParts) { run_everything<Types<float, float, float>, FloatParts<2>>(8); }
TEST(Tiles, FloatsAsThreeParts) { run_everything<Types<float, float, float>, FloatParts<3>>(9); }

// The error of each policy lies within its bound, and outside of that of the next finer one: or
// the bound would show nothing.
TEST(Tiles, ErrorsOfThePolicies) {
  Operands<Types<float, float, float>> operands;
  std::mt19937 random(10);
  for (const std::int64_t k : {33, 257, 1500}) {
    Case<Types<float, float, float>> c =
        operands.make({.m = 40, .n = 70, .k = k, .integers = false}, random);
    const auto error_of = [&](CpuKernelFn kernel) {
      ShuffledContext context(1);
      EXPECT_EQ(kernel(&c.args, context), KernelOutcome::done);
      return ProductCheck::make(c.args)->check(c.args)->error;
    };
    const auto bound_of = [&](Precision precision) {
      c.args.precision = precision;
      return ProductCheck::error_bound(c.args);
    };
    const double one = error_of(kernels<FloatParts<1>>()[0]);
    const double two = error_of(kernels<FloatParts<2>>()[0]);
    const double three = error_of(kernels<FloatParts<3>>()[0]);
    EXPECT_LT(one, bound_of(Precision::medium));
    EXPECT_GT(one, bound_of(Precision::high));
    EXPECT_LT(two, bound_of(Precision::high));
    EXPECT_LT(three, bound_of(Precision::split));
    EXPECT_LT(two, one / 64);
    EXPECT_LT(three, two);
  }
}

float part_of(float value, int part) {
  const Word bits = part == 0   ? FloatParts<3>::bits<0>(value, false)
                    : part == 1 ? FloatParts<3>::bits<1>(value, false)
                                : FloatParts<3>::bits<2>(value, false);
  return as_float(bits << 16);
}

TEST(FloatParts, AddUpToTheNumber) {
  std::mt19937 random(11);
  for (int i = 0; i < 100'000; ++i) {
    const Word word = static_cast<Word>(random());
    const float value = as_float(word);
    if (!std::isfinite(value) || std::fabs(value) < 0x1p-100f) continue;
    ASSERT_EQ(double{part_of(value, 0)} + double{part_of(value, 1)} + double{part_of(value, 2)},
              double{value});
  }
}

TEST(FloatParts, WhatIsNotFiniteIsTheFirstPart) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kMost = std::numeric_limits<float>::max();
  EXPECT_EQ(part_of(kInfinity, 0), kInfinity);
  EXPECT_EQ(part_of(-kInfinity, 0), -kInfinity);
  EXPECT_TRUE(std::isnan(part_of(std::nanf(""), 0)));
  EXPECT_TRUE(std::isnan(part_of(as_float(0x7f800001u), 0)));
  for (const float value : {kInfinity, -kInfinity, std::nanf("")}) {
    EXPECT_EQ(part_of(value, 1), 0);
    EXPECT_EQ(part_of(value, 2), 0);
  }
  // The largest number rounds to Inf, but stays finite.
  EXPECT_TRUE(std::isfinite(part_of(kMost, 0)));
  EXPECT_EQ(double{part_of(kMost, 0)} + double{part_of(kMost, 1)} + double{part_of(kMost, 2)},
            double{kMost});
}

TEST(Tiles, InfinityAndNanReachTheElementsThatDependOnThem) {
  Operands<Types<float, float, float>> operands;
  std::mt19937 random(12);
  for (const float bad : {std::numeric_limits<float>::infinity(), std::nanf("")}) {
    for (const CpuKernelFn kernel :
         {kernels<FloatParts<1>>()[0], kernels<FloatParts<2>>()[0], kernels<FloatParts<3>>()[0]}) {
      const auto c = operands.make({.m = 20, .n = 20, .k = 40}, random);
      write(const_cast<float*>(c.a + 3 * c.args.a_row + 5), bad);
      ShuffledContext context(1);
      ASSERT_EQ(kernel(&c.args, context), KernelOutcome::done);
      for (std::int64_t i = 0; i < 20; ++i) {
        for (std::int64_t j = 0; j < 20; ++j) {
          EXPECT_EQ(std::isfinite(read(c.c + i * c.args.c_row + j)), i != 3);
        }
      }
    }
  }
}

}  // namespace
}  // namespace rooftune::testing
