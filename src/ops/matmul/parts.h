// Products of one key that may want different candidates: its parts.
#ifndef ROOFTUNE_OPS_MATMUL_PARTS_H_
#define ROOFTUNE_OPS_MATMUL_PARTS_H_

#include <cstdint>
#include <string>

#include "ops/matmul/gemm_args.h"
#include "ops/matmul/key.h"
#include "rooftune/settings.h"
#include "rooftune/tunable_set.h"

namespace rooftune {

// The part of a product: its sizes on a grid four times as fine as that of the key, and the
// alignment of each pointer as far as it is below 16 bytes, neither of which is in the key.
std::uint64_t matmul_part(const GemmArgs& args, Level level);
// "m 862..1024, n 431..512, k 1..1, batch 1..1; pointers aligned to 16, 4, 16 bytes".
std::string matmul_part_text(std::uint64_t part, Level level);

// Gives the set these parts.
void add_matmul_parts(TunableSet<MatmulKey, GemmArgs>& set, Level level);

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_PARTS_H_
