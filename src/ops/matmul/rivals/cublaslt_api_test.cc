// Our declarations against the library's own, where its headers and it are here.
#include "ops/matmul/rivals/cublaslt_api.h"

#include "gtest/gtest.h"

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>

namespace rooftune::rivals {
namespace {

static_assert(int{kLtSuccess} == CUBLAS_STATUS_SUCCESS);
static_assert(int{kLtNotSupported} == CUBLAS_STATUS_NOT_SUPPORTED);

static_assert(int{kLtF32} == CUDA_R_32F);
static_assert(int{kLtF64} == CUDA_R_64F);
static_assert(int{kLtF16} == CUDA_R_16F);
static_assert(int{kLtI8} == CUDA_R_8I);
static_assert(int{kLtI32} == CUDA_R_32I);
static_assert(int{kLtBf16} == CUDA_R_16BF);
static_assert(int{kLtF8E4M3} == CUDA_R_8F_E4M3);
static_assert(int{kLtF8E5M2} == CUDA_R_8F_E5M2);

static_assert(int{kLtCompute32F} == CUBLAS_COMPUTE_32F);
static_assert(int{kLtCompute64F} == CUBLAS_COMPUTE_64F);
static_assert(int{kLtCompute32I} == CUBLAS_COMPUTE_32I);
static_assert(int{kLtCompute32FFast16BF} == CUBLAS_COMPUTE_32F_FAST_16BF);
static_assert(int{kLtCompute32FFastTF32} == CUBLAS_COMPUTE_32F_FAST_TF32);

static_assert(int{kLtAsIs} == CUBLAS_OP_N);
static_assert(int{kLtTransposed} == CUBLAS_OP_T);
static_assert(int{kLtDescTransA} == CUBLASLT_MATMUL_DESC_TRANSA);
static_assert(int{kLtDescTransB} == CUBLASLT_MATMUL_DESC_TRANSB);
static_assert(int{kLtLayoutBatchCount} == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
static_assert(int{kLtLayoutBatchStride} == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
static_assert(int{kLtPreferWorkspaceBytes} == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
static_assert(int{kLtPreferAlignmentA} == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
static_assert(int{kLtPreferAlignmentB} == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
static_assert(int{kLtPreferAlignmentC} == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
static_assert(int{kLtPreferAlignmentD} == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);

static_assert(sizeof(LtAlgorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(LtHeuristic) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(LtHeuristic, workspace_bytes) ==
              offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(LtHeuristic, status) == offsetof(cublasLtMatmulHeuristicResult_t, state));
static_assert(offsetof(LtHeuristic, waves) ==
              offsetof(cublasLtMatmulHeuristicResult_t, wavesCount));

}  // namespace
}  // namespace rooftune::rivals
#endif

namespace rooftune::rivals {
namespace {

TEST(CublasLtApi, IsWholeInTheInstalledLibrary) {
  const auto library = Library::load("/usr/local/cuda/lib64/libcublasLt.so.13", {});
  if (!library) GTEST_SKIP() << library.error().text;
  const auto api = LtApi::find_in(*library);
  ASSERT_TRUE(api) << api.error().text;
  EXPECT_GE(api->version(), 130000u);
  EXPECT_EQ(api->describe(kLtNotSupported), "CUBLAS_STATUS_NOT_SUPPORTED (15)");
}

TEST(CublasLtApi, OtherLibrariesAreRefusedByName) {
  const auto library = Library::load("libm.so.6", {});
  ASSERT_TRUE(library) << library.error().text;
  const auto api = LtApi::find_in(*library);
  ASSERT_FALSE(api);
  EXPECT_EQ(api.error().text, "libm.so.6 has no cublasLtGetVersion");
}

TEST(CudaContext, NeedsADriverAndMemoryOfADevice) {
  const int on_the_host = 0;
  const auto context = CudaContext::of(&on_the_host);
  ASSERT_FALSE(context);
  EXPECT_EQ(context.error().kind, ErrorKind::unsupported);
}

}  // namespace
}  // namespace rooftune::rivals
