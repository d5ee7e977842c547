// The part of cuBLASLt's C interface that a product needs, and the few functions of the CUDA driver
// around it, found in libraries at run time: nothing of CUDA is needed to build this. The numbers
// are those of versions 12 and 13; cublaslt_api_test.cc compares them with cublasLt.h where there
// is one.
#ifndef ROOFTUNE_OPS_MATMUL_RIVALS_CUBLASLT_API_H_
#define ROOFTUNE_OPS_MATMUL_RIVALS_CUBLASLT_API_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "ops/matmul/rivals/library.h"

namespace rooftune::rivals {

using LtHandle = struct LtHandleObject*;
using LtMatmulDesc = struct LtMatmulDescObject*;
using LtMatrixLayout = struct LtMatrixLayoutObject*;
using LtPreference = struct LtPreferenceObject*;

enum LtStatus : int {
  kLtSuccess = 0,
  kLtNotInitialized = 1,
  kLtInvalidValue = 7,
  kLtArchMismatch = 8,
  kLtNotSupported = 15,
};
enum LtType : int {  // cudaDataType_t
  kLtF32 = 0,
  kLtF64 = 1,
  kLtF16 = 2,
  kLtI8 = 3,
  kLtI32 = 10,
  kLtBf16 = 14,
  kLtF8E4M3 = 28,
  kLtF8E5M2 = 29,
};
enum LtCompute : int {  // cublasComputeType_t
  kLtCompute32F = 68,
  kLtCompute64F = 70,
  kLtCompute32I = 72,
  kLtCompute32FFast16BF = 75,
  kLtCompute32FFastTF32 = 77,
};
enum LtOperation : int { kLtAsIs = 0, kLtTransposed = 1 };
enum LtDescAttribute : int { kLtDescTransA = 3, kLtDescTransB = 4 };
enum LtLayoutAttribute : int { kLtLayoutBatchCount = 5, kLtLayoutBatchStride = 6 };
enum LtPreferenceAttribute : int {
  kLtPreferWorkspaceBytes = 1,
  kLtPreferAlignmentA = 5,
  kLtPreferAlignmentB = 6,
  kLtPreferAlignmentC = 7,
  kLtPreferAlignmentD = 8,
};

struct LtAlgorithm {
  std::array<std::uint64_t, 8> data{};
};
struct LtHeuristic {
  LtAlgorithm algorithm;
  std::size_t workspace_bytes = 0;
  int status = 0;
  float waves = 0;
  std::array<int, 4> reserved{};
};

struct LtApi {
  // Errors: unsupported, naming the function that is missing.
  static Result<LtApi> find_in(const Library& library);

  // "CUBLAS_STATUS_NOT_SUPPORTED (15)"
  std::string describe(int status) const;

  std::size_t (*version)() = nullptr;  // 130100 is 13.1.0
  const char* (*status_name)(int status) = nullptr;
  int (*create)(LtHandle* handle) = nullptr;
  int (*destroy)(LtHandle handle) = nullptr;
  int (*desc_create)(LtMatmulDesc* desc, int compute, int scale_type) = nullptr;
  int (*desc_destroy)(LtMatmulDesc desc) = nullptr;
  int (*desc_set)(LtMatmulDesc desc, int attribute, const void* value, std::size_t bytes) = nullptr;
  // By columns: `leading` elements from one column to the next.
  int (*layout_create)(LtMatrixLayout* layout, int type, std::uint64_t rows, std::uint64_t columns,
                       std::int64_t leading) = nullptr;
  int (*layout_destroy)(LtMatrixLayout layout) = nullptr;
  int (*layout_set)(LtMatrixLayout layout, int attribute, const void* value,
                    std::size_t bytes) = nullptr;
  int (*preference_create)(LtPreference* preference) = nullptr;
  int (*preference_destroy)(LtPreference preference) = nullptr;
  int (*preference_set)(LtPreference preference, int attribute, const void* value,
                        std::size_t bytes) = nullptr;
  int (*heuristic)(LtHandle handle, LtMatmulDesc desc, LtMatrixLayout a, LtMatrixLayout b,
                   LtMatrixLayout c, LtMatrixLayout d, LtPreference preference, int asked,
                   LtHeuristic* results, int* found) = nullptr;
  int (*matmul)(LtHandle handle, LtMatmulDesc desc, const void* alpha, const void* a,
                LtMatrixLayout a_layout, const void* b, LtMatrixLayout b_layout, const void* beta,
                const void* c, LtMatrixLayout c_layout, void* d, LtMatrixLayout d_layout,
                const LtAlgorithm* algorithm, void* workspace, std::size_t workspace_bytes,
                void* stream) = nullptr;
};

// The primary context of the GPU that a piece of memory lies on. cuBLASLt works in whatever context
// the calling thread has, and takes the first GPU when it has none.
class CudaContext {
 public:
  CudaContext() = default;  // none: whatever a thread has
  // `memory` is of the device. Errors: unsupported, with what is missing or failed.
  static Result<CudaContext> of(const void* memory);

  // Makes the context that of this thread while it lives.
  class Scope {
   public:
    explicit Scope(const CudaContext& context);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    const CudaContext& context_;
    bool pushed_ = false;
  };

 private:
  int (*pointer_attribute_)(void* value, int attribute, std::uint64_t pointer) = nullptr;
  int (*retain_)(void** context, int device) = nullptr;
  int (*current_)(void** context) = nullptr;
  int (*push_)(void* context) = nullptr;
  int (*pop_)(void** context) = nullptr;
  void* context_ = nullptr;  // kept for the rest of the process
};

}  // namespace rooftune::rivals

#endif  // ROOFTUNE_OPS_MATMUL_RIVALS_CUBLASLT_API_H_
