// Products by oneDNN's matmul primitive.
#ifndef ROOFTUNE_OPS_MATMUL_RIVALS_ONEDNN_H_
#define ROOFTUNE_OPS_MATMUL_RIVALS_ONEDNN_H_

#include "ops/matmul/rivals.h"
#include "ops/matmul/rivals/library.h"

namespace rooftune::rivals {

// Fills `unsupported`, `run` and `version` of a rival. What a primitive needs is made at the first
// call of a shape and kept for the next ones.
// Errors: unsupported when the library lacks a function or has no engine for the processor.
Status add_onednn_products(Rival& rival, const Library& library, int threads);

}  // namespace rooftune::rivals

#endif  // ROOFTUNE_OPS_MATMUL_RIVALS_ONEDNN_H_
