// Where the matrices of one batch index lie.
#ifndef ROOFTUNE_OPS_MATMUL_CPU_BATCH_H_
#define ROOFTUNE_OPS_MATMUL_CPU_BATCH_H_

#include <cstdint>

#include "ops/matmul/gemm_args.h"

namespace rooftune {

struct BatchOffsets {
  std::int64_t a = 0, b = 0, c = 0;  // in elements
};

// 0 <= index < args.batch, counted with the last axis fastest. Not inline: see simd.h.
BatchOffsets batch_offsets(const GemmArgs& args, std::int64_t index);

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CPU_BATCH_H_
