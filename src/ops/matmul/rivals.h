// Other libraries that multiply matrices, loaded at run time to be compared with. None of them is
// needed to build or run Rooftune.
#ifndef ROOFTUNE_OPS_MATMUL_RIVALS_H_
#define ROOFTUNE_OPS_MATMUL_RIVALS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ops/matmul/cpu/gemm_args.h"
#include "rooftune/error.h"

namespace rooftune {

struct Rival {
  std::string name;     // as in rival_names()
  std::string version;  // as the library tells it, e.g. "OpenBLAS 0.3.21 (SkylakeX)"
  // Runs on the thread that loaded it (OpenMP keeps the thread count per calling thread). A batch
  // is one call per matrix, as a caller of that library writes it, but where the library has a call
  // for strided batches.
  // Errors: unsupported for types, sizes (most count in 32 bits) and strides that the library has
  // no call for.
  std::function<Status(const GemmArgs&)> run;
};

// "openblas", "blis", "onednn", "mkl".
std::span<const std::string_view> rival_names();

// Loads a library that stays loaded for the rest of the process, and has it use `threads` threads.
// Environment variables that the library reads when it is loaded are the caller's business.
// Errors: invalid_argument for an unknown name; not_found when the library is not installed (the
// text says how to get it); unsupported when it lacks a function that is needed.
Result<Rival> load_rival(std::string_view name, int threads);

// A matrix as BLAS takes it in row-major order: as it is or transposed, with a leading dimension.
struct BlasMatrix {
  bool transposed = false;
  std::int64_t leading = 1;
};
// Nothing when the strides do not allow it: one of them must be 1, the other at least the extent
// of the first. The stride of an axis with one element does not matter.
std::optional<BlasMatrix> blas_matrix(std::int64_t rows, std::int64_t columns,
                                      std::int64_t row_stride, std::int64_t column_stride);

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_RIVALS_H_
