// Products by cuBLASLt, on a CUDA device.
#ifndef ROOFTUNE_OPS_MATMUL_RIVALS_CUBLASLT_H_
#define ROOFTUNE_OPS_MATMUL_RIVALS_CUBLASLT_H_

#include "ops/matmul/rivals.h"
#include "ops/matmul/rivals/cublaslt_api.h"
#include "ops/matmul/rivals/library.h"
#include "rooftune/device.h"

namespace rooftune::rivals {

// Fills `unsupported`, `run` and `choose` of a rival. Descriptors and the algorithm of a problem
// are made at its first call (the first algorithm that the library's heuristic names, or the best
// of them where choose() has measured) and kept; later calls find them without a lock. Memory for
// the library to work in is kept for each stream; while a stream is captured for the first time
// none can be allocated, and an algorithm without runs. `client` outlives the rival.
// Errors: unsupported when the library lacks a function or cannot work on the device.
Status add_cublaslt_products(Rival& rival, const Library& library, Client* client);
// The same of a library that was looked into, on the device with this context.
Status add_cublaslt_products(Rival& rival, const LtApi& api, const CudaContext& context,
                             Client& client);

}  // namespace rooftune::rivals

#endif  // ROOFTUNE_OPS_MATMUL_RIVALS_CUBLASLT_H_
