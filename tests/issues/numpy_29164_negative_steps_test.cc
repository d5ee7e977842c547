// Trigger: operands with negative steps, as input or as output, become an illegal leading dimension
// and give garbage. Right: the right result for every view.
#include "issue_testing.h"

namespace rooftune::testing {
namespace {

class NumPy29164 : public IssueTest {};

// Views of rows x cols that a program may have: dense, column-major, reversed and stepped on either
// or both axes, column-major and reversed.
std::vector<Operand> views(DType dtype, std::int64_t rows, std::int64_t cols, unsigned seed) {
  const auto make = [&](std::int64_t r, std::int64_t c) {
    return Operand::make(dtype, {r, c}, seed);
  };
  const auto every_second = [](const Operand& from, int axis, std::int64_t extent, bool backwards) {
    return backwards ? from.sliced(axis, 2 * extent - 1, -1, -2)
                     : from.sliced(axis, 0, 2 * extent, 2);
  };
  std::vector<Operand> all = {make(rows, cols),
                              make(cols, rows).transposed(),
                              make(rows, cols).reversed(0),
                              make(rows, cols).reversed(1),
                              make(rows, cols).reversed(0).reversed(1),
                              make(cols, rows).transposed().reversed(0),
                              make(cols, rows).transposed().reversed(1)};
  for (const bool backwards : {false, true}) {
    all.push_back(every_second(make(2 * rows, cols), 0, rows, backwards));
    all.push_back(every_second(make(rows, 2 * cols), 1, cols, backwards));
    all.push_back(every_second(every_second(make(2 * rows, 2 * cols), 0, rows, backwards), 1, cols,
                               backwards));
    all.push_back(every_second(make(2 * cols, rows), 0, cols, backwards).transposed());
  }
  return all;
}

TEST_F(NumPy29164, EveryPairOfViews) {
  Settings settings = default_settings();
  settings.autotune.max_samples = 3;
  auto session = open(settings);
  for (const DType dtype : {DType::f32, DType::f64}) {
    const auto lhs = views(dtype, 19, 23, 1), rhs = views(dtype, 23, 18, 2),
               out = views(dtype, 19, 18, 3);
    for (std::size_t l = 0; l < lhs.size(); ++l) {
      for (std::size_t r = 0; r < rhs.size(); ++r) {
        // Each pair with one output; all outputs occur with all views of each side.
        const std::size_t o = (l + 2 * r) % out.size();
        ASSERT_EQ(run_product(*session, lhs[l], rhs[r], out[o]), "") << l << " " << r << " " << o;
      }
    }
  }
}

TEST_F(NumPy29164, AsOutputAccumulating) {
  auto session = open();
  MatmulOptions options;
  options.beta = 2;
  for (const Operand& out : views(DType::f32, 21, 34, 3)) {
    for (int call = 0; call < 2; ++call) {
      EXPECT_EQ(run_product(*session, Operand::make(DType::f32, {21, 16}, 1),
                            Operand::make(DType::f32, {16, 34}, 2), out, options),
                "");
    }
  }
}

TEST_F(NumPy29164, ReversedVectors) {
  auto session = open();
  for (const std::int64_t k : {1, 2, 31, 200}) {
    const Operand plain = Operand::make(DType::f32, {k}, 1);
    const Operand stepped = Operand::make(DType::f32, {2 * k}, 2).sliced(0, 2 * k - 1, -1, -2);
    for (const Operand& vector : {plain, plain.reversed(0), stepped}) {
      EXPECT_EQ(run_product(*session, vector, plain, Operand::make(DType::f32, {})), "");
      EXPECT_EQ(run_product(*session, plain, vector, Operand::make(DType::f32, {})), "");
      for (const Operand& matrix : views(DType::f32, k, 40, 3)) {
        EXPECT_EQ(run_product(*session, vector, matrix, Operand::make(DType::f32, {40})), "");
        EXPECT_EQ(run_product(*session, matrix.transposed(), vector,
                              Operand::make(DType::f32, {40}).reversed(0)),
                  "");
      }
    }
  }
}

TEST_F(NumPy29164, ReversedBatches) {
  auto session = open();
  const Operand lhs = Operand::make(DType::f32, {5, 6, 7}, 1),
                rhs = Operand::make(DType::f32, {5, 7, 8}, 2),
                out = Operand::make(DType::f32, {5, 6, 8}, 3);
  EXPECT_EQ(run_product(*session, lhs.reversed(0), rhs, out), "");
  EXPECT_EQ(run_product(*session, lhs, rhs.reversed(0), out), "");
  EXPECT_EQ(run_product(*session, lhs, rhs, out.reversed(0)), "");
  EXPECT_EQ(run_product(*session, lhs.reversed(0), rhs.reversed(0), out.reversed(0)), "");
  // The batch inside the matrix.
  const Operand inside = Operand::make(DType::f32, {6, 7, 5}, 4).permuted({2, 0, 1});
  EXPECT_EQ(run_product(*session, inside, rhs, out), "");
  EXPECT_EQ(run_product(*session, inside.reversed(0), rhs,
                        Operand::make(DType::f32, {6, 5, 8}, 5).permuted({1, 0, 2})),
            "");
}

}  // namespace
}  // namespace rooftune::testing
