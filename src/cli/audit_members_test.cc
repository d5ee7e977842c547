#include "cli/audit_members.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/matmul/key.h"
#include "ops/matmul/problem.h"

namespace rooftune::cli {
namespace {

using testing::ElementsAre;

Product parsed(const std::string& text, DType in = DType::f32) {
  Product product = *parse_product(text);
  product.in = in;
  product.out = result_type(in);
  return product;
}

MatmulKey key_of(const ProductViews& views, Level level) {
  MatmulProblem problem;
  const Status made = make_matmul_problem(views.lhs, views.rhs, views.out, {}, problem);
  EXPECT_TRUE(made) << made.error().text;
  return make_matmul_key(problem, level, 2);
}

std::vector<std::string> texts_of(const std::vector<BucketMember>& members) {
  std::vector<std::string> texts;
  for (const BucketMember& member : members) {
    texts.push_back(member.name + " " + member.product.text);
  }
  return texts;
}

TEST(AuditMembers, LieAtTheEdgesOfTheBucketAndBetweenThem) {
  EXPECT_THAT(texts_of(bucket_members(parsed("1024"), Level::balanced)),
              ElementsAre("low 513x513x513", "high 1023x1023x1023", "odd 831x831x831",
                          "pitch 1024x1024x1024"));
  EXPECT_THAT(
      texts_of(bucket_members(parsed("1x700x100T"), Level::balanced)),
      ElementsAre("low 1x513x65T", "high 1x1023x127T", "odd 1x831x103T", "pitch 1x700x100T"));
}

TEST(AuditMembers, OfABucketOfOneSizeDifferInPitchAlone) {
  EXPECT_THAT(texts_of(bucket_members(parsed("100"), Level::full)),
              ElementsAre("pitch 100x100x100"));
}

TEST(AuditMembers, ShareTheKeyOfTheProduct) {
  for (const Level level : {Level::minimal, Level::balanced, Level::extensive, Level::full}) {
    for (const char* text :
         {"1024", "1000", "33x65x129", "1x4096x1024", "4096x1x1024", "64x1000x1024T",
          "t128x128x20000", "t100x60x40T", "512x27x27x128T", "2", "1", "3x1x1x5"}) {
      for (const DType in : {DType::f32, DType::f64, DType::bf16, DType::i8}) {
        const Product product = parsed(text, in);
        const MatmulKey key = key_of(*views_of(product), level);
        for (const BucketMember& member : bucket_members(product, level)) {
          Operands operands;
          operands.sets.push_back(*views_of(member.memory));
          narrow(operands, member.product);
          EXPECT_EQ(operands.views().out.layout.elements(),
                    member.product.batch * member.product.m * member.product.n);
          EXPECT_EQ(short_text(key_of(operands.views(), level)), short_text(key))
              << text << " " << to_string(in) << ", " << to_string(level) << ": " << member.name
              << " " << member.product.text << " in " << member.memory.text;
        }
      }
    }
  }
}

TEST(AuditMembers, HaveAnotherPitchThanTheProduct) {
  const Product product = parsed("1000");
  const BucketMember pitch = bucket_members(product, Level::balanced).back();
  EXPECT_EQ(pitch.name, "pitch");
  EXPECT_GT(pitch.memory.k, 1000);
  Operands operands;
  operands.sets.push_back(*views_of(pitch.memory));
  narrow(operands, pitch.product);
  EXPECT_GT(operands.views().lhs.layout.strides[0], 1000);
  EXPECT_EQ(operands.views().lhs.layout.extents[1], 1000);
}

}  // namespace
}  // namespace rooftune::cli
