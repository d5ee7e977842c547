// cuBLASLt on the host, one element at a time: shows without a GPU that products reach the library
// as it wants them, by columns and with what is swapped for that.
#ifndef ROOFTUNE_OPS_MATMUL_RIVALS_EMULATED_CUBLASLT_FOR_TEST_H_
#define ROOFTUNE_OPS_MATMUL_RIVALS_EMULATED_CUBLASLT_FOR_TEST_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>

#include "ops/matmul/rivals/cublaslt_api.h"
#include "rooftune/dtype.h"

namespace rooftune::rivals {

struct LtMatmulDescObject {
  int compute = 0, scale = 0;
  std::map<int, int> operations;
};
struct LtMatrixLayoutObject {
  int type = 0;
  std::int64_t rows = 0, columns = 0, leading = 0;
  std::int32_t batch = 1;
  std::int64_t stride = 0;
};
struct LtPreferenceObject {};

inline double (*emulated_load)(const void* at, DType type) = nullptr;
inline void (*emulated_store)(void* at, DType type, double value) = nullptr;

namespace emulated {

inline DType dtype_of_lt(int type) {
  switch (type) {
    case kLtF64:
      return DType::f64;
    case kLtF16:
      return DType::f16;
    case kLtI8:
      return DType::i8;
    case kLtI32:
      return DType::i32;
    case kLtBf16:
      return DType::bf16;
    case kLtF8E4M3:
      return DType::f8e4m3;
    case kLtF8E5M2:
      return DType::f8e5m2;
    default:
      return DType::f32;
  }
}

inline double scalar(const LtMatmulDescObject& desc, const void* value) {
  return emulated_load(value, dtype_of_lt(desc.scale));
}

struct Matrix {
  const LtMatrixLayoutObject& layout;
  bool transposed;
  std::int64_t rows() const { return transposed ? layout.columns : layout.rows; }
  std::int64_t columns() const { return transposed ? layout.rows : layout.columns; }
  std::int64_t offset(std::int64_t batch, std::int64_t row, std::int64_t column) const {
    return batch * layout.stride +
           (transposed ? column + row * layout.leading : row + column * layout.leading);
  }
};

inline int matmul(LtHandle, LtMatmulDesc desc, const void* alpha, const void* a,
                  LtMatrixLayout a_layout, const void* b, LtMatrixLayout b_layout, const void* beta,
                  const void* c, LtMatrixLayout c_layout, void* d, LtMatrixLayout d_layout,
                  const LtAlgorithm* algorithm, void* workspace, std::size_t workspace_bytes,
                  void*) {
  const Matrix x{*a_layout, desc->operations[kLtDescTransA] == kLtTransposed};
  const Matrix y{*b_layout, desc->operations[kLtDescTransB] == kLtTransposed};
  const Matrix z{*d_layout, false};
  if (x.columns() != y.rows() || x.rows() != z.rows() || y.columns() != z.columns() || c != d ||
      c_layout != d_layout || algorithm->data[0] < 1 || workspace == nullptr ||
      workspace_bytes == 0) {
    return kLtInvalidValue;
  }
  for (const auto* layout : {a_layout, b_layout, d_layout}) {
    if (layout->leading < layout->rows || layout->batch != d_layout->batch) return kLtInvalidValue;
  }
  const auto at = [](const void* memory, const LtMatrixLayoutObject& layout, std::int64_t offset) {
    const DType type = dtype_of_lt(layout.type);
    return emulated_load(static_cast<const std::byte*>(memory) + offset * size_of(type), type);
  };
  const double scale = scalar(*desc, alpha), keep = scalar(*desc, beta);
  const DType out = dtype_of_lt(d_layout->type);
  for (std::int64_t batch = 0; batch < d_layout->batch; ++batch) {
    for (std::int64_t i = 0; i < z.rows(); ++i) {
      for (std::int64_t j = 0; j < z.columns(); ++j) {
        double sum = 0;
        for (std::int64_t p = 0; p < x.columns(); ++p) {
          sum += at(a, *a_layout, x.offset(batch, i, p)) * at(b, *b_layout, y.offset(batch, p, j));
        }
        const std::int64_t place = z.offset(batch, i, j);
        const double before = keep == 0 ? 0 : keep * at(d, *d_layout, place);
        emulated_store(static_cast<std::byte*>(d) + place * size_of(out), out,
                       scale * sum + before);
      }
    }
  }
  return kLtSuccess;
}

inline int heuristic(LtHandle, LtMatmulDesc, LtMatrixLayout, LtMatrixLayout, LtMatrixLayout,
                     LtMatrixLayout, LtPreference, int asked, LtHeuristic* results, int* found) {
  *found = asked > 1 ? 2 : 1;
  for (int i = 0; i < *found; ++i) {
    results[i] = {};
    results[i].algorithm.data[0] = static_cast<std::uint64_t>(i) + 1;
  }
  return kLtSuccess;
}

}  // namespace emulated

inline LtApi emulated_cublaslt() {
  LtApi api;
  api.version = [] { return std::size_t{0}; };
  api.status_name = [](int) { return "EMULATED"; };
  api.create = [](LtHandle*) { return int{kLtSuccess}; };
  api.destroy = [](LtHandle) { return int{kLtSuccess}; };
  api.desc_create = [](LtMatmulDesc* desc, int compute, int scale) {
    *desc = new LtMatmulDescObject{compute, scale, {}};
    return int{kLtSuccess};
  };
  api.desc_destroy = [](LtMatmulDesc desc) {
    delete desc;
    return int{kLtSuccess};
  };
  api.desc_set = [](LtMatmulDesc desc, int attribute, const void* value, std::size_t) {
    std::memcpy(&desc->operations[attribute], value, sizeof(int));
    return int{kLtSuccess};
  };
  api.layout_create = [](LtMatrixLayout* layout, int type, std::uint64_t rows,
                         std::uint64_t columns, std::int64_t leading) {
    *layout = new LtMatrixLayoutObject{type, static_cast<std::int64_t>(rows),
                                       static_cast<std::int64_t>(columns), leading};
    return int{kLtSuccess};
  };
  api.layout_destroy = [](LtMatrixLayout layout) {
    delete layout;
    return int{kLtSuccess};
  };
  api.layout_set = [](LtMatrixLayout layout, int attribute, const void* value, std::size_t bytes) {
    if (attribute == kLtLayoutBatchCount) std::memcpy(&layout->batch, value, bytes);
    if (attribute == kLtLayoutBatchStride) std::memcpy(&layout->stride, value, bytes);
    return int{kLtSuccess};
  };
  api.preference_create = [](LtPreference* preference) {
    *preference = new LtPreferenceObject;
    return int{kLtSuccess};
  };
  api.preference_destroy = [](LtPreference preference) {
    delete preference;
    return int{kLtSuccess};
  };
  api.preference_set = [](LtPreference, int, const void*, std::size_t) { return int{kLtSuccess}; };
  api.heuristic = emulated::heuristic;
  api.matmul = emulated::matmul;
  return api;
}

}  // namespace rooftune::rivals

#endif  // ROOFTUNE_OPS_MATMUL_RIVALS_EMULATED_CUBLASLT_FOR_TEST_H_
