// Products by the C interface of BLAS, as OpenBLAS, BLIS and MKL have it.
#ifndef ROOFTUNE_OPS_MATMUL_RIVALS_CBLAS_H_
#define ROOFTUNE_OPS_MATMUL_RIVALS_CBLAS_H_

#include <string>

#include "ops/matmul/rivals.h"
#include "ops/matmul/rivals/library.h"

namespace rooftune::rivals {

// How a build names its functions, and how wide its integers are.
struct CblasDialect {
  std::string prefix, suffix;  // "scipy_" and "64_": scipy_cblas_sgemm64_
  bool wide = false;           // sizes and strides in 64 bits
  bool batches = false;        // has cblas_sgemm_batch_strided where there is such a function

  std::string operator()(std::string_view name) const {
    return prefix + std::string(name) + suffix;
  }
};

// Fills `unsupported` and `run` of a rival with the products whose functions the library has: f32
// and f64, bf16 and f16 into f32, u8 by i8 into i32.
// Errors: unsupported when it lacks those of f32 and f64.
Status add_cblas_products(Rival& rival, const Library& library, const CblasDialect& dialect);

}  // namespace rooftune::rivals

#endif  // ROOFTUNE_OPS_MATMUL_RIVALS_CBLAS_H_
