// Trigger: data at an address that is no multiple of the size of its type (a field of a packed
// record, a buffer from byte 1 on). Right: the right result, never an address that was rounded.
#include "issue_testing.h"

namespace rooftune::testing {
namespace {

class NumPy16660 : public IssueTest {};

TEST_F(NumPy16660, EachOperandAtEachByte) {
  Settings settings = default_settings();
  settings.autotune.max_samples = 3;
  auto session = open(settings);
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const std::size_t lhs : {0, 1, 3, 4}) {
      for (const std::size_t rhs : {0, 1, 2, 7}) {
        for (const std::size_t out : {0, 1, 5}) {
          for (const std::int64_t n : {1, 3, 40}) {
            MatmulOptions options;
            options.beta = double(n % 2);
            ASSERT_EQ(run_product(*session, Operand::make(dtype, {37, 29}, 1, lhs),
                                  Operand::make(dtype, {29, n}, 2, rhs),
                                  Operand::make(dtype, {37, n}, 3, out), options),
                      "")
                << lhs << " " << rhs << " " << out << " " << n;
          }
        }
      }
    }
  }
}

TEST_F(NumPy16660, EveryCandidate) {
  auto session = open();
  for (const std::string& name : session->matmul_candidates()) {
    MatmulOptions options;
    options.strategy = Strategy::named;
    options.candidate = name;
    int ran = 0;
    bool others = false;
    for (const auto& [m, n, k] : {std::array{50, 70, 60}, {1, 70, 60}, {50, 1, 60}, {50, 70, 1}}) {
      const std::string wrong = run_product(*session, Operand::make(DType::f32, {m, k}, 1, 1),
                                            Operand::make(DType::f32, {k, n}, 2, 3),
                                            Operand::make(DType::f32, {m, n}, 3, 5), options);
      if (wrong.find("cannot run this") != std::string::npos) {
        others = others || is_for_other_products(wrong);
        continue;
      }
      EXPECT_EQ(wrong, "") << name;
      ++ran;
    }
    EXPECT_TRUE(ran > 0 || others) << name;
  }
}

}  // namespace
}  // namespace rooftune::testing
