// Trigger: vector loads go past the last element: a fault at the end of a page, or a NaN behind the
// data that gets into the result. Right: nothing beside the operands is read or written, by
// candidates nor while they are measured and verified.
#include "issue_testing.h"
#include "ops/matmul/cpu/kernel_testing.h"

namespace rooftune::testing {
namespace {

class OpenBlas535 : public IssueTest {
 protected:
  // Operands that touch a page which faults, at their end or at their beginning.
  std::string at_the_page(Session& session, std::int64_t m, std::int64_t n, std::int64_t k,
                          DType dtype, bool at_end, const MatmulOptions& options = {}) {
    const auto size = static_cast<std::size_t>(size_of(dtype));
    const auto place = [&](const GuardedMemory& memory, std::int64_t rows, std::int64_t cols,
                           unsigned seed) {
      const Operand values = Operand::make(dtype, {rows, cols}, seed);
      const std::size_t bytes = static_cast<std::size_t>(rows * cols) * size;
      View view = values.view;
      view.data = memory.place(bytes, at_end);
      std::memcpy(view.data, values.view.data, bytes);
      return view;
    };
    const View lhs = place(a_, m, k, 1), rhs = place(b_, k, n, 2), out = place(c_, m, n, 3);
    const auto expected = reference(lhs, rhs, out, options.alpha, options.beta);
    const Status done = session.matmul(lhs, rhs, out, options);
    if (!done) return done.error().text;
    return difference(lhs, rhs, out, expected);
  }
  const GuardedMemory a_{66 * 66 * 8}, b_{66 * 66 * 8}, c_{66 * 66 * 8};
};

TEST_F(OpenBlas535, SquaresBesideAGuardedPage) {
  Settings settings = default_settings();
  settings.autotune.max_samples = 3;
  auto session = open(settings);
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (std::int64_t size = 1; size <= 66; ++size) {
      for (const bool at_end : {true, false}) {
        ASSERT_EQ(at_the_page(*session, size, size, size, dtype, at_end), "") << size;
        ASSERT_EQ(at_the_page(*session, 1, size, size, dtype, at_end), "") << size;
        ASSERT_EQ(at_the_page(*session, size, 1, size, dtype, at_end), "") << size;
      }
    }
  }
}

TEST_F(OpenBlas535, EveryCandidateBesideAGuardedPage) {
  auto session = open();
  for (const std::string& name : session->matmul_candidates()) {
    MatmulOptions options;
    options.strategy = Strategy::named;
    options.candidate = name;
    for (std::int64_t size = 1; size <= 66; ++size) {
      for (const auto& [m, n, k] : {std::array{size, size, size},
                                    {size, size, std::int64_t{1}},
                                    {std::int64_t{1}, size, size},
                                    {size, std::int64_t{1}, size}}) {
        const std::string wrong =
            at_the_page(*session, m, n, k, size % 2 ? DType::f32 : DType::f64, true, options);
        if (wrong.find("cannot run this") != std::string::npos) continue;
        ASSERT_EQ(wrong, "") << name << " " << m << " " << n << " " << k;
      }
    }
  }
}

// What lies in the gap between rows is nobody's business.
TEST_F(OpenBlas535, NaNInTheGaps) {
  Settings settings = default_settings();
  settings.autotune.max_samples = 3;
  auto session = open(settings);
  const auto with_gap = [](std::int64_t rows, std::int64_t cols, unsigned seed) {
    const Operand padded = Operand::make(DType::f32, {rows, cols + 3}, seed);
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = cols; j < cols + 3; ++j) padded.set_flat(i * (cols + 3) + j, NAN);
    }
    return padded.sliced(1, 0, cols);
  };
  for (const std::int64_t size : {1, 2, 3, 7, 8, 15, 17, 33, 63, 65, 130}) {
    ASSERT_EQ(run_product(*session, with_gap(size, size, 1), with_gap(size, size, 2),
                          with_gap(size, size, 3)),
              "");
    ASSERT_EQ(
        run_product(*session, with_gap(5, size, 1), with_gap(size, 40, 2), with_gap(5, 40, 3)), "");
    ASSERT_EQ(run_product(*session, with_gap(40, size, 1).transposed(), with_gap(40, size, 2),
                          with_gap(size, size, 3)),
              "");
  }
}

}  // namespace
}  // namespace rooftune::testing
