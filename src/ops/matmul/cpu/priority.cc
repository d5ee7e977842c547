#include "ops/matmul/cpu/priority.h"

#include <algorithm>

#include "ops/matmul/cpu/legality.h"
#include "ops/matmul/key.h"

namespace rooftune {
namespace {

constexpr int kFirst = 3, kSecond = 2, kThird = 1, kLast = 0, kNever = -1;

bool is_vector(const MatmulKey& key) { return key.m == 1 || key.n == 1; }

bool is_half(const MatmulKey& key) {
  return key.elem_lhs == DType::bf16 || key.elem_lhs == DType::f16;
}

// The key holds anchored sizes, which are up to 2.5 times the real ones: a technique with a limit
// is left out only where no real size behind the key can be within it.
bool may_be_within(std::int64_t anchored, std::int64_t limit) { return 2 * anchored < 5 * limit; }

bool may_be_skinny(const MatmulKey& key) {
  return may_be_within(std::min(key.m, key.n), kMaxSkinny);
}

bool may_be_tiny(const MatmulKey& key) {
  return may_be_within(std::max({key.m, key.n, key.k}), kMaxTiny);
}

// One side is so short that the other operand passes by only a few times: packing it would cost
// as much as it saves.
bool has_short_side(const MatmulKey& key) { return std::min(key.m, key.n) <= 256; }

// A result too small to occupy the threads, from a sum that can.
bool has_long_sum(const MatmulKey& key) {
  return key.k >= 2048 && key.k >= 8 * std::max(key.m, key.n);
}

}  // namespace

int naive_priority(const MatmulKey&) { return kLast; }

int gemv_priority(const MatmulKey& key) { return is_vector(key) ? kFirst : kNever; }

int gemv_split_k_priority(const MatmulKey& key) {
  if (!is_vector(key)) return kNever;
  return key.threads > 1 ? kFirst : kThird;
}

int skinny_priority(const MatmulKey& key) {
  if (!may_be_skinny(key)) return kNever;
  return is_vector(key) ? kThird : kFirst;
}

int skinny_spare_priority(const MatmulKey& key) { return std::min(kSecond, skinny_priority(key)); }

int tile_priority(const MatmulKey& key) {
  if (is_vector(key)) return kThird;
  return key.scale != MatmulScale::large || has_short_side(key) ? kFirst : kThird;
}

int tile_spare_priority(const MatmulKey& key) {
  if (is_vector(key)) return kThird;
  if (key.scale == MatmulScale::small && !may_be_skinny(key)) return kFirst;
  // A small result that is added to very often: which tile fits it decides.
  if (has_long_sum(key) && !may_be_skinny(key)) return tile_priority(key);
  return std::min(kSecond, tile_priority(key));
}

int packed_priority(const MatmulKey& key) {
  if (is_vector(key)) return kLast;
  const bool others = key.scale == MatmulScale::small || may_be_skinny(key) ||
                      (has_long_sum(key) && has_short_side(key));
  return others ? kSecond : kFirst;
}

int packed_spare_priority(const MatmulKey& key) {
  // Of 16 bits there is one shape only.
  if (is_half(key)) return packed_priority(key);
  return std::min(kSecond, packed_priority(key));
}

// Units that are several times as fast as the vector registers: packing pays early.
int packed_dot_priority(const MatmulKey& key) { return is_vector(key) ? kThird : kFirst; }

// Nothing else competes with the kernels that read panels.
int prepacked_priority(const MatmulKey& key) {
  return key.storage_rhs == MatrixStorage::panels ? kFirst : kNever;
}

int gram_priority(const MatmulKey& key) { return key.gram ? kFirst : kNever; }

int tiny_priority(const MatmulKey& key) { return may_be_tiny(key) ? kFirst : kNever; }

int split_k_priority(const MatmulKey& key) {
  if (is_vector(key) || !has_long_sum(key)) return kLast;
  return key.threads > 1 ? kFirst : kThird;
}

int outer_priority(const MatmulKey& key) { return key.k == 1 ? kFirst : kNever; }

}  // namespace rooftune
