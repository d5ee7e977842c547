// Trigger: f32 is done with a shorter mantissa without being asked for; a product with the identity
// changes the values. Right: true f32 by default, and anything less is refused or asked for.
#include <random>
#include <set>

#include "issue_testing.h"

namespace rooftune::testing {
namespace {

class PyTorch53635 : public IssueTest {};

TEST_F(PyTorch53635, TimesTheIdentity) {
  auto session = open();
  for (const std::int64_t size : {1, 2, 40, 300}) {
    const Operand identity = Operand::make(DType::f32, {size, size}).fill(0);
    for (std::int64_t i = 0; i < size; ++i) identity.set_flat(i * (size + 1), 1);
    // Values that need all 24 bits.
    const Operand values = Operand::make(DType::f32, {size, size});
    for (std::int64_t i = 0; i < size * size; ++i) {
      values.set_flat(i, i == 0 ? 1024.5 : 8388607.0 + double(i % 8388000) / 2);
    }
    const Operand out = Operand::make(DType::f32, {size, size});
    EXPECT_EQ(run_product(*session, values, identity, out), "");
    EXPECT_EQ(run_product(*session, identity, values, out), "");
  }
}

TEST_F(PyTorch53635, TheErrorIsThatOfF32) {
  auto session = open();
  constexpr std::int64_t kSize = 512;
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  const Operand lhs = Operand::make(DType::f32, {kSize, kSize}),
                rhs = Operand::make(DType::f32, {kSize, kSize}),
                out = Operand::make(DType::f32, {kSize, kSize});
  for (std::int64_t i = 0; i < kSize * kSize; ++i) {
    lhs.set_flat(i, normal(random));
    rhs.set_flat(i, normal(random));
  }
  const auto exact = reference(lhs.view, rhs.view, out.view);
  ASSERT_TRUE(session->matmul(lhs.view, rhs.view, out.view));
  double off = 0, size = 0;
  for (std::int64_t i = 0; i < kSize * kSize; ++i) {
    off += std::pow(out.flat(i) - exact[std::size_t(i)], 2);
    size += std::pow(exact[std::size_t(i)], 2);
  }
  EXPECT_LT(std::sqrt(off / size), 1e-6) << "TF32 would be near 5e-4";
  EXPECT_GT(std::sqrt(off / size), 1e-9) << "a comparison that compares";
}

TEST_F(PyTorch53635, ADecisionOfLessIsNotOneOfMore) {
  auto session = open();
  const Operand lhs = Operand::make(DType::f32, {30, 40}),
                rhs = Operand::make(DType::f32, {40, 50});
  const Operand out = Operand::make(DType::f32, {30, 50});
  std::set<std::string> keys;
  for (const Precision precision :
       {Precision::medium, Precision::high, Precision::split, Precision::highest}) {
    MatmulOptions options;
    options.precision = precision;
    ASSERT_TRUE(session->matmul(lhs.view, rhs.view, out.view, options));
    const auto decision = session->matmul_decision(lhs.view, rhs.view, out.view, options);
    ASSERT_TRUE(decision && *decision);
    keys.insert((*decision)->key);
  }
  EXPECT_EQ(keys.size(), 4u);
}

}  // namespace
}  // namespace rooftune::testing
