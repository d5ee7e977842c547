// Trigger: an estimate of the work in 32 bits turns negative for large products. Right: operations,
// bytes, key and limit are positive and grow with the sizes.
#include "issue_testing.h"
#include "ops/matmul/key.h"
#include "ops/matmul/problem.h"
#include "throughput/roofline.h"

namespace rooftune::testing {
namespace {

struct Size {
  std::int64_t m, n, k;
};

View without_memory(std::int64_t rows, std::int64_t cols) {
  return {nullptr, DType::f32, Layout::contiguous(std::vector{rows, cols}).value()};
}

MatmulProblem problem_of(const Size& size) {
  MatmulProblem problem;
  const Status made =
      make_matmul_problem(without_memory(size.m, size.k), without_memory(size.k, size.n),
                          without_memory(size.m, size.n), {}, problem);
  EXPECT_TRUE(made) << made.error().text;
  return problem;
}

constexpr std::int64_t k31 = std::int64_t{1} << 31;
const Size kGrowing[] = {{1024, 1024, 1024},    {16384, 16384, 16384},   {32768, 32768, 32768},
                         {32769, 32769, 32769}, {46341, 46341, 46341},   {65536, 65536, 65536},
                         {65537, 65537, 65537}, {100000, 100000, 100000}};

TEST(Ruy375, WorkAndLimitGrow) {
  double ops = 0, bytes = 0, limit = 0;
  for (const Size& size : kGrowing) {
    const MatmulProblem problem = problem_of(size);
    EXPECT_GT(matmul_ops(problem.gemm), ops);
    EXPECT_GT(matmul_bytes(problem.gemm), bytes);
    ops = matmul_ops(problem.gemm);
    bytes = matmul_bytes(problem.gemm);
    const double side = double(size.m);
    EXPECT_DOUBLE_EQ(ops, side * side * (2 * side - 1));
    EXPECT_DOUBLE_EQ(bytes, 3 * side * side * 4);
    const auto now = limit_s({ops, bytes, 1e12, 1e11, 1e-6}, 0.8);
    ASSERT_TRUE(now);
    EXPECT_GT(*now, limit);
    limit = *now;
    // These are bound by arithmetic, not taken for something that the cache holds.
    EXPECT_NEAR(limit, ops / 1e12 / 0.8 + 1e-6, limit * 1e-9);
  }
}

TEST(Ruy375, OneVeryLongSide) {
  for (const Size& size : {Size{1, 1, k31}, {1, k31, 1}, {k31, 1, 1}}) {
    const MatmulProblem problem = problem_of(size);
    EXPECT_GE(matmul_ops(problem.gemm), double(k31));
    EXPECT_GE(matmul_bytes(problem.gemm), 4.0 * double(k31));
    for (const Level level : {Level::minimal, Level::balanced, Level::extensive, Level::full}) {
      const MatmulKey key = make_matmul_key(problem, level, 1);
      EXPECT_GE(key.m, size.m);
      EXPECT_GE(key.n, size.n);
      EXPECT_GE(key.k, size.k);
      EXPECT_EQ(key.scale, MatmulScale::large);
      EXPECT_EQ(key.kind, size.k == k31   ? MatmulKind::inner_product
                          : size.n == k31 ? MatmulKind::scalar_vec
                                          : MatmulKind::vec_scalar);
    }
  }
}

TEST(Ruy375, KeysOfHugeProducts) {
  std::int64_t before = 0;
  for (const Size& size : kGrowing) {
    const MatmulKey key = make_matmul_key(problem_of(size), Level::balanced, 1);
    EXPECT_GE(key.m, size.m);
    EXPECT_GE(key.m, before);
    before = key.m;
    const auto back = key_from_json<MatmulKey>(key_json(key));
    ASSERT_TRUE(back);
    EXPECT_TRUE(*back == key);
  }
}

class Ruy375Session : public IssueTest {};

// Asking about them needs no memory and runs nothing.
TEST_F(Ruy375Session, AskingIsHarmless) {
  auto session = open();
  Counters counters;
  session->set_subscriber(&counters);
  for (const Size& size : kGrowing) EXPECT_FALSE(decision_of(*session, size.m, size.n, size.k));
  EXPECT_FALSE(decision_of(*session, 1, 1, k31));
  EXPECT_EQ(counters.total("launch"), 0u);
  session->set_subscriber(nullptr);
}

}  // namespace
}  // namespace rooftune::testing
