#include "ops/matmul/cuda/specialisations.h"

#include <gtest/gtest.h>

#include <set>

#include "device/fake/fake_client.h"

namespace rooftune {
namespace {

CudaKernelPlan plan_of(std::uint64_t variant) {
  CudaKernelPlan plan;
  plan.file = "naive.cu";
  plan.defines = {"VARIANT=" + std::to_string(variant)};
  return plan;
}

// The fake device makes a kernel of any source, without looking into it.
TEST(CudaSpecialisationsTest, EachIsCompiledOnceAlsoBeyondTheTable) {
  FakeClient client{FakeScript()};
  CudaSpecialisations specialisations(client);
  constexpr std::uint64_t kMany = 200;
  std::set<const Kernel*> kernels;
  int asked = 0;
  for (int turn = 0; turn < 2; ++turn) {
    for (std::uint64_t variant = 0; variant < kMany; ++variant) {
      const auto found = specialisations.of(variant, [&]() -> CudaSpecialisations::Plans {
        ++asked;
        return {plan_of(variant), plan_of(variant + kMany)};
      });
      ASSERT_TRUE(found.has_value()) << found.error().text;
      ASSERT_EQ(found->size(), 2u);
      EXPECT_NE((*found)[0], (*found)[1]);
      kernels.insert((*found)[0]);
    }
  }
  EXPECT_EQ(kernels.size(), kMany);
  EXPECT_EQ(asked, int{kMany});
}

TEST(CudaSpecialisationsTest, AnErrorIsNotKept) {
  FakeClient client{FakeScript()};
  CudaSpecialisations specialisations(client);
  CudaKernelPlan missing = plan_of(1);
  missing.file = "no_such_file.cu";
  const auto plans_of = [&](const CudaKernelPlan& plan) {
    return specialisations.of(1, [&]() -> CudaSpecialisations::Plans { return {plan}; });
  };
  const auto failed = plans_of(missing);
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().kind, ErrorKind::not_found);
  EXPECT_TRUE(plans_of(plan_of(1)).has_value());
}

}  // namespace
}  // namespace rooftune
