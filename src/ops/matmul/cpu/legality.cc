#include "ops/matmul/cpu/legality.h"

namespace rooftune {
namespace {

// Whether elements along an axis lie side by side. One element always does.
bool unit(std::int64_t stride, std::int64_t extent) { return stride == 1 || extent == 1; }

bool is_vector(const GemmArgs& args) { return args.m == 1 || args.n == 1; }

constexpr const char* kNotVector = "needs m = 1 or n = 1";

}  // namespace

const char* always_legal(const GemmArgs&, int) { return nullptr; }

const char* needs_packed_rhs(const GemmArgs& args, int) {
  return args.packed != nullptr ? nullptr : "rhs is not packed";
}

const char* needs_gram(const GemmArgs& args, int) {
  return args.gram ? nullptr : "rhs is not lhs transposed";
}

const char* gemv_rows_illegal(const GemmArgs& args, int) {
  if (!is_vector(args)) return kNotVector;
  if (args.n == 1 && unit(args.a_col, args.k)) return nullptr;
  if (args.m == 1 && unit(args.b_row, args.k)) return nullptr;
  return "needs a matrix whose elements along k lie side by side";
}

const char* gemv_cols_illegal(const GemmArgs& args, int) {
  if (!is_vector(args)) return kNotVector;
  if (args.n == 1 && unit(args.a_row, args.m)) return nullptr;
  if (args.m == 1 && unit(args.b_col, args.n)) return nullptr;
  return "needs a matrix whose elements across k lie side by side";
}

const char* gemv_split_k_illegal(const GemmArgs& args, int threads) {
  if (!is_vector(args)) return kNotVector;
  if (gemv_rows_illegal(args, threads) == nullptr) return nullptr;
  if (gemv_cols_illegal(args, threads) == nullptr) return nullptr;
  return "needs a matrix with a stride of 1";
}

const char* skinny_rows_illegal(const GemmArgs& args, int) {
  if (args.m > kMaxSkinny && args.n > kMaxSkinny) return "needs m <= 32 or n <= 32";
  if (args.n <= kMaxSkinny && unit(args.a_col, args.k)) return nullptr;
  if (args.m <= kMaxSkinny && unit(args.b_row, args.k)) return nullptr;
  return "needs a large operand whose elements along k lie side by side";
}

const char* skinny_cols_illegal(const GemmArgs& args, int) {
  if (args.m > kMaxSkinny && args.n > kMaxSkinny) return "needs m <= 32 or n <= 32";
  if (args.m <= kMaxSkinny && unit(args.b_col, args.n)) return nullptr;
  if (args.n <= kMaxSkinny && unit(args.a_row, args.m)) return nullptr;
  return "needs a large operand whose elements across k lie side by side";
}

const char* tile_illegal(const GemmArgs& args, int) {
  if (unit(args.b_col, args.n) || unit(args.a_row, args.m)) return nullptr;
  return "needs columns of rhs or rows of lhs that lie side by side";
}

const char* tiny_illegal(const GemmArgs& args, int) {
  if (args.m <= kMaxTiny && args.n <= kMaxTiny && args.k <= kMaxTiny) return nullptr;
  return "needs m, n and k <= 160";
}

const char* split_k_illegal(const GemmArgs& args, int) {
  // m * n without overflow: every thread keeps a result of its own.
  constexpr std::int64_t kMostElements = 1 << 20;
  if (args.m <= kMostElements && args.n <= kMostElements / args.m) return nullptr;
  return "needs m * n <= 1048576: every thread keeps a partial result";
}

const char* split_k_in_place_illegal(const GemmArgs& args, int threads) {
  if (const char* reason = split_k_illegal(args, threads)) return reason;
  return tile_illegal(args, threads);
}

const char* outer_illegal(const GemmArgs& args, int) {
  return args.k == 1 ? nullptr : "needs k = 1";
}

}  // namespace rooftune
