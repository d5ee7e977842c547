// Trigger: attention decode, one row, k grows by one each step; a winner of a friendly k is taken
// for one that its vector width does not divide. Right: every k works.
#include "issue_testing.h"

namespace rooftune::testing {
namespace {

class CubeCl1611 : public IssueTest {
 protected:
  void decode(std::int64_t heads, bool rhs_transposed) {
    constexpr std::int64_t kMost = 300, kColumns = 256;
    Settings settings = default_settings();
    settings.autotune.max_samples = 3;  // 300 steps meet dozens of keys: right answers are enough
    auto session = open(settings);
    // One cache that is filled step by step, as a decoder has it: views of it grow.
    const Operand scores = Operand::make(DType::f32, {1, heads, 1, kMost}, 1);
    const Operand values =
        rhs_transposed ? Operand::make(DType::f32, {1, heads, kColumns, kMost}, 2).transposed()
                       : Operand::make(DType::f32, {1, heads, kMost, kColumns}, 2);
    const Operand out = Operand::make(DType::f32, {1, heads, 1, kColumns}, 3);
    for (std::int64_t k = 1; k <= kMost; ++k) {
      out.fill(7);
      const View lhs = scores.sliced(3, 0, k).view, rhs = values.sliced(2, 0, k).view;
      const auto expected = reference(lhs, rhs, out.view);
      const Status done = session->matmul(lhs, rhs, out.view);
      ASSERT_TRUE(done) << "k=" << k << ": " << done.error().text;
      ASSERT_EQ(difference(lhs, rhs, out.view, expected), "") << "k=" << k;
    }
  }
};

TEST_F(CubeCl1611, OneHead) { decode(1, false); }
TEST_F(CubeCl1611, ThreeHeads) { decode(3, false); }
TEST_F(CubeCl1611, EightHeads) { decode(8, false); }
TEST_F(CubeCl1611, ThreeHeadsTransposed) { decode(3, true); }

// Fresh, dense operands: the strides change with k too.
TEST_F(CubeCl1611, Dense) {
  auto session = open();
  for (std::int64_t k = 1; k <= 300; ++k) {
    ASSERT_EQ(run_product(*session, 1, 256, k), "") << "k=" << k;
  }
}

}  // namespace
}  // namespace rooftune::testing
