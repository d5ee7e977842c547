// Trigger: the base pointer is off by one element, or sizes are odd, and a kernel that was accepted
// needs more alignment. Right: right for every pointer, also when the key was tuned on aligned
// operands before.
#include "issue_testing.h"

namespace rooftune::testing {
namespace {

class Llama27771 : public IssueTest {
 protected:
  // The same product on operands that begin `offset` elements behind an aligned address.
  std::string run(Session& session, DType dtype, std::int64_t m, std::int64_t n, std::int64_t k,
                  std::size_t offset, CallReport* report = nullptr) {
    const std::size_t bytes = offset * static_cast<std::size_t>(size_of(dtype));
    return run_product(session, Operand::make(dtype, {m, k}, 1, bytes),
                       Operand::make(dtype, {k, n}, 2, bytes),
                       Operand::make(dtype, {m, n}, 3, bytes), {}, report);
  }
};

TEST_F(Llama27771, AlignedFirstThenOffByOne) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    auto session = open();
    for (const auto& [m, n, k] : {std::array{2, 4, 3},
                                  {1, 105, 107},
                                  {1057, 1, 129},
                                  {128, 128, 128},
                                  {64, 48, 96},
                                  {256, 256, 64}}) {
      ASSERT_EQ(run(*session, dtype, m, n, k, 0), "");
      for (const std::size_t offset : {1, 2, 3, 7}) {
        CallReport report;
        ASSERT_EQ(run(*session, dtype, m, n, k, offset, &report), "") << m << " " << n << " " << k;
        EXPECT_EQ(report.origin, Origin::memory) << "alignment of the base is not in the key";
      }
    }
  }
}

TEST_F(Llama27771, OffByOneFirstThenAligned) {
  auto session = open();
  for (const auto& [m, n, k] : {std::array{2, 4, 3}, {1, 105, 107}, {1057, 1, 129}, {64, 48, 96}}) {
    ASSERT_EQ(run(*session, DType::f32, m, n, k, 1), "");
    ASSERT_EQ(run(*session, DType::f32, m, n, k, 0), "");
  }
}

// A pitch that is off by one.
TEST_F(Llama27771, RowsOffByOne) {
  auto session = open();
  for (const std::int64_t gap : {0, 1, 3}) {
    const Operand lhs = Operand::make(DType::f32, {64, 64 + gap}, 1).sliced(1, 0, 64);
    const Operand rhs = Operand::make(DType::f32, {64, 64 + gap}, 2).sliced(1, gap, 64 + gap);
    const Operand out = Operand::make(DType::f32, {64, 64 + gap}, 3).sliced(1, gap, 64 + gap);
    EXPECT_EQ(run_product(*session, lhs, rhs, out), "");
    EXPECT_EQ(run_product(*session, lhs.transposed(), rhs, out.transposed()), "");
  }
}

}  // namespace
}  // namespace rooftune::testing
