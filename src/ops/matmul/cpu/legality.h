// Which problems a technique can do: null, or the reason why not.
#ifndef ROOFTUNE_OPS_MATMUL_CPU_LEGALITY_H_
#define ROOFTUNE_OPS_MATMUL_CPU_LEGALITY_H_

#include <cstdint>

#include "ops/matmul/gemm_args.h"

namespace rooftune {

// Extents up to which a product counts as skinny (the smaller of m and n) and as tiny (all three):
// some microseconds of one core, which is where sharing out begins to pay.
inline constexpr std::int64_t kMaxSkinny = 32;
inline constexpr std::int64_t kMaxTiny = 160;

const char* always_legal(const GemmArgs& args, int threads);
const char* needs_packed_rhs(const GemmArgs& args, int threads);
const char* needs_gram(const GemmArgs& args, int threads);
const char* gemv_rows_illegal(const GemmArgs& args, int threads);
const char* gemv_cols_illegal(const GemmArgs& args, int threads);
const char* gemv_split_k_illegal(const GemmArgs& args, int threads);
const char* skinny_rows_illegal(const GemmArgs& args, int threads);
const char* skinny_cols_illegal(const GemmArgs& args, int threads);
const char* tile_illegal(const GemmArgs& args, int threads);
const char* tiny_illegal(const GemmArgs& args, int threads);
const char* split_k_illegal(const GemmArgs& args, int threads);
const char* split_k_in_place_illegal(const GemmArgs& args, int threads);
const char* outer_illegal(const GemmArgs& args, int threads);

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CPU_LEGALITY_H_
