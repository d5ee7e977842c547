// Trigger: m, n or the batch is 0: a division by zero, an empty launch; a batch of 0 against one
// of 1. Right: the empty result, nothing launched, tuned or stored.
#include "issue_testing.h"

namespace rooftune::testing {
namespace {

class Triton10427 : public IssueTest {};

TEST_F(Triton10427, EveryCombinationOfZeroOneAndThree) {
  auto session = open();
  std::size_t keys = 0;
  for (const std::int64_t batch : {0, 1, 3}) {
    for (const std::int64_t m : {0, 1, 3}) {
      for (const std::int64_t k : {0, 1, 3}) {
        for (const std::int64_t n : {0, 1, 3}) {
          Counters counters;
          session->set_subscriber(&counters);
          CallReport report;
          EXPECT_EQ(run_product(*session, Operand::make(DType::f32, {batch, m, k}),
                                Operand::make(DType::f32, {batch, k, n}),
                                Operand::make(DType::f32, {batch, m, n}), {}, &report),
                    "");
          session->set_subscriber(nullptr);
          if (batch == 0 || m == 0 || k == 0 || n == 0) {
            EXPECT_EQ(counters.total("launch"), 0u);
            EXPECT_FALSE(report.tuned);
          } else {
            ++keys;
            EXPECT_GT(counters.total("launch"), 0u);
          }
        }
      }
    }
  }
  EXPECT_LE(session->decisions("matmul").size(), keys);
}

TEST_F(Triton10427, NothingIsStored) {
  {
    auto session = open();
    EXPECT_EQ(run_product(*session, 0, 3, 3), "");
    EXPECT_EQ(run_product(*session, 3, 0, 3), "");
    EXPECT_EQ(run_product(*session, 3, 3, 0), "");
    EXPECT_FALSE(decision_of(*session, 0, 3, 3));
    EXPECT_FALSE(decision_of(*session, 3, 3, 0));
  }
  if (std::filesystem::exists(database())) {
    EXPECT_TRUE(sql(database(),
                    "SELECT key FROM entries WHERE ns LIKE 'autotune/%' OR ns LIKE "
                    "'throughput/%'")
                    .empty());
  }
}

TEST_F(Triton10427, NothingBroadcastsToNothing) {
  auto session = open();
  const auto make = [](std::vector<std::int64_t> extents) {
    return Operand::make(DType::f32, extents);
  };
  EXPECT_EQ(run_product(*session, make({0, 2, 3}), make({1, 3, 4}), make({0, 2, 4})), "");
  EXPECT_EQ(run_product(*session, make({1, 2, 3}), make({0, 3, 4}), make({0, 2, 4})), "");
  EXPECT_EQ(run_product(*session, make({2, 3}), make({0, 3, 4}), make({0, 2, 4})), "");
  EXPECT_EQ(run_product(*session, make({0, 1, 2, 3}), make({5, 3, 4}), make({0, 5, 2, 4})), "");
  EXPECT_EQ(run_product(*session, make({0, 3}), make({3}), make({0})), "");
  EXPECT_EQ(run_product(*session, make({3}), make({3, 0}), make({0})), "");
  // 0 against 3 does not broadcast.
  const Status done =
      session->matmul(make({0, 2, 3}).view, make({3, 3, 4}).view, make({3, 2, 4}).view);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::shape_mismatch);
}

}  // namespace
}  // namespace rooftune::testing
