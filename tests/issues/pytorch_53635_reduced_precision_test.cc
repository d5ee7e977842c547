// Trigger: f32 is done with a shorter mantissa without being asked for; a product with the identity
// changes the values. Right: true f32 by default, and anything less is refused or asked for.
#include <random>

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

TEST_F(PyTorch53635, LessIsRefusedWhereThereIsNone) {
  auto session = open();
  for (const Precision precision : {Precision::split, Precision::high, Precision::medium}) {
    MatmulOptions options;
    options.precision = precision;
    const Operand out = Operand::make(DType::f32, {3, 3});
    const Status done = session->matmul(out.view, Operand::make(DType::f32, {3, 3}).view,
                                        Operand::make(DType::f32, {3, 3}).view, options);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().kind, ErrorKind::unsupported);
    EXPECT_NE(done.error().text.find(to_string(precision)), std::string::npos);
  }
  // A later call in the default precision is not answered by what was asked before.
  EXPECT_EQ(run_product(*session, 3, 3, 3), "");
}

}  // namespace
}  // namespace rooftune::testing
