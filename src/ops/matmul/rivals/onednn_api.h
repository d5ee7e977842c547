// The part of oneDNN's C interface that a product needs, found in a library at run time. Versions 2
// and 3 differ in how memory and operations are described; this hides it.
//
// All objects are opaque pointers. A status of 0 is success; statuses and the numbers of
// enumerations below are the same in both versions.
#ifndef ROOFTUNE_OPS_MATMUL_RIVALS_ONEDNN_API_H_
#define ROOFTUNE_OPS_MATMUL_RIVALS_ONEDNN_API_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "ops/matmul/rivals/library.h"

namespace rooftune::rivals {

inline constexpr int kDnnlAxes = 12;  // DNNL_MAX_NDIMS
using DnnlDims = std::array<std::int64_t, kDnnlAxes>;

using DnnlEngine = struct DnnlEngineObject*;
using DnnlStream = struct DnnlStreamObject*;
using DnnlMemory = struct DnnlMemoryObject*;
using DnnlPrimitive = struct DnnlPrimitiveObject*;
using DnnlPrimitiveDesc = struct DnnlPrimitiveDescObject*;

enum DnnlStatus : int { kDnnlSuccess = 0, kDnnlUnimplemented = 3 };
enum DnnlEngineKind : int { kDnnlCpu = 1 };
enum DnnlType : int { kDnnlF16 = 1, kDnnlBf16, kDnnlF32, kDnnlS32, kDnnlS8, kDnnlU8, kDnnlF64 };
enum DnnlStreamFlags : unsigned { kDnnlInOrder = 1 };
enum DnnlQuery : int { kDnnlImplementationName = 8 };
enum DnnlArgument : int { kDnnlSource = 1, kDnnlDestination = 17, kDnnlWeights = 33 };

struct DnnlExecArgument {
  int argument;
  DnnlMemory memory;
};
struct DnnlVersion {
  int major, minor, patch;
  const char* hash;
  unsigned cpu_runtime, gpu_runtime;
};

// A strided tensor. Version 3 makes a memory descriptor of it on the heap; in version 2 that
// descriptor is a plain struct that the caller provides, some 700 bytes long.
struct DnnlTensor {
  int type = kDnnlF32;
  int axes = 0;
  DnnlDims extents{}, strides{};
};

class DnnlApi {
 public:
  // Errors: unsupported, naming the function that is missing.
  static Result<DnnlApi> find_in(const Library& library);

  // Creates a matmul without bias and scaling, and memory objects for its three tensors that point
  // at nothing yet. Status as oneDNN gives it; nothing is left behind when it is not success.
  struct Matmul {
    DnnlPrimitive primitive = nullptr;
    DnnlMemory a = nullptr, b = nullptr, c = nullptr;
  };
  int make_matmul(DnnlEngine engine, const DnnlTensor& a, const DnnlTensor& b, const DnnlTensor& c,
                  Matmul& matmul) const;
  void destroy(const Matmul& matmul) const;

  const DnnlVersion* (*version)() = nullptr;
  int (*engine_create)(DnnlEngine* engine, int kind, std::size_t index) = nullptr;
  int (*engine_destroy)(DnnlEngine engine) = nullptr;
  int (*stream_create)(DnnlStream* stream, DnnlEngine engine, unsigned flags) = nullptr;
  int (*stream_wait)(DnnlStream stream) = nullptr;
  int (*stream_destroy)(DnnlStream stream) = nullptr;
  int (*memory_set)(DnnlMemory memory, void* data) = nullptr;
  int (*execute)(DnnlPrimitive primitive, DnnlStream stream, int count,
                 const DnnlExecArgument* arguments) = nullptr;
  // Row-major, in spite of its letters. May be null.
  int (*sgemm)(char a_transposed, char b_transposed, std::int64_t m, std::int64_t n, std::int64_t k,
               float alpha, const float* a, std::int64_t lda, const float* b, std::int64_t ldb,
               float beta, float* c, std::int64_t ldc) = nullptr;

 private:
  DnnlApi() = default;
  class MemoryDesc;
  int make_primitive_desc(DnnlEngine engine, const void* a, const void* b, const void* c,
                          DnnlPrimitiveDesc* desc) const;

  // Both versions.
  int (*primitive_create_)(DnnlPrimitive* primitive, DnnlPrimitiveDesc desc) = nullptr;
  int (*primitive_destroy_)(DnnlPrimitive primitive) = nullptr;
  int (*primitive_desc_destroy_)(DnnlPrimitiveDesc desc) = nullptr;
  int (*primitive_desc_query_)(DnnlPrimitiveDesc desc, int what, int index, void* result) = nullptr;
  int (*memory_create_)(DnnlMemory* memory, const void* desc, DnnlEngine engine,
                        void* data) = nullptr;
  int (*memory_destroy_)(DnnlMemory memory) = nullptr;
  // Version 3.
  int (*memory_desc_create_)(void** desc, int axes, const std::int64_t* extents, int type,
                             const std::int64_t* strides) = nullptr;
  int (*memory_desc_destroy_)(void* desc) = nullptr;
  int (*matmul_desc_create_)(DnnlPrimitiveDesc* desc, DnnlEngine engine, const void* a,
                             const void* b, const void* bias, const void* c,
                             const void* attributes) = nullptr;
  // Version 2.
  int (*memory_desc_init_)(void* desc, int axes, const std::int64_t* extents, int type,
                           const std::int64_t* strides) = nullptr;
  int (*matmul_desc_init_)(void* matmul, const void* a, const void* b, const void* bias,
                           const void* c) = nullptr;
  int (*primitive_desc_create_)(DnnlPrimitiveDesc* desc, const void* matmul, const void* attributes,
                                DnnlEngine engine, DnnlPrimitiveDesc hint) = nullptr;
};

}  // namespace rooftune::rivals

#endif  // ROOFTUNE_OPS_MATMUL_RIVALS_ONEDNN_API_H_
