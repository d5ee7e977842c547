// Products of a matrix with itself, transposed, through a session.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "base/temp_folder_for_test.h"
#include "ops/matmul/key.h"
#include "ops/matmul/problem.h"
#include "rooftune/rooftune.h"

namespace rooftune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kN = 96, kK = 130;

std::vector<float> whole_numbers(unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> values(static_cast<std::size_t>(kN * kK));
  for (float& value : values) value = float(int(random() % 9) - 4);
  return values;
}

class GramProductTest : public ::testing::Test {
 protected:
  GramProductTest() {
    auto opened = Session::open({.device = "cpu",
                                 .environment = "local",
                                 .settings = Settings{},
                                 .folders = {temp_.path(), temp_.path()}});
    EXPECT_TRUE(opened);
    session_ = *std::move(opened);
  }

  // a x b^T, with a and b [kN, kK]; whether it is right.
  void multiply(const std::vector<float>& a, const std::vector<float>& b,
                const MatmulOptions& options = {}) {
    std::fill(c_.begin(), c_.end(), 1.0f);
    const Status done =
        session_->matmul(view(a.data(), {kN, kK}), view(b.data(), {kN, kK}).transposed(),
                         view(c_.data(), {kN, kN}), options);
    ASSERT_TRUE(done) << done.error().text;
    for (std::int64_t i = 0; i < kN; ++i) {
      for (std::int64_t j = 0; j < kN; ++j) {
        float sum = 0;
        for (std::int64_t p = 0; p < kK; ++p) {
          sum += a[std::size_t(i * kK + p)] * b[std::size_t(j * kK + p)];
        }
        ASSERT_EQ(c_[std::size_t(i * kN + j)], sum + float(options.beta)) << i << " " << j;
      }
    }
  }

  TempFolder temp_;
  std::unique_ptr<Session> session_;
  std::vector<float> c_ = std::vector<float>(static_cast<std::size_t>(kN * kN));
};

// Which of them it is depends on the pointers, which what a thread remembers of a product does not
// hold.
TEST_F(GramProductTest, OneMatrixOrTwoAreDifferentKeys) {
  const auto a = whole_numbers(1), b = whole_numbers(2);
  for (int round = 0; round < 4; ++round) {
    multiply(a, a);
    multiply(a, b);
    multiply(b, b);
    multiply(b, a);
    multiply(a, b);
  }
  EXPECT_EQ(session_->decisions("matmul").size(), 2u);
}

TEST_F(GramProductTest, ForcingIsForOneMatrix) {
  const auto a = whole_numbers(1), b = whole_numbers(2);
  for (const std::string& name : session_->matmul_candidates()) {
    if (!name.starts_with("gram")) continue;
    const MatmulOptions options = {.beta = 1, .strategy = Strategy::named, .candidate = name};
    multiply(a, a, options);
    const Status two =
        session_->matmul(view(a.data(), {kN, kK}), view(b.data(), {kN, kK}).transposed(),
                         view(c_.data(), {kN, kN}), options);
    ASSERT_FALSE(two);
    EXPECT_EQ(two.error().kind, ErrorKind::illegal);
  }
}

// Zeros tell nothing: the numbers that take their place are one matrix too.
TEST_F(GramProductTest, UselessOperandsAreStillVerified) {
  const std::vector<float> zeros(static_cast<std::size_t>(kN * kK), 0);
  multiply(zeros, zeros);
  const auto decisions = session_->decisions("matmul");
  ASSERT_EQ(decisions.size(), 1u);
  for (const CandidateEvidence& candidate : decisions[0].candidates) {
    EXPECT_NE(candidate.verdict, Verdict::wrong) << candidate.name;
  }
}

TEST(GramKey, IsThatOfOneMatrixSeenTwice) {
  const std::vector<float> memory(200);
  const auto key_of = [&](const ConstView& lhs, const ConstView& rhs, std::int64_t n) {
    MatmulProblem problem;
    const Layout out = *Layout::contiguous(std::vector<std::int64_t>{n, n});
    EXPECT_TRUE(make_matmul_problem(lhs, rhs, {nullptr, DType::f32, out}, {}, problem));
    return make_matmul_key(problem, Level::balanced, 2);
  };
  const ConstView tall = view(memory.data(), {20, 6});
  const MatmulKey key = key_of(tall.transposed(), tall, 6);
  EXPECT_TRUE(key.gram);
  EXPECT_THAT(short_text(key), HasSubstr("gram=true"));
  EXPECT_TRUE(key_of(tall, tall.transposed(), 20).gram);
  // Another place, another order, or no memory at all.
  const ConstView other = view(memory.data() + 1, {20, 6});
  EXPECT_FALSE(key_of(tall.transposed(), other, 6).gram);
  const ConstView square = view(memory.data(), {10, 10});
  EXPECT_FALSE(key_of(square, square, 10).gram);
  ConstView nowhere = tall;
  nowhere.data = nullptr;
  const MatmulKey plain = key_of(nowhere.transposed(), nowhere, 6);
  EXPECT_FALSE(plain.gram);
  EXPECT_THAT(short_text(plain), Not(HasSubstr("gram")));
}

}  // namespace
}  // namespace rooftune
