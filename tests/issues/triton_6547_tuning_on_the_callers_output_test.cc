// Trigger: tuning runs candidates on the caller's own output, so that an accumulating first call is
// off by the number of trials. Right: the first call and every later one give the same, and the
// inputs stay as they are.
#include "issue_testing.h"

namespace rooftune::testing {
namespace {

class Triton6547 : public IssueTest {};

TEST_F(Triton6547, TheFirstCallGivesWhatLaterOnesGive) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const auto& [alpha, beta] : {std::pair{1.0, 1.0}, {2.0, -3.0}, {1.0, 0.0}, {-1.0, 0.5}}) {
      auto session = open();
      MatmulOptions options;
      options.alpha = alpha;
      options.beta = beta;
      for (const std::int64_t n : {1, 24, 200}) {
        const Operand lhs = Operand::make(dtype, {70, 90}, 1), rhs = Operand::make(dtype, {90, n});
        std::vector<std::byte> first;
        for (int call = 0; call < 3; ++call) {
          // run_product compares with alpha * lhs x rhs + beta * out, and hashes nothing less than
          // all bytes of the inputs.
          const Operand out = Operand::make(dtype, {70, n}, 5, 0);
          CallReport report;
          ASSERT_EQ(run_product(*session, lhs, rhs, out, options, &report), "");
          EXPECT_EQ(report.tuned, call == 0) << report.candidate;
          const auto* bytes = static_cast<const std::byte*>(out.view.data);
          const std::vector<std::byte> result(bytes, bytes + 70 * n * size_of(dtype));
          if (call == 0) first = result;
          EXPECT_EQ(result, first);
        }
      }
      session.reset();
      std::filesystem::remove_all(folder_.path() / ".rooftune");
    }
  }
}

// With a beta of 0, nothing of a given output is read, also while tuning.
TEST_F(Triton6547, AGivenOutputOfNaNDoesNotMatter) {
  auto session = open();
  for (int call = 0; call < 2; ++call) {
    const Operand out = Operand::make(DType::f32, {33, 17}, 3).fill(NAN);
    EXPECT_EQ(run_product(*session, Operand::make(DType::f32, {33, 20}, 1),
                          Operand::make(DType::f32, {20, 17}, 2), out),
              "");
  }
}

// An output with gaps, accumulating: the gaps belong to somebody else.
TEST_F(Triton6547, AccumulatingIntoASlice) {
  auto session = open();
  MatmulOptions options;
  options.beta = 1;
  for (int call = 0; call < 2; ++call) {
    const Operand out = Operand::make(DType::f64, {40, 64}, 3).sliced(1, 5, 45);
    EXPECT_EQ(run_product(*session, Operand::make(DType::f64, {40, 20}, 1),
                          Operand::make(DType::f64, {20, 40}, 2), out, options),
              "");
  }
}

}  // namespace
}  // namespace rooftune::testing
